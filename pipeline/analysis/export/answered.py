"""What a cell was asked and what it answered, column by column, as its results record it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config.params import Cell
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.records import Evaluation, TaskScores
from pipeline.evaluate.runner import Asked, Asking, Graded, prompts_of, repeated
from pipeline.formats.files import digest_of, file_digest
from pipeline.formats.provenance import Libraries
from pipeline.formats.records import damage, read_figures, refuse_foreign
from pipeline.judge.recorded import read_answered
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

_TOKENS = ("prompt_tokens", "completion_tokens")
_RESPONSES = ("id", "task", "prompt_digest", "response", *_TOKENS, "finish_reason")
_GRADES = ("id", "correct", "strict", "format_ok", "extracted")


@dataclass(frozen=True, slots=True)
class AnsweredSample:
    """One question with its answer.

    Attributes:
        example: The question.
        prompt: What the model was shown.
        graded: What it said, with its grade.
    """

    example: Example
    prompt: Prompt
    graded: Graded


@dataclass(frozen=True, slots=True)
class Column:
    """The answers of a cell to one column.

    Attributes:
        study: The study.
        cell: Key of the cell.
        settings: The cell, as the study has it.
        name: Of the column.
        asking: How the questions were put.
        engine: What ran the model.
        libraries: Versions that the scores depend on.
        scores: As recorded.
        answers: In the order of the column, the samples of a question side by side.
        started: When the stage began to ask.
        ended: When it had all answers.
        digest: Of the recorded responses and grades: the same for the same results.
    """

    study: str
    cell: str
    settings: Cell
    name: str
    asking: Asking
    engine: str
    libraries: Libraries
    scores: TaskScores
    answers: Sequence[AnsweredSample]
    started: datetime
    ended: datetime
    digest: str

    def first(self) -> list[AnsweredSample]:
        """The first sample of each question, which scores are of."""
        return [each for each in self.answers if each.graded.sample == 0]

    def about(self) -> dict[str, Any]:
        """What says which model this is, as JSON values."""
        cell = self.settings
        return {
            "study": self.study,
            "cell": self.cell,
            "kind": cell.kind,
            "model": cell.model,
            "combination": cell.combination,
            "algorithm": None if cell.algorithm is None else cell.algorithm.name,
            "seed": cell.seed,
            "engine": self.engine,
            "prompt": self.asking.prompt,
        }


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """Where the results of a stage lie.

    Attributes:
        folder: Of the responses, grades and scores.
        timing: The file that says when they were made; it need not be there.
        made_by: The DVC stage that makes them.
    """

    folder: Path
    timing: Path
    made_by: str


def read_columns(
    results: ResultsFolder,
    study: str,
    key: str,
    cell: Cell,
    asked: Sequence[Asked],
) -> Iterator[Column]:
    """Yield the answered columns of a cell; none if the model was not run.

    Args:
        results: Of the stage.
        study: Name of the study.
        key: Of the cell.
        cell: The cell.
        asked: What the stage asks now, and how.

    Raises:
        UserError: If a file is missing or damaged, or what was asked is not what is asked now.
    """
    examples = {name: column for each in asked for name, column in each.columns.items()}
    put = {name: each.asking for each in asked for name in each.columns}
    scores = Evaluation.read_of(results.folder / "metrics.json", examples, results.made_by)
    if scores.absent is not None:
        return
    rows = read_answered(results.folder, _RESPONSES, _GRADES, results.made_by)
    refuse_foreign(
        results.folder / "responses.parquet", "columns", rows["task"], examples, results.made_by
    )
    started, ended = _times(results)
    for name, questions in examples.items():
        column = rows[rows["task"] == name]
        yield Column(
            study=study,
            cell=key,
            settings=cell,
            name=name,
            asking=put[name],
            engine=scores.engine,
            libraries=scores.libraries,
            scores=scores.tasks[name],
            answers=_answers(results, column, questions, put[name], cell.seed),
            started=started,
            ended=ended,
            digest=digest_of([name, *map(file_digest, sorted(results.folder.glob("*.parquet")))]),
        )


def _answers(
    results: ResultsFolder,
    rows: pd.DataFrame,
    questions: Sequence[Example],
    asking: Asking,
    seed: int,
) -> list[AnsweredSample]:
    """The answers to questions, held against what the model was shown."""
    prompts = prompts_of(questions, asking, seed=seed)
    questions = repeated(questions, asking.samples)
    shown = [prompt.digest for prompt in prompts]
    asked = [example.id for example in questions]
    if asked != list(rows["id"]) or shown != list(rows["prompt_digest"]):
        path = results.folder / "responses.parquet"
        raise damage(path, "it answers other questions than the study asks now", results.made_by)
    return [
        AnsweredSample(example, prompt, _graded(row, prompt))
        for example, prompt, row in zip(questions, prompts, rows.to_dict("records"), strict=True)
    ]


def _graded(row: Mapping[Hashable, Any], prompt: Prompt) -> Graded:
    read, written = (int(row[name]) for name in _TOKENS)
    said = Response(row["response"], written, row["finish_reason"], read)
    right, strict, form = (bool(row[name]) for name in ("correct", "strict", "format_ok"))
    found = None if pd.isna(row["extracted"]) else row["extracted"]
    return Graded(said, Grade(right, strict, form, found), prompt.digest, prompt.sample)


def _times(results: ResultsFolder) -> tuple[datetime, datetime]:
    """When the stage began to ask and when it ended; both its file's where none noted it."""
    if results.timing.is_file():
        (noted, *_) = read_figures(results.timing, results.made_by)
        ended = datetime.fromtimestamp(noted["at"], UTC)
        return ended - timedelta(seconds=noted["seconds"]), ended
    written = (results.folder / "metrics.json").stat().st_mtime
    return datetime.fromtimestamp(written, UTC), datetime.fromtimestamp(written, UTC)
