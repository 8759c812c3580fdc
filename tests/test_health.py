"""The parts of the check: each finds what is as it should be, and names what is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline import health
from pipeline.data.sources import SOURCES
from pipeline.download import MIRROR_VARIABLE
from pipeline.ports import free_ports


def test_a_result_that_was_altered(checkout: Path) -> None:
    """DVC's own comparison: a fresh checkout has none of the results, which is no fault."""
    (fresh,) = health.results(checkout)
    assert fresh.ok is None and "not on this disk" in fresh.found
    card = checkout / "runs" / "mini" / "base" / "nano" / "card.json"
    card.parent.mkdir(parents=True)
    card.write_text("{}")
    altered, _ = health.results(checkout)
    assert altered.ok is False
    assert altered.found == "altered: runs/mini/base/nano/card.json"


def test_upstream_files_are_held_against_their_digests(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = SOURCES["hi_tom"].files[1].name
    (tmp_path / "mirror" / "hi_tom").mkdir(parents=True)
    kept = Path(shutil.copy(mirror / "hi_tom" / world, tmp_path / "mirror" / "hi_tom"))
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror"))
    found = {each.subject: each for each in health.kept_files(tmp_path)}
    assert found["files of hi_tom"].ok and found["files of hi_tom"].found == "1 file as pinned"
    assert found["files of tomi"].ok is None
    kept.write_bytes(kept.read_bytes().swapcase())
    found = {each.subject: each for each in health.kept_files(tmp_path)}
    assert found["files of hi_tom"].ok is False
    assert f"{kept}: altered" in found["files of hi_tom"].found


def test_servers_that_do_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = free_ports(2)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{first}")
    monkeypatch.setenv("RAY_ADDRESS", f"http://127.0.0.1:{second}")
    mlflow, ray = health.servers(tmp_path)
    assert mlflow.ok is False and f"http://127.0.0.1:{first} does not answer" in mlflow.found
    assert ray.ok is False and f"http://127.0.0.1:{second} does not answer" in ray.found


def test_looking_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert [each.ok for each in health.servers(tmp_path)] == [None, None]
    assert list(tmp_path.iterdir()) == []


def test_room_on_the_disks(tmp_path: Path) -> None:
    assert all(each.ok for each in health.disk(tmp_path, 0))
    wanting = list(health.disk(tmp_path, 1e9))
    assert [each.ok for each in wanting] == [False] * 3
    assert all("1e+09 wanted" in each.found and each.repair for each in wanting)
