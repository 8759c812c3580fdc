"""The parts of the check: each finds what is as it should be, and names what is not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.base.ports import free_ports
from pipeline.data.sources import SOURCES
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.formats.files import write_json
from pipeline.formats.provenance import installed
from pipeline.ops.check import doctor, health
from tests.serving import Quiet, serving
from tests.sharing.emulator import BUCKET, KEYS, client, emulator


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


def test_results_of_other_libraries_are_named_and_shipped_models_are_none(tmp_path: Path) -> None:
    study = tmp_path / "runs" / "mini"
    write_json(study / "base" / "checkpoints.json", {"libraries": {"torch": "1.0"}})
    metrics = study / "nano" / "metrics.json"
    write_json(metrics, {"libraries": installed("torch")})
    (found,) = doctor.libraries(tmp_path)
    assert found.ok and found.found == "made with the installed libraries"
    write_json(metrics, {"libraries": {"torch": "1.0"}})
    (found,) = doctor.libraries(tmp_path)
    assert found.ok is False and "1 file made with torch 1.0, installed is" in found.found
    assert "dvc repro --force" in found.repair


def test_servers_that_do_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = free_ports(2)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{first}")
    monkeypatch.setenv("RAY_ADDRESS", f"http://127.0.0.1:{second}")
    mlflow, ray, *_ = health.servers(tmp_path)
    assert mlflow.ok is False and f"http://127.0.0.1:{first} does not answer" in mlflow.found
    assert ray.ok is False and f"http://127.0.0.1:{second}: no Ray dashboard" in ray.found


def test_remotes_and_prefects_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them answer, then none does."""

    def looked() -> tuple[dict[str, bool | None], str]:
        found = list(health.servers(tmp_path))[2:]
        return {each.subject: each.ok for each in found}, "\n".join(each.found for each in found)

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for words in ("init -q", f"remote add -d lab s3://{BUCKET}/dvc"):
        subprocess.run(["dvc", *words.split()], cwd=tmp_path, check=True)
    (closed,) = free_ports(1)
    with emulator() as url, serving(Healthy) as server:
        client(url).put_object(Bucket=BUCKET, Key="dvc/files/md5/00/1", Body=b"result")
        monkeypatch.setenv("PREFECT_API_URL", f"{server}/api")
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": url, "AWS_MAX_ATTEMPTS": "1"}.items():
            monkeypatch.setenv(name, value)
        found, said = looked()
        assert list(found.values()) == [True, True], said
        monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0.0)  # it asks who it is
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{closed}/api")
        found, said = looked()
        assert list(found.values()) == [False, False], said
        assert f"http://127.0.0.1:{closed}/api does not answer" in said
        assert "lab does not answer" in said


class Healthy(Quiet):
    """What Prefect's server says of itself."""

    def do_GET(self) -> None:
        self.answer(status=200 if self.path == "/api/health" else 404)


def test_looking_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name in ("RAY_ADDRESS", "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)
    assert [each.ok for each in health.servers(tmp_path)] == [None] * 4
    assert list(tmp_path.iterdir()) == []


def test_room_on_the_disks(tmp_path: Path) -> None:
    assert all(each.ok for each in health.disk(tmp_path, 0))
    wanting = list(health.disk(tmp_path, 1e9))
    assert [each.ok for each in wanting] == [False] * 2
    assert all("1e+09 wanted" in each.found and each.repair for each in wanting)
