"""How long grading, claims and verdicts of 100,000 responses take, and how much memory.

Responses to the questions of Hi-ToM-style stories of five agents, a story for every five, each of
about 700 characters: a retelling, beliefs true and false, an answer. Wanted: under 90 s and 2 GB.
Run ``python -m benchmarks.judge [--quick] [--json FILE]``; exits 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from pathlib import Path
from random import Random
from time import perf_counter

from pipeline.cli.output import write_output
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.judge.items import items_of
from pipeline.judge.signatures import single_signatures
from pipeline.judge.verdict import judge
from pipeline.tasks.example import Example

RESPONSES, QUICK = 100_000, 10_000
MOST_SECONDS, MOST_BYTES = 90.0, 2 * 10**9
_TALK = (
    "Let's break down the sequence of events and who knows what at each step.",
    "Initially, everybody was in the room.",
    "Since nobody came back, what they saw when they left is what they believe.",
    "The others were not there any more when it was moved.",
)


def questions(count: int) -> list[tuple[Example, list[str]]]:
    """Return questions, each with the reasoning that leads to every answer about its story."""
    source = HiTomSource(kind="hi_tom_style", agents=5)
    found = []
    for told in stories(source, "benchmark", count // 5):
        traces = [str(row["trace"]) for row in told]
        for row in told:
            example = Example(
                "hi_tom", "hi_tom", row["story"], row["question"], row["answer"], order=row["order"]
            )
            found.append((example, traces))
    return found


def responses(count: int, seed: int) -> list[tuple[Example, str]]:
    """Return questions with a response each."""
    random, asked = Random(seed), questions(count)
    found = []
    for place in range(count):
        example, traces = asked[place % len(asked)]
        said = [random.choice(traces) for _ in range(3)]
        talk = random.sample(_TALK, 3)
        reason = " ".join(part for pair in zip(talk, said, strict=True) for part in pair)
        answer = example.answer if random.random() < 0.6 else "red_box"
        found.append((example, f" {reason}</think><answer> {answer}</answer>"))
    return found


def main() -> int:
    """Measure, print and compare with what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth; nothing is compared")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    answered = responses(QUICK if arguments.quick else RESPONSES, seed=0)
    count = len(answered)
    length = sum(len(text) for _, text in answered) / count
    started = perf_counter()
    items = items_of(answered)
    found = judge(items)
    single_signatures(items)
    seconds = perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{count:,} responses of {length:.0f} characters; the last verdict: {found.words}")
    print(f"{seconds:.1f} s, {1e3 * seconds / count:.2f} ms each, {memory / 1e9:.2f} GB at most")
    if arguments.json:
        figures = {"responses": count, "seconds": seconds, "bytes": memory}
        write_output(arguments.json, json.dumps(figures, indent=1) + "\n")
    good = arguments.quick or (seconds < MOST_SECONDS and memory < MOST_BYTES)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
