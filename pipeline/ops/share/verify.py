"""Computing again what a bundle says: scores, intervals, verdicts and report, from its answers."""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from pipeline.analysis.collect import collect
from pipeline.analysis.packed import unpacked
from pipeline.base.errors import UserError
from pipeline.data.codec import read_examples
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.option_scoring import Choice
from pipeline.evaluate.records import Evaluation
from pipeline.evaluate.replay_engine import ReplayEngine
from pipeline.formats.files import folder_digests, link_or_copy, read_json
from pipeline.formats.nested import differing
from pipeline.formats.plural import counted
from pipeline.formats.records import damage
from pipeline.judge.recorded import read_table
from pipeline.rules.listed import is_gold
from pipeline.rules.reading import Reading, read_all
from pipeline.stages import report
from pipeline.stages.common import Stage
from pipeline.stages.evaluate import asked
from pipeline.stages.expanded import everything
from pipeline.stages.judge import judged
from pipeline.stages.scoring import ModelRun, ask_columns, write_scores
from pipeline.tasks import registry
from pipeline.tom.question import WhereQuestion


def differences(folder: Path) -> dict[str, str]:
    """What of a bundle does not hold, by name: the data, or what follows from the answers."""
    return _unlike_the_study(folder) or _recomputed(folder)


def _unlike_the_study(folder: Path) -> dict[str, str]:
    """What is not what the study made, by name: by the digests of DVC, and by the belief engine.

    Digests can be forged with the rest; the gold answers of generated questions cannot, as the
    engine finds them again in their stories.
    """
    found = {}
    for out, digest in _data_of(folder / "dvc.lock"):
        if (folder / out).is_dir() and _dvc_digest(folder / out) != digest:
            found[out] = "is not what the study made, by its digest in dvc.lock"
    params = everything(folder)
    for name, column in params.suite.columns.items():
        path = folder / "data" / params.study.name / "suite" / f"{name}.parquet"
        if registry.get(column.task).count is None and path.is_file():
            otherwise = [each for each in map(_otherwise, read_all(read_examples(path))) if each]
            if otherwise:
                found[f"{path.relative_to(folder)}"] = (
                    f"{counted(len(otherwise), 'gold answer')} not what the belief engine finds; "
                    f"the first is {otherwise[0]}"
                )
    return found


def _data_of(lock: Path) -> Iterator[tuple[str, str]]:
    """Yield folders of data that stages made, with their digests."""
    for stage in yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"].values():
        for out in stage.get("outs", ()):
            if out["path"].startswith("data/"):
                yield out["path"], out["md5"]


def _dvc_digest(folder: Path) -> str:
    """The digest that DVC has for a folder: of the list of its files with their MD5."""
    rows = [
        {"md5": hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest(), "relpath": name}
        for name, path in sorted(
            (path.relative_to(folder).as_posix(), path)
            for path in folder.rglob("*")
            if path.is_file()
        )
    ]
    return hashlib.md5(json.dumps(rows).encode(), usedforsecurity=False).hexdigest() + ".dir"


def _otherwise(reading: Reading) -> str | None:
    """A gold answer beside what the belief engine says, where these differ."""
    surface, example = reading.surface, reading.example
    if surface is None or not isinstance(surface.question, WhereQuestion):
        return None
    said = surface.question.answer(surface.world)
    if said is None or is_gold(said, example):
        return None
    return f"{example.answer!r}, where the engine finds {said!r}"


def _recomputed(folder: Path) -> dict[str, str]:
    """What files of a bundle say otherwise than what follows from its answers, by their names."""
    with TemporaryDirectory(prefix="tomrl-verify-") as name:
        root = Path(name)
        shutil.copytree(folder, root, copy_function=link_or_copy, dirs_exist_ok=True)
        try:
            params = everything(root)
            for key in params.cells:
                stage = Stage("evaluate", root, params)
                _grade(stage, key)
                judged(stage, key).write(stage.runs / key / "judge")
            page = root / "reports" / params.study.name
            report.write(Stage("report", root, params), collect(params, root), page)
        except UserError as error:  # it names files where they were taken to
            raise UserError(str(error).replace(f"{root}/", "")) from None
        differing = dict(folder_digests(folder).items() ^ folder_digests(root).items())
        found = {name: _compared(folder / name, root / name) for name in sorted(differing)}
        return {name: text for name, text in found.items() if text}


def _grade(stage: Stage, key: str) -> None:
    """Grade the answers of a cell; versions of libraries stay those that are recorded."""
    folder, made_by = stage.runs / key / "evaluate", f"evaluate@{key}"
    cell, columns = stage.params.cell(key), stage.params.suite.columns
    scores = Evaluation.read_of(folder / "metrics.json", columns, made_by)
    ran = ModelRun(scores.engine, scores.libraries)
    if scores.absent is None:
        put, recorded = asked(stage, cell), _Recorded(folder / "responses.parquet", made_by)
        asked_again = ask_columns(recorded, cell, put, f"verify {key}")
        ran = replace(asked_again, engine=scores.engine, libraries=scores.libraries)
    again = write_scores(folder, cell, ran, absent=scores.absent, along=scores.along)
    again.model_copy(update={"libraries": scores.libraries}).write(folder / "metrics.json")


class _Recorded(ReplayEngine):
    """The engine of the answers of a cell, in the order in which they were asked for."""

    def __init__(self, path: Path, made_by: str) -> None:
        super().__init__(path, "")
        rows: Any = read_table(path, ("id", "response"), made_by)
        self._rows = rows.drop(columns="prompt_digest", errors="ignore").to_dict("records")
        self._other = damage(path, "it answers other questions than the study asks", made_by)

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        """The answers, which must be to these prompts."""
        if [row["id"] for row in self._rows] != [prompt.question for prompt in prompts]:
            raise self._other
        report(len(prompts))
        return [self._response(row, put) for row, put in zip(self._rows, prompts, strict=True)]

    def log_likelihoods(
        self, choices: Sequence[Choice], report: Callable[[int], None]
    ) -> list[tuple[float, ...]]:
        """What is recorded of the options of questions."""
        scored = (row.get("option_logprobs") for row in self._rows)
        found = [tuple(map(float, each)) for each in scored if each is not None]
        if len(found) != len(choices):
            raise self._other
        return found


def _compared(there: Path, again: Path) -> str:
    """What a file says otherwise than when it is made again; nothing if it is packed otherwise."""
    if not there.is_file() or not again.is_file():
        return "is not computed" if there.is_file() else "is not there, but computed"
    if there.suffix in (".html", ".js"):
        return "" if _unpacked(there) == _unpacked(again) else "is not what is computed"
    if there.suffix not in (".parquet", ".json"):
        return "is not what is computed"
    places = list(differing(_values(there), _values(again)).items())
    if not places:
        return "is written in another way"
    place, (found, computed) = places[0]
    more = f"; and {len(places) - 1} more" if places[1:] else ""
    return f"{place}: found {found!r:.80}; computed: {computed!r:.80}{more}"


def _unpacked(path: Path) -> str:
    """The text of a page or a part, as it stands if something in it cannot be unpacked."""
    text = path.read_text("utf-8", errors="replace")
    try:
        return unpacked(text)
    except (ValueError, OSError, EOFError, zlib.error):
        return text


def _values(path: Path) -> Mapping[str, object]:
    """What a JSON file or a table says, by where it stands there."""
    from pyarrow.parquet import read_table as read  # type: ignore[import-untyped]

    found = read_json(path) if path.suffix == ".json" else read(path).to_pylist()
    return found if isinstance(found, dict) else {str(n): row for n, row in enumerate(found)}
