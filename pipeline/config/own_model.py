"""A study with the user's own model."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.study import Study

_LONGEST = 30  # characters of its key, which is part of those of cells


def with_model(study: Study, root: Path, place: Path) -> Study:
    """A copy of the study with one model, from a folder in Hugging Face layout or a GGUF file."""
    found = place.resolve()
    path = os.path.relpath(found, root.resolve())
    if (found / "config.json").is_file():
        model = {"kind": "folder", "path": path}
    elif found.is_file() and found.suffix == ".gguf":
        model = {"kind": "gguf", "file": path}
    else:
        is_there = "no config.json in it" if found.is_dir() else "no such folder"
        raise UserError(
            f"--model {place}: found {'a file' if found.is_file() else is_there}; allowed: a "
            "folder of Hugging Face's layout, which has config.json, or a file NAME.gguf"
        )
    name = found.name.removesuffix(".gguf").lower()
    key = re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:_LONGEST].strip("-") or "model"
    content = study.model_dump(mode="json")
    content["base"]["models"] = {key: {**model, "title": key}}
    content["grid"] |= {"models": [key], "evaluate_only": []}
    return Study.model_validate(content)
