"""The verdict on a file of many responses, in little memory.

Processes read the answers chunk by chunk and drop the texts. Those that the verdict is on are read
again. The result does not depend on the number of processes.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, compress, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.evaluate.answers import (
    HOW,
    AnsweredQuestion,
    How,
    Reader,
    open_answers,
    refuse_repeats,
)
from pipeline.formats.tables import Row
from pipeline.judge.answers import sampled
from pipeline.judge.items import Item, items_of
from pipeline.judge.signatures import Reason
from pipeline.judge.verdict import Verdict, judge_all
from pipeline.tasks import registry
from pipeline.tasks.example import Example

NEEDED = ("story", "question", "answer", "response")
"""Required columns."""

MOST_PROCESSES = 4
_CHUNK = 500
_AHEAD = 2
"""Queued chunks per process."""

_NO_META: Mapping[str, Any] = {}
_Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Counted:
    """A response without its texts.

    Attributes:
        item: The question, and whether the answer is right; neither story nor response.
        reason: Features of its reasoning for signatures.
    """

    id: str
    item: Item
    reason: Reason


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """The verdict on a file of responses, with the inputs of signatures, without texts.

    Attributes:
        failed: Why questions were never answered; these do not count.
    """

    verdict: Verdict
    items: Sequence[Item]
    reasons: Sequence[Reason]
    failed: Sequence[str] = ()


def processes_here() -> int:
    return min(MOST_PROCESSES, len(os.sched_getaffinity(0)))


def judge_file(
    path: Path, task: registry.Task, processes: int | None = None, how: How = HOW
) -> JudgedFile:
    """The verdict on a file of responses to questions of a task.

    Raises:
        UserError: As :func:`pipeline.evaluate.answers.read_answers`.
    """
    reader, rows = open_answers(path, task, NEEDED, how)
    with _uncollected():
        counted = list(count(reader, rows, processes or processes_here()))
        refuse_repeats(path, (each.id for each in counted))
        items = [each.item for each in counted]
        places = sampled([item.example for item in items])
        verdict = judge_all(_read_again(path, task, how, places))
    return JudgedFile(verdict, items, [each.reason for each in counted], reader.failed)


def count(reader: Reader, rows: Iterator[Row], processes: int) -> Iterator[Counted]:
    chunks = iter(lambda: list(islice(rows, _CHUNK)), [])
    first = list(islice(chunks, processes + 1))
    if processes < 2 or len(first) <= processes:
        return chain.from_iterable(_count(reader, chunk) for chunk in chain(first, chunks))
    return chain.from_iterable(_count_beside(reader, chain(first, chunks), processes))


def reasons_of(path: Path, task: registry.Task, how: How = HOW) -> list[Reason]:
    """The reasoning of every response of a file, whatever else it has."""
    reader, rows = open_answers(path, task, ("response",), how)
    found = [
        (answer.id, Reason.of(answer.response)) for answer in (reader.answer(*r) for r in rows)
    ]
    refuse_repeats(path, (name for name, _ in found))
    return [reason for _, reason in found]


def _count_beside(
    reader: Reader, chunks: Iterable[_Rows], processes: int
) -> Iterator[Sequence[Counted]]:
    """Yield chunks counted by other processes, in order, with a short queue."""
    waiting = deque[Future[list[Counted]]]()
    start = get_context("spawn")
    try:
        with ProcessPoolExecutor(processes, start, _leave_interrupts_to_parent) as pool:
            for chunk in chunks:
                waiting.append(pool.submit(_count, reader, chunk))
                if len(waiting) > _AHEAD * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError(
            f"{reader.path}: a process that counts responses was ended, perhaps out of memory"
        ) from None


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _count(reader: Reader, rows: _Rows) -> list[Counted]:
    with _uncollected():
        return [_counted(reader.answer(*row)) for row in rows]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause garbage collection: there are no cycles, and each pass walks all results."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _counted(answer: AnsweredQuestion) -> Counted:
    (item,) = items_of([(answer.example, answer.response)])
    return Counted(answer.id, _bare(item), Reason.of(item.response))


def _bare(item: Item) -> Item:
    whole = item.example
    meta = {"pair": whole.meta["pair"]} if "pair" in whole.meta else _NO_META
    example = Example(
        whole.benchmark,
        whole.task,
        story="",
        question="",
        answer="",
        order=whole.order,
        meta=meta,
        story_id=whole.story_id,
        id=whole.story_id,
    )
    return Item(example, response="", extracted=None, right=item.right)


def _read_again(path: Path, task: registry.Task, how: How, places: Sequence[int]) -> list[Item]:
    reader, rows = open_answers(path, task, NEEDED, how)
    wanted = set(places)
    chosen = compress(rows, (place in wanted for place in range(max(places) + 1)))
    answers = (reader.answer(*row) for row in chosen)
    return items_of((answer.example, answer.response) for answer in answers)
