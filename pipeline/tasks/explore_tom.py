"""ExploreToM's published sample, all of it: places, topics and object states, orders -1, 1 and 2.

Source: the copy of the sample in bigai-ai/ToM-RL:data/cleaned_tom/raw/explore_tom.xlsx. It was
searched to be hard for one model, so it is not a fair draw of stories. Graded by ExploreToM's own
rule. The rows that Study 1 chose from it are the task ``explore_tom`` of ``tom_rl.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipeline.tasks.example import AnswerKind, Example, content_hash
from pipeline.tasks.reading import SourceRow, read_rows
from pipeline.tasks.registry import INFILLED, Task, register
from pipeline.tom.generate.styles import BENCHMARK

_COLUMNS = (
    "story_structure",
    "infilled_story",
    "question",
    "expected_answer",
    "qprop=params",
    "qprop=nth_order",
    "qprop=non_unique_mental_state",
    "sprop=is_false_belief_story_1st",
    "sprop=is_false_belief_story_1st_and_2nd",
    "sprop=global_idx",
    "param=story_type",
    "param=num_people",
    "param=num_moves",
    "param=num_rooms",
)
_YES_NO = ("yes", "no")
_KNOWS = ("knows about it", "does not know about it")
_CONTAINER, _ROOM = "In which container ", "In which room "
# Sentences may lack their full stop, so a name never runs over a further " to the ".
_INTO_CONTAINER = re.compile(r" to the ((?:(?! to the )[^.,])+), which is also located in the ")
_ENTERED = re.compile(r" entered the ((?:(?! entered the )[^.,])+)\.")
_INTO_ROOM = re.compile(
    r" moved the (?:(?! to the )[^.])+ to the ((?:(?! to the )[^.,])+)(?:\.|, leaving the )"
)


def match_contained(answer: str, example: Example) -> bool:
    """ExploreToM's rule: the lower-cased answer contains the truth anywhere.

    A text that names every candidate passes, and "know" contains "no": read it beside the strict
    rule. Source: facebookresearch/ExploreToM:utils.py (``verify_answer_to_question``).
    """
    return example.answer in answer.lower()


def load(
    raw: Path, task: str, containers_only: bool = False, infilled: bool = False
) -> Iterator[Example]:
    """Yield the rows in upstream's order.

    Args:
        raw: Folder of the raw sources.
        task: Task of the examples.
        containers_only: Keep only questions about containers.
        infilled: Use the story as retold in prose, not the templated one.
    """
    for row in read_rows(raw / "explore_tom" / "explore_tom.xlsx", _COLUMNS):
        if containers_only and not row.text("question").startswith(_CONTAINER):
            continue
        yield _example(row, task, infilled)


def _example(row: SourceRow, task: str, infilled: bool) -> Example:
    story, question, answer = (
        row.text(key) for key in ("story_structure", "question", "expected_answer")
    )
    order = row.integer("qprop=nth_order")
    interesting = row.flag("qprop=non_unique_mental_state")
    choices = next((pair for pair in (_YES_NO, _KNOWS) if answer in pair), None)
    found = choices or tuple(candidates(story, question))
    return Example(
        benchmark="explore_tom",
        task=task,
        story=row.text("infilled_story") if infilled else story,
        question=question,
        answer=answer,
        answer_kind=_kind(choices),
        choices=choices,
        order=order,
        question_type=_question_type(question, choices),
        meta={
            "params": row.text("qprop=params"),
            "is_interesting": interesting,
            # Upstream marks every factual question as interesting.
            "needs_tom": interesting and order > 0,
            "false_belief_story": row.flag("sprop=is_false_belief_story_1st"),
            "false_belief_story_2nd": row.flag("sprop=is_false_belief_story_1st_and_2nd"),
            "upstream_story": row.integer("sprop=global_idx"),
            "story_type": row.text("param=story_type"),
            "people": row.integer("param=num_people"),
            "moves": row.integer("param=num_moves"),
            "rooms": row.integer("param=num_rooms"),
            "candidates": len(found),
            "infilled_story": row.text("infilled_story"),
        },
        # Both tellings of a story are one story to whoever splits by story.
        story_id=content_hash(story),
    )


def candidates(story: str, question: str) -> list[str]:
    """The distinct containers or rooms, as the question asks, that a story names."""
    if question.startswith(_ROOM):
        return list(dict.fromkeys(_ENTERED.findall(story) + _INTO_ROOM.findall(story)))
    return list(dict.fromkeys(_INTO_CONTAINER.findall(story)))


def _kind(choices: tuple[str, ...] | None) -> AnswerKind:
    if choices is None:
        return "span"
    return "yes_no" if choices == _YES_NO else "label"


def _question_type(question: str, choices: tuple[str, ...] | None) -> str:
    if choices is None:
        return "container" if question.startswith(_CONTAINER) else "room"
    return "state" if " believe" in question else "topic"


_SAMPLE = "explore_tom_sample"
_FIELDS = (
    *("is_interesting", "needs_tom", "false_belief_story", "false_belief_story_2nd"),
    *("upstream_story", "story_type", "people", "moves", "rooms", "candidates"),
)

for _name, _title, _count, _containers_only, _infilled in (
    (_SAMPLE, "ExploreToM sample", 13309, False, False),
    ("explore_tom_containers", "ExploreToM sample (containers)", 2236, True, False),
    ("explore_tom_sample_infilled", "ExploreToM sample (infilled)", 13309, False, True),
):
    register(
        Task(
            name=_name,
            benchmark="explore_tom",
            title=_title,
            sources=("explore_tom",),
            load=partial(load, task=_name, containers_only=_containers_only, infilled=_infilled),
            match=match_contained,
            count=_count,
            folds_like=_SAMPLE,
            orders=(-1, 1, 2),
            fields=_FIELDS,
            telling=INFILLED if _infilled else BENCHMARK,
        )
    )
