"""Questions about generated stories with their true recounts, and responses made of them."""

from __future__ import annotations

from functools import cache

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.tasks.example import Example

STORIES = 120


@cache
def recounted_questions(count: int = STORIES) -> tuple[tuple[Example, str, str], ...]:
    """Examples with their true recount and the sentence that names the answer."""
    source = HiTomSource(
        kind="hi_tom_style",
        agents=3,
        structure="free",
        tell=True,
        telling="brief",
        small_names=True,
        trace="recount",
    )
    rows = [row for told in stories(source, "test", count) for row in told]
    return tuple(
        (
            Example(
                *("hi_tom", "hi_tom_style", row["story"], row["question"], row["answer"]),
                order=row["order"],
            ),
            *_parted(row["trace"]),
        )
        for row in rows
        if row["order"] > 0
    )


def response(answer: str, *reasons: str) -> str:
    """A response as models give it, after the pre-filled tag."""
    return f" {' '.join(reasons)}</think><answer> {answer}</answer>"


def _parted(trace: str) -> tuple[str, str]:
    """The recount and the last sentence apart."""
    told, _, last = trace.rstrip(".").rpartition(". ")
    return f"{told}.", f"{last}."
