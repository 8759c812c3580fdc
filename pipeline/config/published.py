"""The records of papers, each beside the study that re-runs one.

``studies/records/NAME.yaml`` goes through all that study ``NAME`` takes over, or decides where its
paper says nothing: what is stated, where, what the study does instead, and why. Its ``tables`` hold
what the paper reports, figure by figure, so that a report can set its own numbers beside them.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from pipeline.base.errors import UserError
from pipeline.config.mistakes import shown
from pipeline.config.reading import read_section
from pipeline.config.section import Key, Listed, OneOrMore, Positive, Section, Text

FOLDER = "studies/records"
OPEN = "open"
"""Marks settings that neither paper nor code states."""

Topic = Literal["data", "prompts", "sampling", "columns", "reward", "training", "evaluation"]
Reason = Annotated[str, Field(min_length=1, max_length=600, pattern=r"\S")]


class Statement(Section):
    """One setting that a paper or its code states, or leaves open.

    Attributes:
        what: Description, unique in its record.
        where: Place in the study, see :mod:`pipeline.analysis.settings`; absent for what no setting
            holds, such as the wording of a prompt.
        stated: The stated value, or ``open``.
        source: Section of the paper, or file of its code.
        here: The study's own value or choice.
        reason: Why that differs from what is stated.
    """

    what: Text
    where: Text | None = None
    stated: JsonValue
    source: Text
    here: JsonValue = None
    reason: Reason | None = None

    @property
    def says_here(self) -> bool:
        """The record gives the study's value, possibly null."""
        return "here" in self.model_fields_set

    @model_validator(mode="after")
    def _complete(self) -> Statement:
        if self.where is None and not self.says_here:
            raise ValueError(f"{self.what!r}: no setting holds it, so say here what the study has")
        if self.stated == OPEN and not (self.says_here and self.reason):
            raise ValueError(f"{self.what!r} is open: give the choice as here, and its reason")
        return self


Measure = Literal["accuracy", "change of accuracy", "change of length", "median words"]

UNITS = MappingProxyType(
    {
        "accuracy": "%",
        "change of accuracy": "points",
        "change of length": "%",
        "median words": "words",
    }
)
"""In what each measure is published."""

CHANGES = ("change of accuracy", "change of length")


class PublishedFigure(Section):
    """One published number.

    Attributes:
        model: Key of the model in the study.
        combination: What it was trained on; absent for the base model.
        of: ``lowest`` or ``highest`` where the figure is that of all trained cells of the model.
        column: The column, or several whose questions are taken together.
        order: The belief order, where the figure is of one.
        step: The step of training, where it is not that of the model that is evaluated.
        value: The number, in the unit of its measure.
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
    """A table or figure of a paper, or what it says in its text.

    Attributes:
        name: What it is called.
        measure: What its numbers are; :data:`UNITS` has the unit of each.
        source: Where it is published.
        reading: How its numbers are read here, where the source leaves that open.
        not_run: Why the study measures nothing of it.
        figures: Its numbers.
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


class PaperRecord(Section):
    """Statements of a paper and its code, beside the study's settings.

    Attributes:
        paper: Such as ``arXiv 2504.01698``.
        like: Another record whose statements hold here too, unless given anew.
        without: Statements of that record that do not apply.
        statements: By topic.
        tables: The results that it publishes.
    """

    paper: Text
    title: Text
    code: Text | None = None
    like: Key | None = None
    without: Listed[Text] = ()
    statements: dict[Topic, Listed[Statement]]
    tables: Listed[PublishedTable] = ()

    @model_validator(mode="after")
    def _each_once(self) -> PaperRecord:
        names = [each.what for topic in self.statements.values() for each in topic]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{shown(twice[0])} appears twice; keep one of them")
        if self.without and self.like is None:
            raise ValueError("without says what of another record is left out; name that as like")
        return self


def record_names(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))


def find_record(root: Path, study: str) -> PaperRecord | None:
    """The record beside a study, with inherited statements; None if there is none.

    Raises:
        UserError: With every mistake in the file, or for a missing record to inherit from.
    """
    path = root / FOLDER / f"{study}.yaml"
    if not path.is_file():
        return None
    record = read_section(path, PaperRecord)
    return record if record.like is None else _completed(root, path, record)


def _completed(root: Path, path: Path, record: PaperRecord) -> PaperRecord:
    others = [name for name in record_names(root) if name != path.stem]
    if record.like not in others:
        allowed = ", ".join(others) or "none"
        raise UserError(f"{path}: like: found {record.like!r}; allowed: {allowed}")
    other = find_record(root, str(record.like))
    taken = {} if other is None else other.statements
    own = {each.what for topic in record.statements.values() for each in topic}
    there = {each.what for topic in taken.values() for each in topic}
    if foreign := [name for name in record.without if name not in there]:
        raise UserError(f"{path}: without: {record.like} does not speak of {foreign[0]!r}")
    gone = own | set(record.without)
    topics = dict.fromkeys([*taken, *record.statements])
    statements = {
        topic: (
            *(each for each in taken.get(topic, ()) if each.what not in gone),
            *record.statements.get(topic, ()),
        )
        for topic in topics
    }
    return record.model_copy(update={"statements": statements, "like": None, "without": ()})
