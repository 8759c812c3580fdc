"""Stage ``base@model``: the weights of a base model, and the manifest that names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from pipeline.base.plugins import BASES
from pipeline.config.lookup import lookup
from pipeline.config.params import BaseEntry
from pipeline.data.card import BaseCard
from pipeline.data.origin import BaseShown, Origin
from pipeline.formats.files import write_lines
from pipeline.formats.records import Figures
from pipeline.model.manifest import NO_WEIGHTS, Manifest, ServedManifest
from pipeline.stages.common import Stage, run


@dataclass(frozen=True)
class Made:
    """A base model that was made or fetched.

    Attributes:
        manifest: What names its weights, which are in place.
        card: What it was shown.
        shown: What exactly, story by story; None where nobody here knows.
        metrics: Rows of ``metrics.jsonl``.
        timing: Rows of ``timing.jsonl``.
    """

    manifest: Manifest | ServedManifest
    card: BaseCard
    shown: Origin | None = None
    metrics: list[Figures] = field(default_factory=list)
    timing: list[Figures] = field(default_factory=list)


def main(stage: Stage, key: str) -> None:
    """Make, or fetch, one base model."""
    entry = lookup(stage.params.base, key, "model")
    make = cast(Callable[[Stage, str, BaseEntry], Made], BASES[entry.model.kind].load())
    made = make(stage, key, entry)
    folder, weights = stage.runs / "base" / key, stage.weights_of_base(key)
    if isinstance(made.manifest, Manifest):
        weights.keep_only([made.manifest.used.digest])
    else:
        weights.keep_none(NO_WEIGHTS)
    write_lines(folder / "metrics.jsonl", made.metrics)
    write_lines(stage.logs / "base" / key / "timing.jsonl", made.timing)
    made.card.write(folder / "card.json")
    BaseShown(model=key, origin=made.shown).write(folder / "shown.json")
    made.manifest.write(folder / "checkpoints.json")


if __name__ == "__main__":
    run("base", main)
