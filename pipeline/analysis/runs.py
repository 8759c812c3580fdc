"""What differs from run to run, for people: commit, machines, versions, times.

The page of a report is the same bytes for the same results, so none of this is in it. A copy of the
page, which nothing depends on, has it in the section on provenance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pipeline.analysis.page import environment

BEGIN, END = "<!-- what differs from run to run -->", "<!-- so far -->"
"""Between these, the page says where this is to be found; the copy has it there."""


@dataclass(frozen=True, slots=True)
class FinishedStage:
    """A stage of a cell that has run.

    Attributes:
        cell: The cell.
        stage: The stage.
        began: When it began, in seconds since the epoch.
        seconds: How long it worked.
        circumstances: Who ran it where, as tags of runs in MLflow.
    """

    cell: str
    stage: str
    began: float
    seconds: float
    circumstances: Mapping[str, str]


def with_runs(page: str, ran: Sequence[FinishedStage]) -> str:
    """A page with what is known of the runs; as it is where nothing is."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not ran or not end:
        return page
    stages = list(dict.fromkeys(each.stage for each in ran))
    text = (
        environment()
        .get_template("_runs.html")
        .render(
            facts=facts(ran),
            stages=stages,
            durations={
                cell: [_time(_seconds(ran, cell, stage)) for stage in stages]
                for cell in dict.fromkeys(each.cell for each in ran)
            },
        )
    )
    return f"{before}{begin}{text}{end}{after}"


def facts(ran: Sequence[FinishedStage]) -> dict[str, str]:
    """What is known of all runs, in words."""
    tags = [each.circumstances for each in ran]
    ended = max(each.began + each.seconds for each in ran)
    found = {
        "commit": _each(map(_commit, tags), "; "),
        "made": f"{_moment(min(each.began for each in ran))} to {_moment(ended)}",
        "time of all stages": _time(sum(each.seconds for each in ran)),
        "machines": _each(map(_machine, tags), "; "),
        "versions": _each((version for each in tags for version in _versions(each)), ", "),
    }
    return {name: value for name, value in found.items() if value}


def _commit(tags: Mapping[str, str]) -> str:
    commit = tags.get("mlflow.source.git.commit", "")[:12]
    return f"{commit}, with edits" if commit and tags.get("git.edited") == "true" else commit


def _machine(tags: Mapping[str, str]) -> str:
    named = {
        name.removeprefix("hardware."): value
        for name, value in tags.items()
        if name.startswith("hardware.")
    }
    known = {
        "processor": "{}",
        "cores": "{} cores",
        "memory_gb": "{} GB of memory",
        "accelerators": "accelerators: {}",
    }
    return ", ".join(text.format(named[name]) for name, text in known.items() if name in named)


def _versions(tags: Mapping[str, str]) -> list[str]:
    prefix = "version."
    return [f"{n.removeprefix(prefix)} {v}" for n, v in tags.items() if n.startswith(prefix)]


def _each(values: Iterable[str], between: str) -> str:
    return between.join(dict.fromkeys(filter(None, values)))


def _seconds(ran: Iterable[FinishedStage], cell: str, stage: str) -> float | None:
    found = (each.seconds for each in ran if (each.cell, each.stage) == (cell, stage))
    return next(found, None)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else str(timedelta(seconds=round(seconds)))


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
