"""How long judging a file of 100,000 responses takes, and how much memory 100,000 and a million do.

Responses to the questions of Hi-ToM-style stories of five agents, a story for every one, each of
about 600 characters: a retelling, beliefs true and false, an answer. They go through the path that
``tomrl judge`` takes, each size in a process of its own. Memory is the most that the process and
those that count for it hold together, looked at ten times a second; what a million takes is told by
the slope between half of the responses and all of them, or measured with ``--million``. Wanted:
under 90 s on two processors, and 2 GB for a million. Run ``python -m benchmarks.judge``; exits
1 where that does not hold.
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
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import perf_counter

import psutil

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.judge.counted import judge_file, processes_here
from pipeline.judge.signatures import single_signatures
from pipeline.stages.followed import processor
from pipeline.tasks import registry

RESPONSES, MILLION = 100_000, 1_000_000
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
    """

    responses: int
    seconds: float
    cpu: float
    bytes: int


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


def measure(path: Path) -> Measure:
    """Judge a file in this process and those that it starts."""
    watch, started = Watch(), perf_counter()
    found = judge_file(path, registry.get(_TASK))
    items = list(found.items)
    single_signatures(items, found.reasons)
    seconds = perf_counter() - started
    own, others = (resource.getrusage(who) for who in _WHO)
    return Measure(
        responses=len(items),
        seconds=seconds,
        cpu=own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
        bytes=watch.end(),
    )


def measured(path: Path) -> Measure:
    """Judge a file in a new process."""
    command = (sys.executable, "-m", "benchmarks.judge", "--file", str(path))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = Measure(**json.loads(done.stdout))
    print(
        f"{found.responses:,} responses: {found.seconds:.1f} s, "
        f"{found.cpu:.1f} s of processors ({1e3 * found.cpu / found.responses:.2f} ms each), "
        f"{found.bytes / 1e9:.2f} GB",
        flush=True,
    )
    return found


def of_a_million(half: Measure, whole: Measure) -> float:
    """The bytes that a million responses take, by what the second half of some took."""
    slope = (whole.bytes - half.bytes) / (whole.responses - half.responses)
    return whole.bytes + (MILLION - whole.responses) * slope


def compare(folder: Path, whole_million: bool) -> tuple[Measure, float]:
    """What the responses took, and the bytes of a million of them."""
    whole, half = folder / "responses.jsonl", folder / "half.jsonl"
    write_responses(whole, RESPONSES)
    write_first(half, whole, RESPONSES // 2)
    found = measured(whole)
    print(f"{processor()}, {os.cpu_count()} processors, {processes_here()} processes")
    million = of_a_million(measured(half), found)
    if whole_million:
        write_responses(whole, MILLION)
        million = measured(whole).bytes
    print(f"a million responses: {million / 1e9:.2f} GB")
    return found, million


def main() -> int:
    """Measure, print and compare with what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true", help="measure a million, half an hour")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.file:
        print(json.dumps(asdict(measure(asked.file))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found, million = compare(Path(folder), asked.million)
    return 0 if found.seconds < MOST_SECONDS and million < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
