"""What a stage and its job tell each other: ``job.json`` in the folder that is uploaded, lines on
the job's output, and what the job puts into the store.
"""

from __future__ import annotations

from pipeline.config.params import TrainedCell
from pipeline.records import Record
from pipeline.train.verl.placement import Placement

NAME = "job.json"
OUTCOME = "outcome.json"
"""The record that the result in the store holds."""
STEP, SAVED, NOTE = "TOMRL_STEP ", "TOMRL_SAVED ", "TOMRL_NOTE "
RESULT, ERROR = "TOMRL_RESULT ", "TOMRL_ERROR "
"""How the lines begin by which a job speaks to its stage: a finished step as JSON, the step that
another attempt would go on from, a remark, the digest of the result, and what its user must mend.
"""
USER_ERROR = 3
"""Exit status after an ERROR line: trying again cannot help."""


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


class JobResult(Record):
    """``result.json`` of the state folder: the job is done.

    Attributes:
        digest: Of the result in the store, which holds an outcome.
    """

    digest: str
