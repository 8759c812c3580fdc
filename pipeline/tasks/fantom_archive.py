"""FANToM as its authors publish it: all kinds of question, short and full context.

Source: ``fantom_v1.json`` of the archive that skywalker023/fantom:task/dataset_loader.py fetches,
flattened as eval_fantom.py (``setup_fantom``) does: same order, same drawing of the options.
Evaluation only (authors).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.tasks import fantom_rules
from pipeline.tasks.example import Example, content_hash
from pipeline.tasks.fantom_rules import BINARY_F1
from pipeline.tasks.grading import extract_tagged_or_all
from pipeline.tasks.reading import SourceRow, read_rows, unique
from pipeline.tasks.registry import Task, register

_OPTION_SEED = 99
_CHOICE_TAIL = "Choose an answer from above:"
_ORDERS = {"first-order": 1, "second-order": 2}

Wanted = Callable[[Example], bool]


@dataclass(frozen=True, slots=True)
class _Set:
    """The fields shared by all questions of a set."""

    task: str
    set_id: str
    context: str
    full: bool
    fact: str
    fact_answer: str

    def example(self, qa: SourceRow, question: str, answer: str, **fields: object) -> Example:
        """Make an example of one question; unknown ``fields`` go to ``meta``."""
        own = {key: fields.pop(key) for key in ("answer_kind", "choices", "order") if key in fields}
        kind = qa.text("question_type") + str(fields.pop("suffix", ""))
        return Example(
            benchmark="fantom",
            task=self.task,
            story=self.context,
            question=question,
            answer=answer,
            question_type=kind,
            meta={"set_id": self.set_id, "gold_source": "original", **fields},
            story_id=conversation_id(self.set_id),
            **own,  # type: ignore[arg-type]
        )


def conversation_id(set_id: str) -> str:
    """The story id of a set: its conversation, shared by overlapping short and full contexts."""
    return content_hash("fantom", set_id.split("-")[0])


def load(raw: Path, task: str, context: str, wanted: Wanted | None = None) -> Iterator[Example]:
    """Yield the questions in upstream's order.

    With the short context, yes/no questions about people outside it (``no:long``) are left out, as
    in upstream's report.
    """
    rng = random.Random(_OPTION_SEED)
    rows = read_rows(raw / "fantom_archive" / "fantom_v1.json")
    for row in unique(rows, "set_id"):
        for example in _flatten(row, task, context == "full", rng):
            if wanted is None or wanted(example):
                yield example


def _flatten(row: SourceRow, task: str, full: bool, rng: random.Random) -> Iterator[Example]:
    fact = row.inner("factQA")
    this = _Set(
        task=task,
        set_id=row.text("set_id"),
        context=row.text("full_context" if full else "short_context").strip(),
        full=full,
        fact=fact.text("question"),
        fact_answer=fact.text("correct_answer"),
    )
    yield this.example(fact, this.fact, this.fact_answer, order=0)
    for qa in row.rows("beliefQAs"):
        yield from _beliefs(this, qa, rng)
    about = f"Target: {this.fact}"
    yield _names(this, row.inner("answerabilityQA_list"), about)
    yield from _yes_no(this, row.rows("answerabilityQAs_binary"), about)
    about = f"Information: {this.fact} {this.fact_answer}"
    yield _names(this, row.inner("infoAccessibilityQA_list"), about)
    yield from _yes_no(this, row.rows("infoAccessibilityQAs_binary"), about)


def _beliefs(this: _Set, qa: SourceRow, rng: random.Random) -> Iterator[Example]:
    """Yield a belief question for a free answer, then with its two options."""
    question, right, wrong = (
        qa.text(key) for key in ("question", "correct_answer", "wrong_answer")
    )
    tom_type = qa.text("tom_type")
    order = _ORDERS.get(tom_type.split(":")[0])
    if order is None:
        qa.fail(f"field 'tom_type' is {tom_type!r}, which names no order")
    shared = {
        "order": order,
        "tom_type": tom_type,
        "accessibility": _accessibility(qa),
        "wrong_answer": wrong,
    }
    yield this.example(qa, question, right, **shared)
    right_is_last = rng.choice([True, False])
    options = (
        (f"(a) {wrong}", f"(b) {right}") if right_is_last else (f"(a) {right}", f"(b) {wrong}")
    )
    yield this.example(
        qa,
        "\n".join((question, *options, "", _CHOICE_TAIL)),
        options[right_is_last],
        answer_kind="choice",
        choices=options,
        suffix=":multiple-choice",
        **shared,
    )


def _names(this: _Set, qa: SourceRow, about: str) -> Example:
    right, wrong = qa.texts("correct_answer"), qa.texts("wrong_answer")
    hidden = this.full and wrong
    return this.example(
        qa,
        f"{about}\nQuestion: {qa.text('question')}",
        ", ".join(right) or fantom_rules.NOBODY,
        answer_kind="names",
        order=1,
        accessibility="inaccessible" if hidden else _accessibility(qa),
        wrong_names=list(wrong),
    )


def _yes_no(this: _Set, qas: list[SourceRow], about: str) -> Iterator[Example]:
    golds = [qa.one_of("correct_answer", ("yes", "no", "no:long")) for qa in qas]
    hidden = this.full and any(gold != "yes" for gold in golds)
    for qa, gold in zip(qas, golds, strict=True):
        if gold == "no:long" and not this.full:
            continue
        # In the full context upstream gives all of a set's questions the scenario of its first.
        yield this.example(
            qa,
            f"{about}\nQuestion: {qa.text('question')} Answer yes or no.",
            gold.partition(":")[0],
            answer_kind="yes_no",
            order=1,
            accessibility="inaccessible" if hidden else _accessibility(qas[0] if this.full else qa),
            gold=gold,
        )


def _accessibility(qa: SourceRow) -> str:
    return qa.one_of("missed_info_accessibility", fantom_rules.SCENARIOS)


def _is(kind: str) -> Wanted:
    return lambda example: fantom_rules.kind(example) == kind


for _name, _title, _context, _wanted, _headline in (
    ("fantom_v1", "FANToM", "short", None, fantom_rules.ALL),
    ("fantom_v1_full", "FANToM, full context", "full", None, fantom_rules.ALL),
    ("fantom_v1_list", "FANToM list (original)", "short", _is("names"), ()),
    ("fantom_v1_yes_no", "FANToM yes/no (original)", "short", _is("yes_no"), BINARY_F1),
):
    register(
        Task(
            name=_name,
            benchmark="fantom",
            title=_title,
            sources=("fantom_archive",),
            load=partial(load, task=_name, context=_context, wanted=_wanted),
            match=fantom_rules.match,
            strict=fantom_rules.strict,
            reads=fantom_rules.reads,
            extract=extract_tagged_or_all,
            scores=fantom_rules.scores,
            headline=_headline,
            folds_like="fantom_yes_no",
            orders=(0, 1, 2),
            fields=("set_id", "gold_source", "accessibility"),
        )
    )
