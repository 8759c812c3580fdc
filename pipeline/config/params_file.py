"""``params.yaml``: a study, and the entries of its cells.

``tomrl study use`` writes it. Beside the study it has the values of ``dvc.yaml``'s templates:
combinations, base models, and inputs of each cell. A cell's entry may also override settings; all
else follows from the study, so the file of a thousand cells is read in a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, model_validator

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.mistakes import (
    Mistake,
    Mistaken,
    Place,
    as_error,
    mistakes_of,
    shown,
    wrong,
)
from pipeline.config.params import AnyCell, Cell, Params
from pipeline.config.reading import check_document
from pipeline.config.section import FolderKey, Key, Listed, Section
from pipeline.config.study import Study
from pipeline.config.yaml_file import parse_yaml, read_bytes, write_yaml
from pipeline.formats.files import digest_of

_LONGEST = 300
"""Maximum characters of a list of names in a message."""
_ENTRIES = ("combos", "models", "cells")
_DIGEST = "# sha256 of the values below, as written:"
"""What the head of the file says of them, so that edits are noticed and not written over."""
_LINE = ("model", "base", "weights", "inputs")
"""Fields of a cell's entry for ``dvc.yaml``."""
_cell: TypeAdapter[Cell] = TypeAdapter(AnyCell)


class CellEntry(Section):
    """Inputs of a cell, with its own settings.

    Attributes:
        base: Manifest of its initial model.
        weights: Folder of the initial weights.
        inputs: Folder that its training reads.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    base: str
    weights: str
    inputs: str

    @property
    def own(self) -> dict[str, Any]:
        """Settings for this cell alone, as in :class:`~pipeline.config.params.Cell`."""
        return self.model_extra or {}

    @model_validator(mode="after")
    def _starts_as_its_arm_says(self) -> CellEntry:
        if self.own.get("starts_from") is not None:
            text = (
                "a cell cannot be given a start of its own; name it in its arm "
                "(grid.arms.ARM.starts_from), where it is a cell of the same model and seed"
            )
            raise Mistaken([Mistake(("starts_from",), text)])
        return self


class ParamsFile(Study):
    """The content of ``params.yaml``: keys of training data, inputs of base models, and cells."""

    combos: Listed[Key]
    models: dict[Key, str]
    cells: dict[FolderKey, CellEntry]


def read_params(path: Path = Path("params.yaml")) -> Params:
    """Read and validate ``params.yaml``; the UserError lists every mistake."""
    return parse_params(path, read_bytes(path))


def parse_params(path: Path, data: bytes) -> Params:
    """Parameters from the bytes of a file; the UserError lists every mistake."""
    document = parse_yaml(path, data)
    written = check_document(path, document, ParamsFile)
    params = expand(written)
    mistakes = list(_not_of_the_grid(written, params))
    cells = {key: cell for key, cell in params.cells.items() if key in written.cells}
    for key, entry in written.cells.items():
        if entry.own and key in cells:
            whole = _merged(cells[key].model_dump(mode="json"), entry.own)
            try:
                cells[key] = _cell.validate_python(whole)
            except ValidationError as error:
                mistakes += (each.within("cells", key) for each in mistakes_of(error, whole))
            for field, there in (("model", params.base), ("combination", params.dataset)):
                if (name := getattr(cells[key], field)) not in (None, *there):
                    mistakes.append(wrong(("cells", key, field), name, ", ".join(there)))
    if mistakes:
        raise as_error(path, mistakes, document.line)
    return params.model_copy(
        update={
            "dataset": {key: params.dataset[key] for key in written.combos},
            "base": {key: params.base[key] for key in written.models},
            "cells": cells,
        }
    )


def params_text(study: Study) -> str:
    params = expand(study)
    head = (
        f"# The study {study.name}: written by `tomrl study use {study.name}`.\n"
        "# Edit it, or try a change with `dvc exp run -S KEY=VALUE`: train.steps=20 is for all\n"
        "# cells, ++cells.CELL.train.steps=20 for one.\n"
    )
    entries = {
        "combos": list(params.dataset),
        "models": {key: entry.inputs for key, entry in params.base.items()},
        "cells": {key: _line(params, cell) for key, cell in params.cells.items()},
    }
    return _text(head, study.model_dump(mode="json"), entries)


def is_as_written(path: Path, data: bytes) -> bool:
    """Whether a ``params.yaml`` holds what a command has written, in whatever form.

    Raises:
        UserError: If it cannot be read.
    """
    return f"{_DIGEST} {digest_of(parse_yaml(path, data).content)}".encode() in data.splitlines()


def _text(head: str, study: Mapping[str, Any], entries: Mapping[str, Any]) -> str:
    """The text of ``params.yaml``, with the digest of what it holds below its head."""
    digest = digest_of({**study, **entries})
    body = write_yaml(study) + write_yaml(dict(entries), flow=None)
    return f"{head}{_DIGEST} {digest}\n{body}"


def with_settings(path: Path, data: bytes, settings: Iterable[str]) -> str:
    """The text of ``params.yaml`` with other values, for all cells; the UserError has all mistakes.

    ``settings`` are ``KEY=VALUE`` with a dotted key, such as ``train.steps=20``. Comments at the
    top of ``data`` stay.
    """
    content: Any = parse_yaml(path, data).content
    for setting in settings:
        key, equals, value = setting.partition("=")
        *sections, name = key.split(".")
        section = content
        for each in sections:
            section = section.get(each) if isinstance(section, dict) else None
        if not equals or not isinstance(section, dict):
            raise UserError(
                f"--set {setting}: write KEY=VALUE with a key of {path.name}, such as "
                "--set train.steps=20"
            )
        given: Any = parse_yaml(Path(f"--set {key}"), f"{name}: {value}".encode()).content
        section[name] = given[name]
    entries = {name: content.pop(name) for name in _ENTRIES if name in content}
    lines = data.decode().splitlines(keepends=True)
    head = [*takewhile(lambda line: line.startswith("#"), lines)]
    written = "".join(head) + write_yaml(content)
    study = check_document(path, parse_yaml(path, written.encode()), Study)
    if isinstance(models := entries.get("models"), dict):
        base = expand(study).base
        models.update({key: base[key].inputs for key in models if key in base})
    kept = "".join(line for line in head if not line.startswith(_DIGEST))
    text = _text(kept, content, entries)
    parse_params(path, text.encode())
    return text


def _line(params: Params, cell: Cell) -> dict[str, str]:
    said = (cell.model, cell.base, params.weights_before(cell), cell.inputs)
    return dict(zip(_LINE, said, strict=True))


def _merged(whole: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return whole | {
        name: _merged(whole[name], value)
        if isinstance(value, dict) and isinstance(whole.get(name), dict)
        else value
        for name, value in own.items()
    }


def _not_of_the_grid(written: ParamsFile, params: Params) -> Iterator[Mistake]:
    """Yield entries for ``dvc.yaml`` that contradict the study; missing ones are not run."""
    for number, key in enumerate(written.combos):
        if key not in params.dataset:
            yield _unlike(("combos", number), key, ", ".join(params.dataset), written)
    for key, inputs in written.models.items():
        base = params.base.get(key)
        if base is None:
            yield _unlike(("models", key), key, ", ".join(params.base), written)
        elif inputs != base.inputs:
            yield _unlike(("models", key), inputs, base.inputs, written)
    for key, entry in written.cells.items():
        yield from _unlike_its_cell(key, entry, params, written)


def _unlike_its_cell(
    key: str, entry: CellEntry, params: Params, written: ParamsFile
) -> Iterator[Mistake]:
    cell = params.cells.get(key)
    if cell is None:
        yield _unlike(("cells", key), key, ", ".join(params.cells), written)
        return
    for field, expected in _line(params, cell).items():
        if (found := getattr(entry, field)) != expected:
            yield _unlike(("cells", key, field), found, expected, written)
    if cell.model not in written.models:
        yield wrong(
            ("cells", key, "model"), cell.model, f"those of models: {', '.join(written.models)}"
        )
    if cell.combination is not None and cell.combination not in written.combos:
        text = f"its training data {cell.combination} is not in combos; add it there"
        yield Mistake(("cells", key), text)


def _unlike(place: Place, found: str, allowed: str, written: ParamsFile) -> Mistake:
    short = allowed if len(allowed) <= _LONGEST else f"{allowed[:_LONGEST]}..."
    text = f"found {shown(found)}; allowed by the study's grid: {short}. Change the grid in "
    text += f"studies/{written.name}.yaml, and run: tomrl study use {written.name}"
    return Mistake(place, text)
