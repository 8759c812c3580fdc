"""Base models of kind ``tiny``: warm-started on generated stories, here or beforehand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from pipeline.base.closure import own_code
from pipeline.base.ownership import owned
from pipeline.base.plugins import BASES
from pipeline.base.progress import ProgressReport
from pipeline.config.models import TinyModel
from pipeline.config.params import BaseEntry
from pipeline.data.card import BaseCard, SetCard
from pipeline.data.codec import read_dataset
from pipeline.data.origin import Origin
from pipeline.engine.device import set_up_torch
from pipeline.formats.files import remove
from pipeline.formats.provenance import MODEL, installed
from pipeline.formats.records import Figures
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.stages.base import Made
from pipeline.stages.common import Stage
from pipeline.stages.stop import StopRequest
from pipeline.train import base_cache, shipped, tiny_base, warm_start
from pipeline.train.tiny_base import MadeModel
from pipeline.train.warm_start import Demonstration

_STATE = "state"


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take the model that comes with the project, or was made before for any study, or make it."""
    assert isinstance(entry.model, TinyModel)
    examples, timing = tiny_base.demonstrations_of(entry), list[Figures]()
    if entry.model.shipped:
        known = shipped.check(stage.root / "models" / entry.model.shipped, entry)
        folder = stage.root / "models" / entry.model.shipped / shipped.MODEL
        made = MadeModel(
            digest=stage.weights_of_base(key).copy(folder),
            parameters=known.parameters,
            tokens=known.tokens,
            losses=known.losses,
        )
        how, libraries = "comes with the project", known.libraries
    else:
        made, how = _made_here(stage, key, entry, examples, timing)
        libraries = installed(*MODEL)
    print(
        f"base {key}: {made.parameters:,} parameters, {made.tokens} tokens, loss "
        f"{made.losses[-1]:.3f}, {how}"
    )
    manifest = Manifest(
        model=key,
        use="base",
        checkpoints={"base": StoredModel(step=0, digest=made.digest)},
        parameters=made.parameters,
        libraries=libraries,
    )
    metrics: list[Figures] = [{"step": n, "loss": loss} for n, loss in enumerate(made.losses, 1)]
    shown = warm_start.shown(examples, entry.model.warm_start, len(made.losses))
    card, origin = _card(key, entry, shown)
    return Made(manifest, card, origin, metrics, timing)


def _card(key: str, entry: BaseEntry, shown: Sequence[Demonstration]) -> tuple[BaseCard, Origin]:
    """What the model was shown: in counts, and story by story."""
    assert isinstance(entry.model, TinyModel)
    examples = [demonstration.example for demonstration in shown]
    origin = Origin.of(examples, entry.stories)
    made = "made by this project" if entry.model.shipped else "made here"
    note = f"{made}, and shown nothing but this"
    return BaseCard(model=key, note=note, shown=SetCard.of(examples, origin)), origin


def _made_here(
    stage: Stage,
    key: str,
    entry: BaseEntry,
    examples: Sequence[Demonstration],
    timing: list[Figures],
) -> tuple[MadeModel, str]:
    """The model and how it was had: made now, or found where it was made before."""
    threads = stage.params.study.threads
    set_up_torch(threads)
    words = _training_texts(stage)
    code = own_code(BASES["tiny"].modules)
    work = stage.work("made", base_cache.key_of(entry, threads, examples, words, code))
    with owned(work):
        made, how = base_cache.recall(work), "made before"
        if made is None:
            made, how = _make(key, entry, examples, words, work, timing), "made now"
            base_cache.remember(work, made)
        stage.weights_of_base(key).link(work / base_cache.MODEL)
        remove(work / _STATE)
    return made, how


def _make(
    key: str,
    entry: BaseEntry,
    examples: Sequence[Demonstration],
    words: Sequence[str],
    work: Path,
    timing: list[Figures],
) -> MadeModel:
    """Make a tiny model; a warm start that was interrupted goes on where it stood in ``work``."""
    assert isinstance(entry.model, TinyModel)
    with ProgressReport(f"warm start {key}", entry.model.warm_start.steps) as progress:

        def report(step: int, loss: float) -> None:
            timing.append({"step": step, "at": time.time()})
            progress.at(step, f"loss {loss:.3f}")

        stop = StopRequest().requested
        folder = work / base_cache.MODEL
        return tiny_base.make(entry, examples, words, folder, work / _STATE, report, stop)


def _training_texts(stage: Stage) -> list[str]:
    """The prompts of every training set, so that the tokenizer knows their words."""
    return [
        message["content"]
        for key in sorted(stage.params.dataset)
        for row in read_dataset(stage.data / "combos" / key / "train.parquet")
        for message in row.prompt
    ]
