"""Prompt programs: what a model can be had to do for an answer without any training."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipeline.config.section import Positive, Section

Temperature = Annotated[float, Field(gt=0, le=100)]
Drawn = Annotated[int, Field(ge=2, le=1024)]


class FewShot(Section):
    """Shows questions of ``suite.demonstrations`` with true reasoning and gold answers before."""

    kind: Literal["few-shot"]
    shots: Positive = 4
    calls: ClassVar[int] = 1


class SimTom(Section):
    """First asks what the person asked about knows, then asks the question about that alone.

    Wilf et al. 2023, arXiv 2311.10227.
    """

    kind: Literal["sim-tom"]
    calls: ClassVar[int] = 2


class Recursion(Section):
    """Asks for one perspective within the other, then where the object is in the last of them.

    RecToM: from the outermost agent of a nested belief inwards.
    """

    kind: Literal["recursion"]
    calls: ClassVar[int] = 3


class _Drawn(Section):
    of: Drawn = 8
    temperature: Temperature = 1.0

    @property
    def calls(self) -> int:
        return self.of


class Vote(_Drawn):
    """The most frequent of so many answers. Wang et al. 2022, arXiv 2203.11171."""

    kind: Literal["vote"]


class Best(_Drawn):
    """The best of so many answers, by a verifier of the reasoning.

    Attributes:
        verifier: ``beliefs``, the share of statements that the belief engine finds true (as
            DEL-ToM, arXiv 2505.17348, whose verifier is learned); or ``learned``, a classifier of
            words, fitted to the model's own answers to ``suite.demonstrations``.
    """

    kind: Literal["best"]
    verifier: Literal["beliefs", "learned"] = "beliefs"


AnyProgram = FewShot | SimTom | Recursion | Vote | Best
Program = Annotated[AnyProgram, Field(discriminator="kind")]


def needs_demonstrations(program: AnyProgram) -> bool:
    return isinstance(program, FewShot) or (
        isinstance(program, Best) and program.verifier == "learned"
    )
