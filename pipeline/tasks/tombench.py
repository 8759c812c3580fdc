"""ToMBench: 2,860 questions with options about social situations, in English.

Source: zhchen18/ToMBench:data (Chen et al. 2024, arXiv 2402.15052), one file for each of 20 kinds.
The authors ask five times, with options in another order, and count the most frequent answer; here
options are asked about once, as upstream lists them. Their rule reads the first letter in brackets,
and else takes the last capital A to D of the reply, also of a word; a letter alone is read here in
its place. Evaluation only (authors).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_equal, option_of
from pipeline.tasks.plain import plain, split_letter
from pipeline.tasks.reading import SourceRow, read_rows
from pipeline.tasks.registry import Task, register

_KINDS = (
    *("Ambiguous Story Task", "Completion of Failed Actions", "Discrepant Desires"),
    *("Discrepant Emotions", "Discrepant Intentions", "Emotion Regulation", "False Belief Task"),
    *("Faux-pas Recognition Test", "Hidden Emotions", "Hinting Task Test"),
    *("Knowledge-Attention Links", "Knowledge-Pretend Play Links", "Moral Emotions"),
    *("Multiple Desires", "Percepts-Knowledge Links", "Persuasion Story Task"),
    *("Prediction of Actions", "Scalar Implicature Test", "Strange Story Task"),
    "Unexpected Outcome Test",
)
_ABILITY, _ANSWER = "能力\nABILITY", "答案\nANSWER"
_LETTERS = "ABCD"
_IN_BRACKETS = re.compile(r"\[([A-D])\]")


def load(raw: Path) -> Iterator[Example]:
    """Yield the questions file by file, in upstream's order."""
    for kind in _KINDS:
        for row in read_rows(raw / "tombench" / f"{kind}.jsonl"):
            yield _example(row, kind)


def _example(row: SourceRow, kind: str) -> Example:
    options = {letter: text for letter in _LETTERS if (text := _option(row, letter)) is not None}
    return Example(
        benchmark="tombench",
        task="tombench",
        story=row.text("STORY"),
        question=row.text("QUESTION"),
        answer=options[row.text(_ANSWER).strip(" .")],
        answer_kind="choice",
        choices=tuple(options.values()),
        question_type=kind,
        meta={"kind": kind, "ability": " ".join(row.text(_ABILITY).split())},
    )


def _option(row: SourceRow, letter: str) -> str | None:
    """The text of an option without its letter; None of a question that has two."""
    key = f"OPTION-{letter}"
    if letter in "CD" and not isinstance(row.values.get(key), str):  # NaN in upstream's files
        return None
    return split_letter(row.text(key).strip())[1].strip()


def match_option(answer: str, example: Example) -> bool:
    """The first letter in brackets is the right one's, or the answer is its letter or text."""
    marked = _IN_BRACKETS.search(answer)
    letter = marked[1].lower() if marked else plain(answer)
    chosen = option_of(letter, example) if len(letter) == 1 else None
    return chosen == example.answer if chosen else match_equal(answer, example)


register(
    Task(
        name="tombench",
        benchmark="tombench",
        title="ToMBench",
        sources=("tombench",),
        load=load,
        match=match_option,
        count=2860,
        choices_in_prompt=True,
        fields=("kind", "ability"),
    )
)
