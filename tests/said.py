"""What the command line says, run in this process."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner, Result

from pipeline.cli.app import app


def tomrl(*words: object, columns: int = 80) -> str:
    """What a command prints; its errors are raised, and it must end well."""
    return _ran(words, columns).output


def told(*words: object) -> Any:
    """What a command prints as JSON, likewise."""
    return json.loads(_ran((*words, "--json"), 80).stdout)


def _ran(words: tuple[object, ...], columns: int) -> Result:
    typed = [str(word) for word in words]
    result = CliRunner().invoke(app, typed, catch_exceptions=False, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result
