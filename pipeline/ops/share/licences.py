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
    used = (registry.get(task) for task in tasks)
    names = {name for task in used for name in (*task.sources, *task.optional)}
    return sorted(names & set(SOURCES) & set(params.acquire))


def licences(sources: Iterable[str]) -> dict[str, list[str]]:
    """The licences of upstream sources, by source."""
    return {name: list(SOURCES[name].licences) for name in sources}


def check_passing_on(what: str, sources: Iterable[str], *, to_train: bool = False) -> None:
    """Refuse to pass on what upstream does not allow.

    Args:
        what: What would be passed on.
        sources: The upstream sources that it quotes.
        to_train: Whether it is made to train on.

    Raises:
        UserError: If a source states no licence, or its authors ask not to train on it; names it.
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
