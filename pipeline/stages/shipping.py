"""Making the models that come with the project, from the studies that state their recipes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.expand import expand
from pipeline.config.models import TinyModel
from pipeline.config.params import BaseEntry
from pipeline.config.study_files import load_study, study_files
from pipeline.formats.files import digest_of, folder_digests, remove, replacing
from pipeline.formats.provenance import MODEL, installed
from pipeline.train import shipped
from pipeline.train.shipped import ShippedCard, recipe_of

FOLDER = "models"


@dataclass(frozen=True)
class ShippedModel:
    """A model that some study takes from ``models/``.

    Attributes:
        name: Its folder there.
        study: A study that states its recipe.
        threads: Threads it is made with.
        entry: Its recipe.
    """

    name: str
    study: str
    threads: int
    entry: BaseEntry

    @property
    def steps(self) -> int:
        assert isinstance(self.entry.model, TinyModel)
        return self.entry.model.warm_start.steps


def shipped_models(root: Path) -> dict[str, ShippedModel]:
    """The models that the studies of a checkout take from ``models/``, by name.

    Raises:
        UserError: If two studies state different recipes for one of them.
    """
    found: dict[str, ShippedModel] = {}
    for name, path in study_files(root).items():
        params = expand(load_study(path))
        for entry in params.base.values():
            if not isinstance(entry.model, TinyModel) or entry.model.shipped is None:
                continue
            model = ShippedModel(entry.model.shipped, name, params.study.threads, entry)
            known = found.setdefault(model.name, model)
            if _made_by(known) != _made_by(model):
                raise UserError(
                    f"studies {known.study} and {name} state different recipes for the shipped "
                    f"model {model.name}; make them alike, or give one of them another name"
                )
    return dict(sorted(found.items()))


def remake(
    root: Path,
    model: ShippedModel,
    report: Callable[[int, float], None],
    should_stop: Callable[[], bool],
) -> ShippedCard:
    """Make a shipped model in place of the one that is there; an interrupted one goes on.

    Raises:
        Interrupted: If ``should_stop`` said so; the model that was there stays.
    """
    from pipeline.engine.device import set_up_torch  # to list models takes no torch
    from pipeline.train import tiny_base

    set_up_torch(model.threads)
    work = root / "work" / digest_of(["shipped", *_made_by(model)])[:20]
    with owned(work):
        examples = tiny_base.demonstrations_of(model.entry)
        made = tiny_base.make(
            model.entry, examples, (), work / shipped.MODEL, work / "state", report, should_stop
        )
        card = ShippedCard(
            recipe=recipe_of(model.entry),
            threads=model.threads,
            processor=tiny_base.processor(),
            libraries=installed(*MODEL),
            parameters=made.parameters,
            tokens=made.tokens,
            losses=tuple(round(loss, 4) for loss in made.losses),
            files=folder_digests(work / shipped.MODEL),
        )
        with replacing(root / FOLDER / model.name) as temporary:
            temporary.mkdir()
            (work / shipped.MODEL).rename(temporary / shipped.MODEL)
            card.write(temporary / shipped.CARD)
        remove(work)
    return card


def _made_by(model: ShippedModel) -> tuple[object, int]:
    return recipe_of(model.entry), model.threads
