"""Which data may be passed on: what upstream says of each source."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.data.sources import SOURCES
from pipeline.tasks import registry

OWN = "Apache-2.0"  # of what this project generates
TAGS = ["theory-of-mind", "tomrl"]  # by which a hub finds models and data


def licences(
    params: Params, tasks: Iterable[str], what: str, *, to_train: bool = False
) -> dict[str, str]:
    """The licences of the upstream sources that a study takes the rows of tasks from, by source.

    It is a UserError if ``what`` quotes them may not be passed on: one states no licence, or its
    authors ask not to train on it, and others would take it ``to_train``.
    """
    used = map(registry.get, tasks)
    names = {name for task in used for name in (*task.sources, *task.optional)}
    found = [SOURCES[name] for name in sorted(names & set(SOURCES) & set(params.acquire))]
    for source in found:
        why = "its authors ask not to train on it" if to_train and source.evaluation_only else ""
        if "none stated" in source.licences:
            why = "upstream states no licence, so nobody else may pass it on"
        if why:
            raise UserError(
                f"{what} may not be passed on: it quotes {source.name} ({source.title}), and {why};"
                " leave it out, or pass the study on, which acquires it anew: studies/NAME.yaml"
            )
    return {source.name: ", ".join(source.licences) for source in found}


def licences_of_sets(params: Params, *, to_train: bool) -> dict[str, str]:
    """Those of a study's suite and training sets; raises as :func:`licences` does."""
    study, suite = params.study.name, {each.task for each in params.suite.columns.values()}
    found = licences(params, suite, f"the suite of {study}")
    for key, entry in params.dataset.items():
        tasks = {part.task for part in (*entry.train, *entry.validation)}
        found |= licences(params, tasks, f"the training set {key} of {study}", to_train=to_train)
    return dict(sorted(found.items()))


def licence_of(sources: Iterable[str]) -> str:
    """The licence of what this project makes of sources, as hubs name it."""
    return "cc-by-nc-4.0" if any(SOURCES[each].non_commercial for each in sources) else OWN.lower()
