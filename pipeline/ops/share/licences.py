"""Which data may be passed on: what upstream says of each source."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.data.sources import SOURCES
from pipeline.tasks import registry

_UNSTATED = "none stated"
OWN = "Apache-2.0"
"""Of what this project generates."""


def upstream_of(params: Params, tasks: Iterable[str]) -> list[str]:
    """The upstream sources that a study takes the rows of some tasks from."""
    used = map(registry.get, tasks)
    names = {name for task in used for name in (*task.sources, *task.optional)}
    return sorted(names & set(SOURCES) & set(params.acquire))


def licences(sources: Iterable[str]) -> dict[str, list[str]]:
    """The licences of upstream sources, by source."""
    return {name: list(SOURCES[name].licences) for name in sources}


def check_passing_on(what: str, sources: Iterable[str], *, to_train: bool = False) -> None:
    """Refuse to pass on what quotes sources that upstream does not allow to be passed on.

    Raises:
        UserError: If a source states no licence, or its authors ask not to train on it, and others
            would take it ``to_train``; names it.
    """
    for source in map(SOURCES.__getitem__, sources):
        if _UNSTATED in source.licences:
            why = "upstream states no licence, so nobody else may pass it on"
        elif to_train and source.evaluation_only:
            why = "its authors ask not to train on it"
        else:
            continue
        raise UserError(
            f"{what} may not be passed on: it quotes {source.name} ({source.title}), and {why}; "
            "leave it out, or pass the study on, which acquires it anew: studies/NAME.yaml"
        )


def sources_of_sets(params: Params, *, to_train: bool) -> list[str]:
    """The upstream sources of a study's suite and training sets, all of which may be passed on.

    Raises:
        UserError: If some may not: as they are, or for others ``to_train`` on the training sets.
    """
    suite = {column.task for column in params.suite.columns.values()}
    found = upstream_of(params, suite)
    check_passing_on(f"the suite of {params.study.name}", found)
    for key, entry in params.dataset.items():
        own = upstream_of(params, {part.task for part in (*entry.train, *entry.validation)})
        what = f"the training set {key} of {params.study.name}"
        check_passing_on(what, own, to_train=to_train)
        found += own
    return sorted({*found})


def licence_of(sources: Iterable[str]) -> str:
    """The licence of what this project makes of sources, as hubs name it."""
    return "cc-by-nc-4.0" if any(SOURCES[each].non_commercial for each in sources) else OWN.lower()
