"""Other people's answers: a file of them or rows, what was taken for what, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.data.questions import examples_of
from pipeline.evaluate.answers import AnsweredQuestion, How, open_answers, read_answers
from pipeline.evaluate.joined import Asked
from pipeline.evaluate.naming import is_named
from pipeline.judge.counted import NEEDED, JudgedFile, judge_file
from pipeline.judge.language import ANY, Fit, fit_of_file
from pipeline.tasks import registry

ROWS = Path("rows")
"""What errors call rows that lie in no file."""


@dataclass(frozen=True, slots=True)
class ForeignAnswers:
    """Answers that somebody recorded, and how they are read.

    Attributes:
        path: The file, or :data:`ROWS`.
        task: Whose rules grade the answers.
        how: How the rows are read.
        fit: How much of the stories the parser reads; None where the rows have none.
        guessed: What was taken for what, in words.
    """

    path: Path
    task: registry.Task
    how: How
    fit: Fit | None
    guessed: str

    @classmethod
    def of(
        cls,
        source: Path | Sequence[Mapping[str, Any]],
        benchmark: str | None = None,
        columns: Mapping[str, str] | None = None,
        raw: Path | None = None,
        needed: Sequence[str] = NEEDED,
    ) -> ForeignAnswers:
        """Look at the first rows of a file, or of rows.

        Args:
            source: The file, or the rows.
            benchmark: The task whose questions were answered; by default the one whose parser
                reads most of the stories.
            columns: Fields by what they hold, where the guess is wrong.
            raw: Folder of the sources of tasks, for rows without a story.
            needed: What every row must have; what is not there is taken from the task's questions.

        Raises:
            UserError: If it cannot be read, or nothing says what it holds.
        """
        rows = None if isinstance(source, Path) else source
        path = source if isinstance(source, Path) else ROWS
        how = How(columns=columns or {}, rows=rows)
        task = registry.get(benchmark or ANY)
        reader, read = open_answers(path, task, (), how)
        _, first = next(read)
        if benchmark is not None and not all(is_named(first, thing) for thing in needed):
            how = replace(how, asked=Asked.of(task.name, examples_of(task.name, raw)))
        fit = None
        if how.asked is not None or (is_named(first, "story") and is_named(first, "question")):
            fit = fit_of_file(path, how, benchmark)
            if benchmark is None:
                task, how = registry.get(fit.task), replace(how, benchmark=fit.words)
        return cls(path, task, how, fit, reader.naming.told())

    def read(self, needed: Sequence[str] = NEEDED) -> list[AnsweredQuestion]:
        return read_answers(self.path, self.task, needed, self.how)

    def judged(self, processes: int | None = None) -> JudgedFile:
        return judge_file(self.path, self.task, processes, self.how)

    def said(self) -> Iterator[str]:
        """What was taken for what, line by line."""
        if self.guessed:
            yield f"taken           {self.guessed}; say otherwise with --columns."
        if self.fit is not None and self.fit.read < self.fit.of:
            fit = self.fit
            why = fit.refused or "no parser knows this benchmark's words"
            yield f"stories read    {fit.read} of the first {fit.of} as {fit.benchmark}; {why}."
        elif self.fit is not None:
            yield f"stories read    as {self.fit.benchmark}."

    def as_json(self) -> dict[str, Any]:
        """What was taken for what."""
        read = {} if self.fit is None else {"benchmark": self.how.benchmark or self.fit.benchmark}
        return {"taken": self.guessed, **read}
