"""Study 1's own training and test rows, split as published: stories are shared across the split.

Source: bigai-ai/ToM-RL:data/cleaned_tom/{ToM_train_HiEx,ToM_test_HiExTi}_hint.parquet. Texts are
kept verbatim, as the prompts are made of them. Each example names the benchmark that its row comes
from. Graded by Study 1's rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pipeline.tasks.example import Example, content_hash
from pipeline.tasks.grading import match_suffix
from pipeline.tasks.reading import SourceRow, read_rows
from pipeline.tasks.registry import INFILLED, Task, register
from pipeline.tom.generate.styles import BENCHMARK

TRAIN, TEST = "ToM_train_HiEx_hint.parquet", "ToM_test_HiExTi_hint.parquet"
_COLUMNS = ("data_source", "story", "question", "answer", "reward_model", "extra_info")
_THINKS = re.compile(r"\bthinks?\b")
_TOMI_ORDERS = {"first": 1, "second": 2}

Wanted = Callable[[Example], bool]


def load(
    raw: Path, file: str, task: str, wanted: Wanted | None = None, infilled: bool = False
) -> Iterator[Example]:
    """Yield the rows of a file in its order; ``infilled`` uses ExploreToM's stories retold in
    prose.
    """
    for row in read_rows(raw / "tom_rl" / file, _COLUMNS):
        example = _example(row, task, infilled)
        if wanted is None or wanted(example):
            yield example


def _example(row: SourceRow, task: str, infilled: bool) -> Example:
    benchmark, extra, story = row.text("data_source"), row.inner("extra_info"), row.text("story")
    order = _order(row, benchmark)
    retold = infilled and benchmark == "explore_tom"
    return Example(
        benchmark=benchmark,
        task=task,
        story=extra.text("infilled_story") if retold else story,
        question=row.text("question"),
        answer=row.text("answer"),
        order=order,
        question_type=_question_type(extra, benchmark, order),
        meta=_meta(extra, benchmark),
        # Both tellings of a story are one story to whoever splits by story.
        story_id=content_hash(story),
    )


def _order(row: SourceRow, benchmark: str) -> int:
    """The belief order, implied by the question's type or wording."""
    if benchmark == "tomi":
        kind = row.inner("extra_info").text("question_type2")
        return _TOMI_ORDERS.get(kind.partition("_")[0], 0)
    question = row.text("question")
    return hi_tom_order(question) if benchmark == "hi_tom" else explore_tom_order(question)


def hi_tom_order(question: str) -> int:
    """The number of minds that a Hi-ToM question goes through."""
    return len(_THINKS.findall(question))


def explore_tom_order(question: str) -> int:
    """The order of a place question of ExploreToM, -1 for a factual one."""
    if " does " in question and " think that " in question:
        return 2
    return 1 if " will " in question and " search for " in question else -1


def _question_type(extra: SourceRow, benchmark: str, order: int) -> str:
    if benchmark == "hi_tom":
        return f"order_{order}"
    key = "question_type2" if benchmark == "tomi" else "question_type"
    return extra.text(key) if extra.values.get(key) is not None else ""


def _meta(extra: SourceRow, benchmark: str) -> dict[str, object]:
    """Keep the metadata of the test file; the train file has none."""
    meta = {key: extra.values.get(key) for key in ("deception", "is_interesting", "story_type")}
    if benchmark == "hi_tom" and "story_length" in extra.values:
        meta["story_length"] = extra.integer("story_length")
    if benchmark == "tomi":
        meta["story_type"] = extra.text("question_type")
    return {key: value for key, value in meta.items() if value is not None}


def _is(benchmark: str, *orders: int) -> Wanted:
    return lambda example: example.benchmark == benchmark and example.order in orders


_FIELDS = {
    "tom_rl": (),
    "hi_tom": ("deception", "story_length"),
    "explore_tom": ("is_interesting", "story_type"),
    "tomi": ("story_type",),
}


def _register(
    name: str,
    benchmark: str,
    title: str,
    count: int,
    file: str,
    orders: tuple[int, ...],
    infilled: bool = False,
) -> None:
    wanted = None if file == TRAIN else _is(benchmark, *orders)
    register(
        Task(
            name=name,
            benchmark=benchmark,
            title=title,
            sources=("tom_rl",),
            load=partial(load, file=file, task=name, wanted=wanted, infilled=infilled),
            match=match_suffix,
            count=count,
            orders=orders,
            fields=_FIELDS[benchmark],
            telling=INFILLED if infilled else BENCHMARK,
        )
    )


_register("tom_rl_train", "tom_rl", "ToM-RL training", 3200, TRAIN, (-1, 0, 1, 2, 3))
_register("tom_rl_validation", "hi_tom", "ToM-RL validation", 400, TEST, (0, 1, 2, 3))
_register("hi_tom_order4", "hi_tom", "Hi-ToM 4th order", 600, TEST, (4,))
_register("explore_tom", "explore_tom", "ExploreToM", 1066, TEST, (-1, 1, 2))
_register(
    "explore_tom_infilled", "explore_tom", "ExploreToM (infilled)", 1066, TEST, (-1, 1, 2), True
)
_register("tomi", "tomi", "ToMi", 5994, TEST, (0, 1, 2))
