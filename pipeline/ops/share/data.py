"""The data of a study as others load them: parquet files, a card, and Croissant metadata.

``datasets`` reads the folder by the head of its card. Croissant is MLCommons' vocabulary for what
is in the files: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import DataType, types  # type: ignore[import-untyped]
from pyarrow.parquet import read_schema  # type: ignore[import-untyped]

from pipeline.config.params import Params
from pipeline.config.yaml_file import write_yaml
from pipeline.formats.files import file_digest, write_json
from pipeline.ops.share.licences import licence_of, licences, sources_of_sets

CROISSANT = "croissant.json"
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex "
    "repeated replace samplingRate separator source subField transform"
)
_CONTEXT = {
    **{name: f"cr:{name}" for name in _TERMS.split()},
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
"""As the specification asks for it, word for word."""


class Table(NamedTuple):
    """A parquet file: a split of a training set, or a column of the suite."""

    group: str
    split: str
    file: str

    @property
    def id(self) -> str:
        """Its name in the metadata."""
        return f"{self.group}-{self.split}"


def write_data(params: Params, root: Path, folder: Path) -> int:
    """Write the training sets and the suite of a study into an empty folder; count the files.

    Raises:
        UserError: If some of them may not be passed on.
    """
    sources = sources_of_sets(params, to_train=True)
    tables = list(_tables(params))
    for table in tables:
        (folder / table.file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / "data" / params.study.name / table.file, folder / table.file)
    licence = licence_of(sources)
    card = root / "runs" / params.study.name / "audit" / "card.md"
    text = f"---\n{write_yaml(_head(params, tables, licence))}---\n\n"
    (folder / "README.md").write_text(text + card.read_text(encoding="utf-8"), encoding="utf-8")
    write_json(folder / CROISSANT, _croissant(params, tables, licence, sources, folder))
    return len(tables)


def _tables(params: Params) -> Iterator[Table]:
    for key in params.dataset:
        for split in ("train", "validation"):
            yield Table(key, split, f"combos/{key}/{split}.parquet")
    for column in params.suite.columns:
        yield Table(f"suite-{column}", "test", f"suite/{column}.parquet")


def _head(params: Params, tables: list[Table], licence: str) -> dict[str, Any]:
    """What the hub and ``datasets`` read of a card."""
    files: dict[str, list[dict[str, str]]] = {}
    for table in tables:
        files.setdefault(table.group, []).append({"split": table.split, "path": table.file})
    return {
        "license": licence,
        "language": ["en"],
        "pretty_name": params.study.title,
        "tags": ["theory-of-mind", "tomrl"],
        "configs": [{"config_name": name, "data_files": each} for name, each in files.items()],
    }


def _croissant(
    params: Params, tables: list[Table], licence: str, sources: list[str], folder: Path
) -> dict[str, Any]:
    quoted = "; ".join(f"{name}: {', '.join(each)}" for name, each in licences(sources).items())
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"tomrl-{params.study.name}",
        "description": f"{params.study.title}. Upstream data: {quoted or 'none, generated'}.",
        "license": f"https://spdx.org/licenses/{licence.upper()}.html",
        "version": "1.0.0",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": table.id,
                "name": table.id,
                "contentUrl": table.file,
                "encodingFormat": "application/x-parquet",
                "sha256": file_digest(folder / table.file),
            }
            for table in tables
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": f"{table.id}-rows",
                "name": f"{table.id}-rows",
                "field": [
                    _field(table.id, field.name, field.type)
                    for field in read_schema(folder / table.file)
                ],
            }
            for table in tables
        ],
    }


def _field(
    table: str, name: str, kind: DataType, column: str = "", part: str = ""
) -> dict[str, Any]:
    """A column of a file, or a part of one."""
    inner = kind.value_type if types.is_list(kind) else kind
    own = "/".join(filter(None, (f"{table}-rows", column, name)))
    found: dict[str, Any] = {"@type": "cr:Field", "@id": own, "name": name}
    if types.is_list(kind):
        found["repeated"] = True
    if types.is_struct(inner):
        fields = [_field(table, each.name, each.type, column or name, each.name) for each in inner]
        return found | {"subField": fields}
    source = {"fileObject": {"@id": table}, "extract": {"column": column or name}}
    return found | {
        "dataType": "sc:Integer" if types.is_integer(inner) else "sc:Text",
        "source": source | ({"transform": {"jsonPath": part}} if part else {}),
    }
