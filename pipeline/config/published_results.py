"""Published results of papers, for studies that re-run them.

``studies/published/NAME.yaml`` has the numbers of the paper of study ``NAME``, for comparison in
its report.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.reading import read_section
from pipeline.config.section import Key, Listed, OneOrMore, Positive, Section, Text

FOLDER = "studies/published"

Measure = Literal["accuracy", "change of accuracy", "change of length", "median words"]

UNITS = MappingProxyType(
    {
        "accuracy": "%",
        "change of accuracy": "points",
        "change of length": "%",
        "median words": "words",
    }
)
"""Unit by measure."""

CHANGES = ("change of accuracy", "change of length")


class PublishedFigure(Section):
    """One published number.

    Attributes:
        model: Key of the model in the study.
        combination: Its training data; absent for the base model.
        of: ``lowest`` or ``highest`` of all trained cells of the model.
        column: One or several columns, pooled.
        step: The training step, if not that of the evaluated model.
        not_run: Why the study does not measure it.
    """

    model: Key
    combination: Text | None = None
    of: Literal["lowest", "highest"] | None = None
    column: OneOrMore[Key]
    order: Annotated[int, Field(ge=-1, le=10)] | None = None
    step: Positive | None = None
    value: float
    not_run: Text | None = None

    @model_validator(mode="after")
    def _of_one_cell(self) -> PublishedFigure:
        if self.of is not None and self.combination is not None:
            raise ValueError(f"of: {self.of} is of all combinations; remove combination or of")
        if self.order is not None and len(self.column) > 1:
            raise ValueError("order is one of a single column; name one")
        return self

    @property
    def is_trained(self) -> bool:
        return self.combination is not None or self.of is not None


class PublishedTable(Section):
    """A table or figure of a paper, or numbers from its text.

    Attributes:
        measure: A key of :data:`UNITS`.
        reading: Interpretation, where the source is ambiguous.
        not_run: Why the study measures nothing of it.
    """

    name: Text
    measure: Measure
    source: Text
    reading: Text | None = None
    not_run: Text | None = None
    figures: Listed[PublishedFigure]

    @model_validator(mode="after")
    def _changes_are_of_trained_models(self) -> PublishedTable:
        for figure in self.figures:
            reason = figure.not_run or self.not_run
            if self.measure in CHANGES and figure.combination is None:
                raise ValueError(f"a {self.measure} is of a trained model; give its combination")
            if figure.step is not None and reason is None:
                raise ValueError("only evaluated models are measured; say in not_run why not step")
        return self


class PublishedResults(Section):
    """The results of a paper that a study re-runs."""

    paper: Text
    tables: Listed[PublishedTable]


def find_published(root: Path, study: str) -> PublishedResults | None:
    """The published results for a study, if any; the UserError lists every mistake in the file."""
    path = published_path(root, study)
    return read_section(path, PublishedResults) if path.is_file() else None


def published_path(root: Path, study: str) -> Path:
    return root / FOLDER / f"{study}.yaml"
