"""Arms: the training variants of a study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from pipeline.config.algorithms import ALGORITHMS, Algorithm, AlgorithmBase
from pipeline.config.mistakes import Mistake, wrong
from pipeline.config.section import Key, Listed, Section, known
from pipeline.config.training import Train


def _named(content: object) -> object:
    """Expand the bare name of an algorithm."""
    return {"name": known(content, ALGORITHMS)} if isinstance(content, str) else content


class Start(Section):
    """The cell whose weights another one starts from, of the same model and seed.

    Attributes:
        arm: Its arm.
        combination: Its training data; by default those of the cell that starts from it or, if the
            arm does not train on these, its only data.
    """

    arm: Key
    combination: str | None = None


def _of_arm(content: object) -> object:
    """Expand the bare name of an arm."""
    if not isinstance(content, str | dict | Start):
        raise ValueError(
            f"found {content!r}; allowed: the name of an arm, or {{arm: NAME, combination: DATA}}"
        )
    return {"arm": content} if isinstance(content, str) else content


class Arm(Section):
    """A training variant; other settings are those of the study's ``train``.

    It may set any field of :class:`~pipeline.config.training.Train`.

    Attributes:
        algorithm: A name, or ``{name: NAME, SETTING: VALUE}``.
        starts_from: An arm, or ``{arm: NAME, combination: DATA}``, whose weights its cells start
            from; the base model if absent.
        combinations: Its training data; all of the grid if absent.
    """

    model_config = ConfigDict(extra="allow")

    algorithm: Annotated[Algorithm, BeforeValidator(_named)]
    starts_from: Annotated[Start, BeforeValidator(_of_arm)] | None = None
    combinations: Annotated[Listed[str], Field(min_length=1)] | None = None

    @property
    def own(self) -> dict[str, Any]:
        """Its changes to the study's recipe."""
        return {
            name: value for name, value in (self.model_extra or {}).items() if value is not None
        }

    @model_validator(mode="after")
    def _one_length(self) -> Arm:
        if {"steps", "epochs"} <= self.own.keys():
            raise ValueError("found steps and epochs; give at most one of them")
        return self

    @model_validator(mode="after")
    def _given_responses_are_whole(self) -> Arm:
        if self.own.get("think") is False and not self.algorithm.samples:
            raise ValueError(
                f"found think: false with {self.algorithm.name}, which imitates whole responses; "
                "its setting imitates says what is in them"
            )
        return self

    def applied_to(self, recipe: Train) -> Train:
        """A study's recipe with the arm's changes; ValidationError if that is invalid."""
        length = {"steps": None, "epochs": None} if {"steps", "epochs"} & self.own.keys() else {}
        return Train.model_validate({**dict(recipe), **length, **self.own})


def recipe_mistakes(recipe: Train, algorithm: AlgorithmBase) -> Iterator[Mistake]:
    if algorithm.compares and recipe.rollouts == 1:
        why = f"because {algorithm.name} compares the completions of a prompt"
        yield wrong(("rollouts",), 1, f"2 or more, {why}")
