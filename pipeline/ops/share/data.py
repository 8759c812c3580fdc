"""The data of a study as ``datasets`` loads them, parquet files with a card, and as Croissant.

That is a vocabulary for files: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import DatasetCard, DatasetCardData
from pyarrow import Field, types  # type: ignore[import-untyped]
from pyarrow.parquet import read_schema  # type: ignore[import-untyped]

from pipeline.config.params import Params
from pipeline.formats.files import file_digest, write_json
from pipeline.ops.share.licences import TAGS, licence_of, licences_of_sets

CROISSANT = "croissant.json"
_TERMS = "column extract field fileObject jsonPath recordSet repeated source subField transform"
_CONTEXT = {
    **{name: f"cr:{name}" for name in _TERMS.split()},
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
}
"""What the specification's context says of the terms that are used here."""


def write_data(params: Params, root: Path, folder: Path) -> int:
    """Write a study's training sets and suite, which may be passed on; count the files."""
    quoted, sets = licences_of_sets(params, to_train=True), dict[str, dict[str, str]]()
    for key in params.dataset:
        sets[key] = {each: f"combos/{key}/{each}.parquet" for each in ("train", "validation")}
    for name in params.suite.columns:
        sets[f"suite-{name}"] = {"test": f"suite/{name}.parquet"}
    files = {f"{name}-{split}": file for name, own in sets.items() for split, file in own.items()}
    for file in files.values():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / "data" / params.study.name / file, folder / file)
    configs = [
        {"config_name": name, "data_files": [{"split": each, "path": own[each]} for each in own]}
        for name, own in sets.items()
    ]
    head = DatasetCardData(
        license=licence_of(quoted),
        language=["en"],
        pretty_name=params.study.title,
        tags=TAGS,
        configs=configs,
    )
    card = (root / "runs" / params.study.name / "audit" / "card.md").read_text(encoding="utf-8")
    DatasetCard(f"---\n{head}\n---\n\n{card}").save(folder / "README.md")
    write_json(folder / CROISSANT, _croissant(params, files, quoted, folder))
    return len(files)


def _croissant(
    params: Params, files: Mapping[str, str], quoted: Mapping[str, str], folder: Path
) -> dict[str, Any]:
    upstream = "; ".join(map(": ".join, quoted.items())) or "none, generated"
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"tomrl-{params.study.name}",
        "description": f"{params.study.title}. Upstream data: {upstream}.",
        "license": f"https://spdx.org/licenses/{licence_of(quoted).upper()}.html",
        "version": "1.0.0",
        "distribution": [
            _node("FileObject", name)
            | {"contentUrl": file, "encodingFormat": "application/x-parquet"}
            | {"sha256": file_digest(folder / file)}
            for name, file in files.items()
        ],
        "recordSet": [
            _node("RecordSet", f"{name}-rows")
            | {"field": [_field(name, f"{name}-rows", each) for each in read_schema(folder / file)]}
            for name, file in files.items()
        ],
    }


def _node(kind: str, own: str) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": own, "name": own.rpartition("/")[2]}


def _field(file: str, above: str, field: Field, column: str = "") -> dict[str, Any]:
    """A column of a file, or a part of one."""
    inner = field.type.value_type if types.is_list(field.type) else field.type
    found = _node("Field", f"{above}/{field.name}")
    if types.is_list(field.type):
        found["repeated"] = True
    if types.is_struct(inner):
        parts = [_field(file, found["@id"], each, column or field.name) for each in inner]
        return found | {"subField": parts}
    source = {"fileObject": {"@id": file}, "extract": {"column": column or field.name}}
    found["dataType"] = "sc:Integer" if types.is_integer(inner) else "sc:Text"
    part = {"transform": {"jsonPath": field.name}} if column else {}
    return found | {"source": source | part}
