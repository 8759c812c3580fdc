"""Computing again what a bundle says: scores, intervals, verdicts and report, from its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyarrow.parquet import read_table as read_parquet  # type: ignore[import-untyped]

from pipeline.analysis.results import collect
from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.config.params import Params
from pipeline.evaluate.engine import Response
from pipeline.evaluate.options import Scored
from pipeline.evaluate.records import Evaluation
from pipeline.evaluate.runner import Asked, Graded, grade_response, prompts_of, repeated
from pipeline.formats.files import file_digest, folder_digests, link_or_copy, read_json
from pipeline.formats.records import damage
from pipeline.judge.recorded import read_table
from pipeline.ops.share.bundle import Bundle
from pipeline.stages import report
from pipeline.stages.common import Stage
from pipeline.stages.evaluate import asked
from pipeline.stages.expanded import everything
from pipeline.stages.judge import judged
from pipeline.stages.scoring import ModelRun, write_scores

_OF_A_CELL = (
    "evaluate/responses.parquet",
    "evaluate/grades.parquet",
    "evaluate/metrics.json",
    "judge/claims.parquet",
    "judge/verdicts.json",
)
_RESPONSES = ("id", "task", "response", "completion_tokens", "finish_reason")


def recompute(bundle: Bundle, folder: Path) -> dict[str, str]:
    """Compute again what follows from the answers of a bundle, and compare it.

    Args:
        bundle: What it lists.
        folder: The bundle, whose files are as they were published.

    Returns:
        What files say otherwise, by their names.

    Raises:
        UserError: If a file cannot be read.
    """
    with TemporaryDirectory(prefix="tomrl-verify-") as name:
        root = Path(name)
        for each in bundle.files:
            (root / each).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(folder / each, root / each)
        params = everything(root)
        if params.study.name != bundle.study:
            raise UserError(
                f"{folder}: bundle.json is of the study {bundle.study!r}, params/report.json of "
                f"{params.study.name!r}"
            )
        try:
            made = list(_made_again(params, root))
        except UserError as error:  # it names files where they were taken to
            raise UserError(str(error).replace(f"{root}/", "")) from None
        found = {each: _compared(each, folder / each, root / each) for each in made}
        return {name: text for name, text in found.items() if text is not None}


def _made_again(params: Params, root: Path) -> Iterator[str]:
    """Replace what follows from the answers; yield the names of those files."""
    runs, page = f"runs/{params.study.name}", f"reports/{params.study.name}"
    with ProgressReport("verify", len(params.cells)) as progress:
        for done, key in enumerate(params.cells, 1):
            stage = Stage("evaluate", root, params)
            _grade(stage, key)
            judged(stage, key).write(stage.runs / key / "judge")
            progress.at(done, key)
            yield from (f"{runs}/{key}/{name}" for name in _OF_A_CELL)
    before = folder_digests(root / page)
    stage = Stage("report", root, params)
    report.write(stage, collect(params, root), root / page)
    yield from (f"{page}/{name}" for name in sorted({*before, *folder_digests(root / page)}))


def _grade(stage: Stage, key: str) -> None:
    """Grade the answers of a cell; versions of libraries stay those that are recorded."""
    folder, made_by = stage.runs / key / "evaluate", f"evaluate@{key}"
    cell, columns = stage.params.cell(key), stage.params.suite.columns
    scores = Evaluation.read_of(folder / "metrics.json", columns, made_by)
    put = [] if scores.absent is not None else asked(stage, key)
    rows = read_table(folder / "responses.parquet", _RESPONSES, made_by).to_dict("records")
    graded, start = [], 0
    for each in put:
        end = start + len(each.examples) * each.asking.samples
        graded.append(_graded(each, rows[start:end], cell.seed))
        start = end
    if start != len(rows) or None in graded:
        why = "it answers other questions than the study asks"
        raise damage(folder / "responses.parquet", why, made_by)
    ran = ModelRun(scores.engine, scores.libraries, put, [each or [] for each in graded])
    again = write_scores(folder, cell, ran, absent=scores.absent)
    again.model_copy(update={"libraries": scores.libraries}).write(folder / "metrics.json")


def _graded(put: Asked, rows: Sequence[dict[Any, Any]], seed: int) -> list[Graded] | None:
    """The recorded answers to questions, graded; None where they answer others."""
    samples, style = put.asking.samples, put.asking.prompt
    examples, columns = repeated(put.examples, samples), repeated(put.names, samples)
    asked_for = [(example.id, name) for example, name in zip(examples, columns, strict=True)]
    if asked_for != [(row["id"], row["task"]) for row in rows]:
        return None
    prompts = prompts_of(put.examples, put.asking, seed=seed)
    return [
        Graded(
            Response(row["response"], row["completion_tokens"], row["finish_reason"]),
            grade_response(row["response"], example, style),
            prompt.digest,
            place % samples,
            _scored(row, example.answer),
        )
        for place, (example, row, prompt) in enumerate(zip(examples, rows, prompts, strict=True))
    ]


def _scored(row: dict[Any, Any], answer: str) -> Scored | None:
    if row.get("options") is None:
        return None
    return Scored(tuple(row["options"]), tuple(map(float, row["option_logprobs"])), answer)


def _compared(name: str, there: Path, again: Path) -> str | None:
    """What a file says otherwise than when it is made again; None if nothing."""
    if not there.is_file() or not again.is_file():
        return "is not computed" if there.is_file() else "is not there, but computed"
    if file_digest(there) == file_digest(again):
        return None
    if not name.endswith((".parquet", ".json")):
        return "is not what is computed"
    differing = list(_differing(*map(_content, (there, again))))
    more = f"; and {len(differing) - 1} more" if len(differing) > 1 else ""
    return (differing[0] if differing else "is written in another way") + more


def _content(path: Path) -> Any:
    """What a JSON file says, or the columns of a table."""
    return read_json(path) if path.suffix == ".json" else read_parquet(path).to_pydict()


def _differing(there: Any, again: Any, place: str = "") -> Iterator[str]:
    """Yield where two JSON values differ."""
    if isinstance(there, dict) and isinstance(again, dict):
        for key in dict.fromkeys((*there, *again)):
            yield from _differing(there.get(key), again.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(there, list) and isinstance(again, list) and len(there) == len(again):
        for number, (one, other) in enumerate(zip(there, again, strict=True)):
            yield from _differing(one, other, f"{place}[{number}]")
    elif there != again:
        yield f"{place or 'all of it'}: found {there!r:.80}; computed: {again!r:.80}"
