"""Questions about generated stories with their true recounts, and responses made of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.tasks.example import Example

STORIES = 120


@cache
def recounted_questions(count: int = STORIES) -> tuple[tuple[Example, str, str], ...]:
    """Examples with their true recount and the sentence that names the answer."""
    return tuple((example, *_parted(trace)) for example, trace in _questions("recount", count))


def tracked_questions(count: int) -> Iterator[tuple[Example, str]]:
    """Examples with their true track."""
    return _questions("track", count)


def _questions(trace: str, count: int) -> Iterator[tuple[Example, str]]:
    source = HiTomSource.model_validate(
        {
            "kind": "hi_tom_style",
            "agents": 3,
            "structure": "free",
            "tell": True,
            "telling": "brief",
            "small_names": True,
            "trace": trace,
        }
    )
    for told in stories(source, "test", count):
        for row in told:
            asked = (row["story"], row["question"], row["answer"])
            if row["order"]:
                yield Example("hi_tom", "hi_tom_style", *asked, order=row["order"]), row["trace"]


def response(answer: str, *reasons: str) -> str:
    """A response as models give it, after the pre-filled tag."""
    return f" {' '.join(reasons)}</think><answer> {answer}</answer>"


def _parted(trace: str) -> tuple[str, str]:
    """The recount and the last sentence apart."""
    told, _, last = trace.rstrip(".").rpartition(". ")
    return f"{told}.", f"{last}."
