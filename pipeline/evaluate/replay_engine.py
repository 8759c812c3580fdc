"""The engine ``replay``: answers that were recorded, so that they are graded and judged again.

A file (:mod:`pipeline.formats.tables`) has one row for each answer: ``id`` of the question and
``response``; ``sample``, ``prompt_digest``, ``prompt_tokens``, ``completion_tokens`` and
``finish_reason`` where they are known, as in the ``responses.parquet`` of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.answers import name_of, named, parsed, whole_number
from pipeline.evaluate.engine import Prompt, Response
from pipeline.formats.files import file_digest
from pipeline.formats.provenance import Libraries
from pipeline.formats.tables import is_absent, read_table
from pipeline.model.chat import EMPTY_THOUGHT
from pipeline.model.manifest import RecordedManifest

_SHOWN = 3


def reason_absent(manifest: RecordedManifest) -> str | None:
    """Why a model cannot be asked here; recorded answers always can."""
    return None


def open_engine(manifest: RecordedManifest, root: Path, work: Path) -> ReplayEngine:
    """The engine of the answers that a checkout holds; it leaves nothing unfinished."""
    return ReplayEngine(root / manifest.answers, manifest.sha256)


class ReplayEngine:
    """Answers from a file.

    Args:
        path: The file.
        sha256: What it must hold.
    """

    name = "replay"

    def __init__(self, path: Path, sha256: str) -> None:
        self.path, self.sha256 = path, sha256
        self.libraries: Libraries = {}

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        """One response for each prompt, in order.

        Raises:
            UserError: If the file is gone, another one or damaged, answers a question twice, not at
                all, or as it was put by another prompt.
        """
        answers = self._read()
        if missing := [p.question for p in prompts if (p.question, p.sample) not in answers]:
            raise UserError(
                f"{self.path} answers {len(prompts) - len(missing)} of {len(prompts)} questions; "
                f"there is no row for {', '.join(missing[:_SHOWN])}"
                f"{' and others' if len(missing) > _SHOWN else ''}; add them (suite and "
                "side-check are asked), or ask for less in the study"
            )
        responses = [self._response(answers[p.question, p.sample], p) for p in prompts]
        report(len(prompts))
        return responses

    def _read(self) -> dict[tuple[str, int], Mapping[str, Any]]:
        if not self.path.is_file() or file_digest(self.path) != self.sha256:
            raise UserError(f"{self.path} is gone or has changed since; run: dvc repro")
        found: dict[tuple[str, int], Mapping[str, Any]] = {}
        for where, given in read_table(self.path):
            row = named(self.path, given)
            row["id"] = self._id(where, row)
            for name in ("sample", "prompt_tokens", "completion_tokens"):
                wanted = f"{self.path}, {where}: {name} must be a whole number"
                row[name] = parsed(_number, row.get(name), wanted)
            if (row["id"], row["sample"]) in found:
                raise UserError(
                    f"{self.path}, {where}: the id {row['id']!r} occurs twice; an id (with its "
                    "sample, where there are several) names one answer"
                )
            found[row["id"], row["sample"]] = row
        return found

    def _id(self, where: str, row: Mapping[str, Any]) -> str:
        try:
            name = name_of(row.get("id"))
        except ValueError:
            name = None
        if name is None or not isinstance(row.get("response"), str):
            raise UserError(
                f"{self.path}, {where}: the id must be text or a whole number, the response text"
            )
        return name

    def _response(self, row: Mapping[str, Any], prompt: Prompt) -> Response:
        put = row.get("prompt_digest")
        if not is_absent(put) and put != prompt.digest:
            raise UserError(
                f"{self.path}: {row['id']} was answered to another prompt than the study's; name "
                "the prompt that was used, or leave prompt_digest out of the file"
            )
        text = row["response"]
        if prompt.begun.endswith(EMPTY_THOUGHT):  # it is put before every response
            text = text.removeprefix(EMPTY_THOUGHT)
        reason = row.get("finish_reason")
        ended = "stop" if is_absent(reason) else str(reason)
        return Response(text, row["completion_tokens"], ended, row["prompt_tokens"])


def _number(value: object) -> int:
    return 0 if is_absent(value) else whole_number(value)
