"""Reading study files and ``params.yaml``, with every mistake named at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pipeline.config.params import Params, lookup
from pipeline.config.study import Study, reference_mistakes
from pipeline.errors import UserError


def load_study(path: Path) -> Study:
    """Read and validate a study file.

    Raises:
        UserError: With every mistake in the file: field, value found, values allowed.
    """
    content = _read_yaml(path)
    mistakes = reference_mistakes(content)
    try:
        study = Study.model_validate(content)
    except ValidationError as error:
        raise _mistakes_in(path, [*_lines(error), *mistakes]) from None
    if mistakes:
        raise _mistakes_in(path, mistakes)
    return study


def read_params(path: Path = Path("params.yaml")) -> Params:
    """Read and validate ``params.yaml``.

    Raises:
        UserError: With every mistake in the file.
    """
    try:
        return Params.model_validate(_read_yaml(path))
    except ValidationError as error:
        raise _mistakes_in(path, _lines(error)) from None


def dump_params(params: Params) -> str:
    """Return the text of ``params.yaml``."""
    head = (
        f"# The study {params.study.name}, expanded: written by `tomrl study use "
        f"{params.study.name}`.\n# Edit one entry (or `dvc exp run -S KEY=VALUE`) to rerun what "
        "depends on it.\n"
    )
    body = params.model_dump(mode="json", exclude_none=False)
    return head + yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=100)


def study_files(root: Path) -> dict[str, Path]:
    """Return the study files of a checkout by name."""
    return {path.stem: path for path in sorted((root / "studies").glob("*.yaml"))}


def find_study(root: Path, name: str) -> Study:
    """Load a study of the checkout by name.

    Raises:
        UserError: If there is none of this name; lists those there are.
    """
    return load_study(lookup(study_files(root), name, f"study file in {root / 'studies'}:"))


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; write it with: tomrl study use NAME") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid YAML: {error}") from None


def _mistakes_in(path: Path, lines: list[str]) -> UserError:
    count = f"{len(lines)} mistake{'s' if len(lines) > 1 else ''}"
    return UserError(f"{path} has {count}:\n" + "\n".join(f"  - {line}" for line in lines))


def _lines(error: ValidationError) -> list[str]:
    """Return one line per mistake: field, value found, values allowed."""
    lines = []
    for mistake in error.errors():
        field = ".".join(str(part) for part in mistake["loc"])
        context = mistake.get("ctx", {})
        match mistake["type"]:
            case "value_error":
                lines.append(f"{field}: {context['error']}")
            case "missing":
                lines.append(f"{field}: found nothing; it is required")
            case "extra_forbidden":
                lines.append(f"{field}: there is no such field; remove it or correct its name")
            case _:
                allowed = context.get("expected") or context.get("expected_tags") or mistake["msg"]
                lines.append(f"{field}: found {_short(mistake['input'])}; allowed: {allowed}")
    return lines


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
