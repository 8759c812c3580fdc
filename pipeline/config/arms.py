"""Arms: what the cells of a study that differ in how they are trained differ in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from pipeline.config.algorithms import ALGORITHMS, Algorithm, AlgorithmBase
from pipeline.config.mistakes import Mistake, wrong
from pipeline.config.section import Key, Listed, Section, known
from pipeline.config.training import Train


def _named(content: object) -> object:
    """Give the bare name of an algorithm the form that one with settings has."""
    return {"name": known(content, ALGORITHMS)} if isinstance(content, str) else content


class Start(Section):
    """The cell whose weights another one starts from: that of the same model and seed.

    Attributes:
        arm: How it was trained.
        combination: What on; the data of the cell that starts from it if absent or, where the arm
            does not train on these, the only data that it trains on.
    """

    arm: Key
    combination: str | None = None


def _of_arm(content: object) -> object:
    """Give the bare name of an arm the form that one with its data has."""
    if not isinstance(content, str | dict | Start):
        raise ValueError(
            f"found {content!r}; allowed: the name of an arm, or {{arm: NAME, combination: DATA}}"
        )
    return {"arm": content} if isinstance(content, str) else content


class Arm(Section):
    """One way to train; what it leaves out is as in the study's ``train``.

    Beside its own fields it has any of :class:`~pipeline.config.training.Train`.

    Attributes:
        algorithm: Its name, or ``{name: NAME, SETTING: VALUE}``.
        starts_from: The cell whose weights its cells start from: the name of an arm, or
            ``{arm: NAME, combination: DATA}``; the base model if absent.
        combinations: The data that it trains on; all of the grid if absent.
    """

    model_config = ConfigDict(extra="allow")

    algorithm: Annotated[Algorithm, BeforeValidator(_named)]
    starts_from: Annotated[Start, BeforeValidator(_of_arm)] | None = None
    combinations: Annotated[Listed[str], Field(min_length=1)] | None = None

    @property
    def own(self) -> dict[str, Any]:
        """What it changes in the study's recipe, as it is written."""
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
        """A study's recipe with what the arm changes.

        Raises:
            ValidationError: If that is no recipe.
        """
        length = {"steps": None, "epochs": None} if {"steps", "epochs"} & self.own.keys() else {}
        return Train.model_validate({**dict(recipe), **length, **self.own})


def recipe_mistakes(recipe: Train, algorithm: AlgorithmBase) -> Iterator[Mistake]:
    """Yield the settings of a recipe that its algorithm cannot have, by their places in it."""
    if algorithm.compares and recipe.rollouts == 1:
        why = f"because {algorithm.name} compares the completions of a prompt"
        yield wrong(("rollouts",), 1, f"2 or more, {why}")
