"""What the command line says, run in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from pipeline.cli.app import app


def tomrl(*words: object, columns: int = 80) -> str:
    """What a command prints; its errors are raised, and it must end well."""
    typed = [str(word) for word in words]
    result = CliRunner().invoke(app, typed, catch_exceptions=False, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.output
