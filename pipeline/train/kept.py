"""The weights of every saved step of a run, as model folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.formats.files import remove, replacing
from pipeline.formats.weights import WeightsFolder
from pipeline.model.manifest import StoredModel


@dataclass(frozen=True)
class KeptSteps:
    """The kept steps of a run, in a folder of its resumable state."""

    folder: Path
    write: Callable[[Path], None]

    def keep(self, step: int) -> None:
        remove(self._of(step))
        with replacing(self._of(step)) as temporary:
            self.write(temporary)

    def has(self, steps: Iterable[int]) -> bool:
        return all(self._of(step).is_dir() for step in steps)

    def stored(self, steps: Iterable[int], weights: WeightsFolder) -> tuple[StoredModel, ...]:
        """Link the weights of some steps into a stage's output."""
        return tuple(StoredModel(step=step, digest=weights.link(self._of(step))) for step in steps)

    def _of(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}"
