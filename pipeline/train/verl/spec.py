"""What a stage asks a job to do: ``job.json`` in the folder that is uploaded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.config.params import Cell
from pipeline.files import read_json, write_json
from pipeline.train.verl.placement import Placement

NAME = "job.json"
STEP, NOTE, RESULT, ERROR = "TOMRL_STEP ", "TOMRL_NOTE ", "TOMRL_RESULT ", "TOMRL_ERROR "
"""How the lines begin by which a job speaks to its stage: a finished step as JSON, a remark, the
digest of the result, and what its user must mend."""
USER_ERROR = 3
"""Exit status after an ERROR line: trying again cannot help."""


@dataclass(frozen=True)
class JobSpec:
    """One training run.

    Attributes:
        key: Key of the cell.
        cell: The cell.
        placement: Where it trains.
        base: Digest of the base model in the store.
        made_by: The stage that made the base model.
        store: Root of the artifact store.
        state: The state folder.
        rows: Training prompts within ``max_prompt_tokens``.
        validation: Validation prompts within it, by task.
    """

    key: str
    cell: Cell
    placement: Placement
    base: str
    made_by: str
    store: str
    state: str
    rows: int
    validation: dict[str, int]

    def write(self, folder: Path) -> None:
        """Write the specification into a job folder."""
        cell = self.cell.model_dump(mode="json")
        placement = asdict(self.placement)
        plain = {name: value for name, value in vars(self).items()}
        write_json(folder / NAME, {**plain, "cell": cell, "placement": placement})

    @classmethod
    def read(cls, folder: Path) -> JobSpec:
        """Read the specification of a job folder."""
        content = read_json(folder / NAME)
        content["cell"] = Cell.model_validate(content["cell"])
        content["placement"] = Placement(**content["placement"])
        return cls(**content)
