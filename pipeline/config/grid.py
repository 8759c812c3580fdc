"""The cells of a study."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.algorithms import AlgorithmName
from pipeline.config.arms import Arm
from pipeline.config.section import Distinct, Key, Listed, Section, Seed


class StudyGrid(Section):
    """Every model with every combination, arm and seed.

    Attributes:
        algorithms: Algorithms, each an arm of its own; give this or ``arms``.
        arms: Training variants by name, if they differ in more than the algorithm.
        repeated: What seeds vary: ``rollouts`` and order of the data, or ``everything``, also a
            tiny base model and the choice of rows.
        evaluate_only: Models to evaluate without training.
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
