"""A file of other people's answers, as a command is given it: what was taken for what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cli.questions import examples_of

if TYPE_CHECKING:
    from pipeline.evaluate.answers import How
    from pipeline.judge.language import Fit
    from pipeline.tasks.registry import Task


@dataclass(frozen=True, slots=True)
class FileOfAnswers:
    """A file of answers.

    Attributes:
        path: The file.
        task: Whose rules grade the answers.
        how: How it is read.
        fit: How much of its stories the parser reads; None where it has none.
        guessed: What was taken for what, in words.
    """

    path: Path
    task: Task
    how: How
    fit: Fit | None
    guessed: str

    @classmethod
    def of(
        cls,
        path: Path,
        benchmark: str | None,
        needed: Sequence[str],
        columns: str | None = None,
        raw: Path | None = None,
    ) -> FileOfAnswers:
        """Look at the first rows of a file.

        Args:
            path: The file.
            benchmark: The task whose questions were answered, where a person says so.
            needed: What every row must have; what is not there is taken from the task's questions.
            columns: Fields by what they hold, as a person says.
            raw: Folder of the sources of tasks.

        Raises:
            UserError: If it cannot be read, or nothing says what it holds.
        """
        from pipeline.evaluate.answers import How, open_answers
        from pipeline.evaluate.joined import Asked
        from pipeline.evaluate.naming import is_named, parse_columns
        from pipeline.judge.language import fit_of_file
        from pipeline.tasks import registry

        how = How(columns=parse_columns(columns))
        task = registry.get(benchmark or "hi_tom")
        reader, rows = open_answers(path, task, (), how)
        _, first = next(rows)
        if benchmark is not None and not all(is_named(first, thing) for thing in needed):
            how = replace(how, asked=Asked.of(task.name, examples_of(task.name, raw)))
        fit = None
        if how.asked is not None or (is_named(first, "story") and is_named(first, "question")):
            fit = fit_of_file(path, how, benchmark)
            if benchmark is None:
                task, how = registry.get(fit.task), replace(how, benchmark=fit.words)
        return cls(path, task, how, fit, reader.naming.told())

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
