"""The data of a study as ``datasets`` loads them: parquet files with a card."""

from __future__ import annotations

import shutil
from pathlib import Path

from huggingface_hub import DatasetCard, DatasetCardData

from pipeline.config.params import Params
from pipeline.ops.share.licences import TAGS, licence_of, licences_of_sets


def write_data(params: Params, root: Path, folder: Path) -> int:
    """Write a study's training sets and suite, which may be passed on; count the files."""
    quoted, sets = licences_of_sets(params, to_train=True), dict[str, dict[str, str]]()
    for key in params.dataset:
        sets[key] = {each: f"combos/{key}/{each}.parquet" for each in ("train", "validation")}
    for name in params.suite.columns:
        sets[f"suite-{name}"] = {"test": f"suite/{name}.parquet"}
    files = [file for own in sets.values() for file in own.values()]
    for file in files:
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
    return len(files)
