"""Reading YAML files, with every mistake named at once."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from pipeline.errors import UserError


def read_yaml(path: Path) -> object:
    """Return the content of a YAML file.

    Raises:
        UserError: If it is missing or not YAML.
    """
    try:
        content: object = yaml.safe_load(path.read_text(encoding="utf-8"))
        return content
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; write it with: tomrl study use NAME") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid YAML: {error}") from None


def mistakes_in(path: Path, lines: list[str]) -> UserError:
    """Return the error that lists the mistakes in a file."""
    count = f"{len(lines)} mistake{'s' if len(lines) > 1 else ''}"
    return UserError(f"{path} has {count}:\n" + "\n".join(f"  - {line}" for line in lines))


def mistake_lines(error: ValidationError) -> list[str]:
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


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
