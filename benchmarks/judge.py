"""How long judging a file of 100,000 responses takes, and how much memory 100,000 and a million do.

Responses to the questions of Hi-ToM-style stories of five agents, a story for every one, each of
about 600 characters: a retelling, beliefs true and false, an answer. They go through the path that
``tomrl judge`` takes, each size in a process of its own. Memory is the most that the process and
those that count for it hold together, looked at ten times a second; what a million takes is told by
the slope between half of the responses and all of them, or measured with ``--million``. Wanted:
under 90 s on two processors, and 2 GB for a million. Run ``python -m benchmarks.judge [--quick]
[--beside] [--json FILE]``; exits 1 where that does not hold. ``--beside`` also judges all texts at
once, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import perf_counter

import psutil

from benchmarks.figures import keep, options
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.evaluate.answers import read_answers
from pipeline.judge.counted import NEEDED, judge_file, processes_here
from pipeline.judge.items import items_of
from pipeline.judge.signatures import single_signatures
from pipeline.judge.verdict import judge
from pipeline.stages.followed import processor
from pipeline.tasks import registry

RESPONSES, QUICK, MILLION = 100_000, 2_000, 1_000_000
MOST_SECONDS, MOST_BYTES = 90.0, 2 * 10**9
_TASK = "hi_tom"
_LOOK_SECONDS = 0.1
_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
_TALK = (
    "Let's break down the sequence of events and who knows what at each step.",
    "Initially, everybody was in the room.",
    "Since nobody came back, what they saw when they left is what they believe.",
    "The others were not there any more when it was moved.",
)


@dataclass(frozen=True, slots=True)
class Measure:
    """What judging a file took.

    Attributes:
        responses: How many there are.
        seconds: From the file to the verdict.
        cpu: Seconds of all processors together.
        bytes: The most memory that it and the processes that count for it hold together.
        verdict: What was said, in JSON.
    """

    responses: int
    seconds: float
    cpu: float
    bytes: int
    verdict: str


def rows(count: int) -> Iterator[dict[str, object]]:
    """Yield answered questions, each about a story of its own."""
    random = Random(0)
    source = HiTomSource(kind="hi_tom_style", agents=5)
    for number, told in enumerate(stories(source, "benchmark", count)):
        asked = told[number % len(told)]
        said = [str(random.choice(told)["trace"]) for _ in range(3)]
        talk = random.sample(_TALK, 3)
        reason = " ".join(part for pair in zip(talk, said, strict=True) for part in pair)
        answer = asked["answer"] if random.random() < 0.6 else "red_box"
        response = f" {reason}</think><answer> {answer}</answer>"
        question = {name: asked[name] for name in ("story", "question", "answer", "order")}
        yield {**question, "response": response}


def write_responses(path: Path, count: int) -> None:
    """Write a file of answered questions."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows(count))


def write_first(path: Path, source: Path, count: int) -> None:
    """Write the first rows of a file as another."""
    with source.open(encoding="utf-8") as whole, path.open("w", encoding="utf-8") as file:
        file.writelines(islice(whole, count))


class Watch(Thread):
    """Looks at how much memory this process and those that it starts hold together."""

    def __init__(self) -> None:
        """Start to look."""
        super().__init__(daemon=True)
        self.most = 0
        self._ended = Event()
        self.start()

    def run(self) -> None:
        """Look until told to end."""
        while not self._ended.wait(_LOOK_SECONDS):
            self.most = max(self.most, _held())

    def end(self) -> int:
        """The most bytes that were seen."""
        self._ended.set()
        self.join()
        return max(self.most, _held())


def _held() -> int:
    """The bytes that this process and those below it hold now."""
    own, held = psutil.Process(), 0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            held += process.memory_info().rss
    return held


def measure(path: Path, at_once: bool) -> Measure:
    """Judge a file in this process and those that it starts."""
    watch, started = Watch(), perf_counter()
    if at_once:
        answers = read_answers(path, registry.get(_TASK), NEEDED)
        items = items_of((each.example, each.response) for each in answers)
        verdict, signatures = judge(items), single_signatures(items)
    else:
        found = judge_file(path, registry.get(_TASK))
        items, verdict = list(found.items), found.verdict
        signatures = single_signatures(items, found.reasons)
    seconds = perf_counter() - started
    said = json.dumps([verdict.as_json(), [each.as_json() for each in signatures]])
    own, others = (resource.getrusage(who) for who in _WHO)
    return Measure(
        responses=len(items),
        seconds=seconds,
        cpu=own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
        bytes=watch.end(),
        verdict=said,
    )


def measured(path: Path, *options: str) -> Measure:
    """Judge a file in a new process."""
    command = (sys.executable, "-m", "benchmarks.judge", "--file", str(path), *options)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = Measure(**json.loads(done.stdout))
    print(
        f"{found.responses:,} responses{' at once' if options else ''}: {found.seconds:.1f} s, "
        f"{found.cpu:.1f} s of processors ({1e3 * found.cpu / found.responses:.2f} ms each), "
        f"{found.bytes / 1e9:.2f} GB",
        flush=True,
    )
    return found


def of_a_million(half: Measure, whole: Measure) -> float:
    """The bytes that a million responses take, by what the second half of some took."""
    slope = (whole.bytes - half.bytes) / (whole.responses - half.responses)
    return whole.bytes + (MILLION - whole.responses) * slope


def compare(folder: Path, options: argparse.Namespace) -> tuple[Measure, float]:
    """What the responses took, and the bytes of a million of them."""
    count = QUICK if options.quick else options.responses
    whole, half = folder / "responses.jsonl", folder / "half.jsonl"
    write_responses(whole, count)
    write_first(half, whole, count // 2)
    found = measured(whole)
    print(f"{processor()}, {os.cpu_count()} processors, {processes_here()} processes")
    if options.beside:
        before = measured(whole, "--at-once")
        same = "the same" if before.verdict == found.verdict else "ANOTHER"
        print(
            f"at once: {before.seconds / found.seconds:.2f} times the seconds, "
            f"{before.bytes / found.bytes:.2f} times the memory, {same} verdict"
        )
    million = of_a_million(measured(half), found)
    if options.million:
        write_responses(whole, MILLION)
        million = measured(whole).bytes
    print(f"a million responses: {million / 1e9:.2f} GB")
    return found, million


def main() -> int:
    """Measure, print and compare with what is wanted."""
    parser = options(__doc__, "few; nothing is compared")
    parser.add_argument("--responses", type=int, default=RESPONSES)
    parser.add_argument("--beside", action="store_true", help="also judge all texts at once")
    parser.add_argument("--million", action="store_true", help="measure a million, half an hour")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at-once", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.file:
        print(json.dumps(asdict(measure(asked.file, asked.at_once))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found, million = compare(Path(folder), asked)
    keep(asked, {**asdict(replace(found, verdict="")), "bytes_of_a_million": million})
    good = found.seconds < MOST_SECONDS and million < MOST_BYTES
    return 0 if asked.quick or good else 1


if __name__ == "__main__":
    sys.exit(main())
