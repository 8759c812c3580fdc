"""What a job of verl is to do: ``job.json`` in the folder that is uploaded."""

from __future__ import annotations

from pipeline.ops.cluster.job_lines import TrainingSpec
from pipeline.ops.verl.placement import Placement

# What verl 0.9.1 holds of Ray's cores: TransferQueue's storage units and its controller, and three
# for each rank.
HELPER_CPUS, RANK_CPUS = 9, 3


class JobSpec(TrainingSpec):
    """One training run.

    Attributes:
        placement: Where it trains.
        rows: Training prompts within ``max_prompt_tokens``, for ``sft`` those with a response.
        validation: Validation prompts within it, by task.
    """

    placement: Placement
    rows: int
    validation: dict[str, int]
