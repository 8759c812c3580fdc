"""The table of a sweep: live on a terminal, nothing of it in a file."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from flows.driver.progress import CellState
from flows.sweeps.record import Sweep, SweepFolder
from pipeline.base.ownership import owned
from pipeline.cli.sweep_table import shown_live
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study
from pipeline.formats.files import write_text
from tests.conftest import TINY


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    made = SweepFolder(tmp_path, "mini")
    made.write(Sweep(name="mini", study="mini", commit="0", edited=[], began=""))
    write_text(made.params_file, params_text(find_study(TINY, "mini")))
    made.note("nano-base", CellState(state="done", attempts=1))
    made.note("micro-hi", CellState(state="failed", attempts=2, stage="train", cause="no rows"))
    return made


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What Prefect's lines are shown on."""
    file = io.StringIO()
    handler, log = logging.StreamHandler(file), logging.getLogger()
    log.addHandler(handler)
    yield file
    log.removeHandler(handler)


def shown(folder: SweepFolder, *, terminal: bool) -> str:
    """What is on the screen after a cell has begun to train."""
    file = io.StringIO()
    prefect = logging.getLogger("prefect.sweep")
    prefect.setLevel(logging.INFO)
    screen = Console(file=file, force_terminal=terminal, width=100)
    with owned(folder.path), shown_live(folder, screen):
        prefect.info("within")
        running = CellState(state="running", attempts=1, stage="train", step=3, steps=12)
        folder.note("nano-hi", running)
    prefect.info("after")
    return file.getvalue()


def test_a_terminal_shows_what_runs_and_what_failed(
    folder: SweepFolder, lines: io.StringIO
) -> None:
    text = shown(folder, terminal=True)
    assert "train  3/12" in text and "failed in train: no rows" in text
    assert "1 done, 1 failed, 1 running, 1 waiting" in text
    assert "nano-base" not in text
    assert lines.getvalue() == "after\n"


def test_a_log_file_has_lines_alone(folder: SweepFolder, lines: io.StringIO) -> None:
    assert shown(folder, terminal=False) == ""
    assert lines.getvalue() == "within\nafter\n"
