"""What machines, users and terminals are like: who may read, how wide, which language."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from pipeline.base.locks import locked
from pipeline.cli.app import app
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.formats.files import replacing, write_json, write_text
from pipeline.model.weights import write_tensors

UMASKS = (0o000, 0o002, 0o007, 0o022, 0o027, 0o077)
WIDTHS = ("0", "-5", "", "x", "1", "44", "60", "80", "1000")


def _table(path: Path) -> None:
    with replacing(path) as file:
        pd.DataFrame({"a": [1]}).to_parquet(file)


def _folder(path: Path) -> None:
    with replacing(path) as folder:
        folder.mkdir()


WRITERS: Mapping[str, Callable[[Path], None]] = {
    "text": lambda path: write_text(path, "a"),
    "JSON": lambda path: write_json(path, {}),
    "table": _table,
    "folder": _folder,
    "weights": lambda path: write_tensors(path, {"a": torch.zeros(1)}),
}


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
@pytest.mark.parametrize("writer", WRITERS)
def test_the_umask_says_who_may_read(writer: str, mask: int, tmp_path: Path) -> None:
    with umask(mask):
        WRITERS[writer](tmp_path / "made")
        with locked(tmp_path / "a.lock"):
            lock = (tmp_path / "a.lock").stat().st_mode & 0o777
    made = (tmp_path / "made").stat().st_mode & 0o777
    assert made == (0o777 if writer == "folder" else 0o666) & ~mask
    assert lock == 0o666 & ~mask


@pytest.mark.parametrize("columns", [width for width in WIDTHS if width not in ("0", "1")])
def test_tables_are_shown_in_terminals_that_have_room_for_a_letter_of_each_column(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = make_table(None, ("model", "study", "state"), ("weights", "steps", "size"))
    for number in range(5):
        table.add_row(f"nano-{number}", "mini", "as stated", "", "1,500", "1.6 MB")
    Terminal().print(table)
    flat = "".join(capsys.readouterr().out.split())
    assert all(f"nano-{number}" in flat for number in range(5))
    assert flat.count("1,500") == 5


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_repair_is_shown_whole_in_terminals_of_any_width(columns: str, tmp_path: Path) -> None:
    """A path is what is cut first."""
    mirror = tmp_path / ("a-long-name-" * 8)
    mirror.mkdir()
    variables = {"COLUMNS": columns, "TOMRL_DATA_MIRROR": str(mirror)}
    shown = CliRunner().invoke(app, ["doctor"], env=variables)
    assert "…" not in shown.output
