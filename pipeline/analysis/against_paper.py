"""A study beside the paper that it re-runs: what differs, what the paper leaves open, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from pipeline.analysis.settings import AbsentSetting, Settings, settings, value_at
from pipeline.base.errors import UserError
from pipeline.config.mistakes import shown
from pipeline.config.params import Params
from pipeline.config.published import (
    FOLDER,
    OPEN,
    PaperRecord,
    Statement,
    Topic,
    find_record,
    record_names,
)
from pipeline.formats.plural import counted
from pipeline.formats.records import Record

Status = Literal["same", "differs", "open"]


class Compared(Record):
    """One statement of a paper beside the study.

    Attributes:
        topic: What it is about.
        what: What it is.
        where: Where the study holds it, if a setting does.
        status: ``same`` as stated, ``differs``, or left ``open`` by the paper.
        stated: What is stated.
        here: What the study has.
        reason: Why, where that is not what is stated.
        source: What states it.
    """

    topic: Topic
    what: str
    where: str | None
    status: Status
    stated: JsonValue
    here: JsonValue
    reason: str | None
    source: str


class AgainstPaper(Record):
    """All statements of a paper beside the study that re-runs it.

    Attributes:
        study: The study.
        paper: The paper, by its number.
        title: The paper's title.
        code: Its code, where that is public.
        compared: Statement by statement.
        mistakes: Where the record does not speak of the study as it is.
    """

    study: str
    paper: str
    title: str
    code: str | None
    compared: list[Compared]
    mistakes: list[str]

    def of(self, status: Status) -> list[Compared]:
        """The statements of one status."""
        return [each for each in self.compared if each.status == status]

    def summary(self) -> str:
        """In one sentence how much differs and how much is open."""
        same, differs, left = (len(self.of(status)) for status in ("same", "differs", "open"))
        reasons = f"the record is wrong in {counted(len(self.mistakes), 'place')}"
        return (
            f"against {self.paper}: {counted(same + differs + left, 'statement')} compared, "
            f"{same} as stated, {differs} otherwise, {left} left open there; "
            f"{reasons if self.mistakes else 'each with its reason'}: tomrl study diff {self.study}"
        )


def against_paper(params: Params, root: Path) -> AgainstPaper | None:
    """Compare a study with the record beside it; None if it re-runs no paper.

    Raises:
        UserError: If the record cannot be read.
    """
    record = find_record(root, params.study.name)
    return None if record is None else compare(params, record)


def compare(params: Params, record: PaperRecord) -> AgainstPaper:
    """Compare a study with a record."""
    found = settings(params)
    pairs = [(topic, each) for topic, listed in record.statements.items() for each in listed]
    return AgainstPaper(
        study=params.study.name,
        paper=record.paper,
        title=record.title,
        code=record.code,
        compared=[_compared(found, topic, each) for topic, each in pairs],
        mistakes=[text for _, each in pairs for text in _mistakes(found, each)],
    )


def checked(found: AgainstPaper) -> AgainstPaper:
    """A comparison whose record speaks of the study as it is.

    Raises:
        UserError: With every difference that has no reason, and all that the record says of the
            study that is not so.
    """
    if found.mistakes:
        count = counted(len(found.mistakes), "mistake")
        listed = "".join(f"\n  - {text}" for text in found.mistakes)
        raise UserError(f"{FOLDER}/{found.study}.yaml has {count}:{listed}")
    return found


def no_record(params: Params, root: Path) -> str:
    """The sentence on a study that re-runs no paper."""
    name, paper = params.study.name, params.study.paper
    origin = f", though it builds on {paper}" if paper else ""
    there = ", ".join(record_names(root)) or "none"
    return f"study {name} re-runs no paper{origin}; studies that re-run one: {there}"


def in_words(value: JsonValue) -> str:
    """A value as people write it."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(in_words, value)) or "none"
        case dict():
            return ", ".join(f"{name} {in_words(each)}" for name, each in value.items()) or "none"
        case _:
            return str(value)


def _compared(found: Settings, topic: Topic, each: Statement) -> Compared:
    here = _here(found, each)
    return Compared(
        topic=topic,
        status=_status(each, here),
        here=here,
        **each.model_dump(include={"what", "where", "stated", "reason", "source"}),
    )


def _here(found: Settings, each: Statement) -> JsonValue:
    """What the study has; None where a setting is not there at all."""
    if each.where is None:
        return each.here
    value = value_at(found, each.where)
    return None if isinstance(value, AbsentSetting) else value


def _status(each: Statement, here: JsonValue) -> Status:
    if each.stated == OPEN:
        return "open"
    if each.where is None:
        return "same" if each.reason is None else "differs"
    return "same" if here == each.stated else "differs"


def _mistakes(found: Settings, each: Statement) -> Iterator[str]:
    """Yield where a statement does not speak of the study as it is."""
    if each.where is None:
        return
    here, named = _here(found, each), f"{each.what} ({each.where})"
    if isinstance(value_at(found, each.where), AbsentSetting):
        yield f"{named}: the study has no such setting; correct where"
    elif _status(each, here) == "same":
        if each.reason is not None or each.says_here:
            yield f"{named}: the study has what is stated; remove here and reason"
    elif each.reason is None:
        yield (
            f"{named}: stated {shown(each.stated)}, the study has {shown(here)}, and no reason is "
            "given; give here and reason, or change the study"
        )
    elif each.says_here and each.here != here:
        yield (
            f"{named}: the reason speaks of {shown(each.here)}, the study has {shown(here)}; "
            "correct here and reason, or change the study"
        )
    elif not each.says_here:
        yield f"{named}: a reason for what? give here: {shown(here)}"
