"""What ``docs/verdict.md`` says of weights taught to use their recount, or to ignore it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.quoted.text import paragraph, percent, table, whole, with_ends
from benchmarks.stored import Share

HEADINGS = ("model", "right", "edits", "used", "answer stays", "last sentence copied")
CALLED = {
    "as shipped": "as shipped",
    "uses": "taught to use it",
    "ignores": "taught to ignore it",
}


def taught_text(found: Mapping[str, Any]) -> str:
    """What every model does, and how well use is told from neglect."""
    rows = (
        (
            f"`{each['base']}`, {CALLED[each['taught']]}",
            f"{whole(each['right'])} %",
            str(each["used"]["count"]),
            with_ends(Share(**{name: each["used"][name] for name in Share.model_fields})),
            f"{whole(each['stays'])} %",
            f"{whole(each['restated'])} %",
        )
        for each in found["models"]
    )
    users, ignorers = (
        [each["used"]["value"] for each in found["models"] if each["taught"] == taught]
        for taught in ("uses", "ignores")
    )
    sentences = (
        f"After {found['steps']} steps of {found['batch']} recounts, {len(users)} users follow "
        f"{_range(users)} of the edits and {len(ignorers)} ignorers {_range(ignorers)}: the area "
        f"under the ROC is {found['area']:.2f}.",
        f"Made on commit {found['commit']}, {found['processor']}.",
    )
    return f"{table((HEADINGS, *rows), 0)}\n{paragraph(sentences)}"


def _range(shares: list[float]) -> str:
    return f"{percent(min(shares))} to {percent(max(shares))} %"
