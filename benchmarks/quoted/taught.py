"""What ``docs/verdict.md`` says of weights taught to use their reasoning, or to ignore it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.quoted.text import paragraph, table, whole, with_ends
from pipeline.formats.plural import percent

HEADINGS = ("model", "form", "right", "edits", "used", "answer stays")
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
            each["form"],
            f"{whole(each['right'])} %",
            str(each["used"]["count"]),
            with_ends(each["used"]),
            f"{whole(each['stays'])} %",
        )
        for each in found["models"]
    )
    sentences = (
        *(_told(found, form, area) for form, area in found["areas"].items()),
        f"Made on commit {found['commit']}, {found['processor']}.",
    )
    return f"{table((HEADINGS, *rows), 0)}\n{paragraph(sentences)}"


def _told(found: Mapping[str, Any], form: str, area: float | None) -> str:
    users, ignorers = (
        [e["used"]["value"] for e in found["models"] if (e["form"], e["taught"]) == (form, taught)]
        for taught in ("uses", "ignores")
    )
    if area is None:
        reached = "not known, since a model wrote too little that can be edited"
    elif area < found["asked"]:
        reached = f"{area:.2f}, below the {found['asked']:.2f} that is asked"
    else:
        reached = f"{area:.2f}"
    lessons = f"{found['steps'][form]} steps of {found['batch']} lessons"
    models = "one model" if len(users) == 1 else f"{len(users)} models"
    return (
        f"In the form *{form}*, after {lessons}, users follow {_range(users)} of the edits and "
        f"ignorers {_range(ignorers)} ({models} each): the area under the ROC is {reached}."
    )


def _range(shares: list[float]) -> str:
    least, most = percent(min(shares)), percent(max(shares))
    return f"{least} %" if least == most else f"{least} to {most} %"
