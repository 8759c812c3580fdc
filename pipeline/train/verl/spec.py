"""What a stage and its job tell each other: ``job.json`` in the folder that is uploaded, lines on
the job's output, and what the job puts into the store.
"""

from __future__ import annotations

from pipeline.config.params import TrainedCell
from pipeline.records import Record
from pipeline.train.verl.placement import Placement


class JobSpec(Record):
    """One training run.

    Attributes:
        key: Key of the cell.
        cell: The cell.
        placement: Where it trains.
        base: Digest of the base model in the store.
        made_by: The stage that made the base model.
        store: Root of the artifact store.
        state: The state folder.
        rows: Training prompts within ``max_prompt_tokens``, for ``sft`` those with a response.
        validation: Validation prompts within it, by task.
    """

    key: str
    cell: TrainedCell
    placement: Placement
    base: str
    made_by: str
    store: str
    state: str
    rows: int
    validation: dict[str, int]
