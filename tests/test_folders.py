"""Folders in which nothing came to lie do not outlast what they were made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.base.folders import folder_of
from pipeline.base.locks import locked
from pipeline.formats.files import replacing


def test_what_failed_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError), locked(tmp_path / "work" / "sweeps" / "a.lock"):
        raise UserError("refused")
    with pytest.raises(UserError), replacing(tmp_path / "runs" / "mini" / "a.json") as file:
        file.write_text("half")
        raise UserError("refused")
    assert not list(tmp_path.iterdir())


def test_folders_that_were_there_or_are_used_stay(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with locked(tmp_path / "work" / "a" / "b.lock"):
        (tmp_path / "work" / "a" / "kept").write_text("")
    with folder_of(tmp_path / "work" / "empty" / "deep" / "file"):
        assert (tmp_path / "work" / "empty" / "deep").is_dir()
    assert sorted(p.name for p in (tmp_path / "work").rglob("*")) == ["a", "kept"]
