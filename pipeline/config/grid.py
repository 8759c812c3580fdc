"""Which cells a study has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.algorithms import AlgorithmName
from pipeline.config.arms import Arm
from pipeline.config.section import Distinct, Key, Listed, Section, Seed


class StudyGrid(Section):
    """Which cells the study has: every model with every combination, arm and seed.

    Attributes:
        models: Models that are trained.
        combinations: Training data.
        algorithms: Algorithms, each an arm of its own; give this or ``arms``.
        arms: Ways to train by name, where they differ in more than the algorithm.
        seeds: Seeds.
        repeated: What differs between seeds: the ``rollouts`` and the order of the data; or
            ``everything``, also the base model, if it is a tiny one, and which rows are drawn.
        evaluate_only: Models that are evaluated and not trained.
    """

    models: Annotated[Listed[str], Field(min_length=1), Distinct]
    combinations: Annotated[Listed[str], Field(min_length=1), Distinct]
    algorithms: Annotated[Listed[AlgorithmName], Distinct] = ()
    arms: dict[Key, Arm] = Field(default={})
    seeds: Annotated[Listed[Seed], Field(min_length=1), Distinct] = (0,)
    repeated: Literal["rollouts", "everything"] = "rollouts"
    evaluate_only: Annotated[Listed[str], Distinct] = ()

    @model_validator(mode="after")
    def _one_list_of_arms(self) -> StudyGrid:
        if bool(self.algorithms) == bool(self.arms):
            raise ValueError("give exactly one of algorithms and arms, and name at least one there")
        return self
