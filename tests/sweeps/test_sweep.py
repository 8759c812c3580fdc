"""``tomrl sweep``: a real worktree, a real Prefect server, a kill, and the same bytes."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows.driver.graph import Graph
from pipeline.base.ports import free_ports
from pipeline.formats.files import folder_digests
from tests.alive import alive, until
from tests.chaos.study import tracked_in
from tests.conftest import commit, edited, ended_well, environment, type_command
from tests.team.server import answers

pytestmark = pytest.mark.chain
CELLS = ("nano-hi-s0", "nano-hi-s1")


@pytest.fixture(scope="module")
def seeded(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A committed clone with two seeds; what cells share, and ``nano-base``, are in its cache."""
    home = tmp_path_factory.mktemp("sweep")
    target = home / "a clone"
    shutil.copytree(reproduced, target, symlinks=True)
    with edited(target / "studies" / "mini.yaml") as study:
        study["grid"]["seeds"] = [0, 1]
    # A cell that the study has no longer: the report is made again where it reads other results.
    shutil.rmtree(target / "runs" / "mini" / "nano-hi")
    commit(target)
    yield target
    for process in alive(home):
        process.kill()


Said = subprocess.CompletedProcess[str]


def sweep(checkout: Path, *arguments: str, **extra: str) -> Said:
    return type_command(checkout, checkout.parent, "tomrl", "sweep", *arguments, **extra)


def standing(checkout: Path) -> dict[str, Any]:
    said = sweep(checkout, "status", "mini", "--json")
    assert said.returncode == 0, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def state(checkout: Path, key: str) -> str:
    """How far a cell is, read as a file: a command takes longer than some cells."""
    path = checkout / "work" / "sweeps" / "mini" / "cells" / f"{key}.json"
    return str(json.loads(path.read_bytes())["state"]) if path.exists() else "waiting"


@contextmanager
def under_way(checkout: Path, *arguments: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep that has begun with the second cell."""
    shown = checkout.parent / "shown"
    with shown.open("w") as file:
        process = subprocess.Popen(
            ["tomrl", "sweep", *arguments],
            cwd=checkout,
            env={**environment(checkout.parent), **extra},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    running = lambda: state(checkout, CELLS[1]) == "running"  # noqa: E731
    assert until(lambda: running() or process.poll() is not None, 600)
    assert process.poll() is None, shown.read_text()
    yield process
    process.wait(60)
    assert until(lambda: not alive(checkout.parent)), alive(checkout.parent)


def test_a_sweep_does_what_is_missing(reproduced: Path, tmp_path: Path) -> None:
    target = tmp_path / "a clone"
    shutil.copytree(reproduced, target, symlinks=True)
    with edited(target / "studies" / "mini.yaml") as study:
        study["evaluate"]["max_new_tokens"] = 7
    commit(target)
    (target / "pipeline" / "new.py").write_text("")
    refused = sweep(target, "--study", "mini")
    assert refused.returncode == 2 and "not committed: pipeline/new.py" in refused.stderr
    (target / "pipeline" / "new.py").unlink()
    remote = f"{tmp_path / 'remote'}"
    _set_remote(target, f"{target / 'README.md'}/in a file")
    with in_an_outage(target, "2 of 2 cells are left to do") as process:
        assert process.wait(600) == 1, _shown(target)
    assert "all cells are done" in _shown(target) and "cells failed" not in _shown(target)
    assert "push them with: dvc push --run-cache" in " ".join(_shown(target).split())
    logs = target / "work" / "sweeps" / "mini" / "logs"
    for key in ("nano-base", "nano-hi"):
        started = re.findall(r"Running stage '(\w+)@", (logs / f"{key}.log").read_text())
        assert started == ["evaluate", "judge"]
    restored = (logs / "restore.log").read_text()
    assert "didn't change, skipping" in restored  # nothing is even taken from the cache by it
    assert "Running stage" not in restored and "checking out" not in restored
    clean = type_command(target, tmp_path, "dvc", "status")
    assert "Data and pipelines are up to date." in clean.stdout
    found = standing(target)
    assert found["ended"] and found["cells"]["nano-hi"]["state"] == "done"
    for place, status in ((f"{target / 'README.md'}/in a file", 1), ("", 0), (remote, 0)):
        _set_remote(target, place)
        again = sweep(target, "--study", "mini")
        assert again.returncode == status, again.stdout + again.stderr
        assert "study mini is up to date: nothing to run" in again.stdout
        assert ("pushing nothing: no remote" in again.stdout) is (not place)
        said = " ".join(again.stderr.split())
        assert ("push them with: dvc push --run-cache" in said) is bool(status)
    _assert_artifact(tmp_path / "prefect" / "prefect.db")
    _assert_sent_once(target)
    _assert_shared(target, tmp_path / "fresh", remote)


def _assert_artifact(database: Path) -> None:
    """Prefect has the table of results."""
    with closing(sqlite3.connect(database)) as connection:
        query = "select data, description from artifact where key = 'sweep-mini'"
        ((data, description),) = connection.execute(query)
    assert {row["cell"] for row in json.loads(json.loads(data))} == {"nano-hi"}
    assert "[run in MLflow](http://127.0.0.1:" in description and "file:" not in description


def _assert_sent_once(checkout: Path) -> None:
    """What MLflow missed in an outage is sent later, and nothing of it twice."""
    report = (checkout / "work" / "sweeps" / "mini" / "logs" / "report.log").read_text()
    assert "send them later with: tomrl sync" in report
    counts = [tracked_in(checkout)]
    for _ in range(2):
        sent = type_command(checkout, checkout.parent, "tomrl", "sync")
        assert "sent 2 cells: nano-base, nano-hi" in sent.stdout, sent.stderr
        counts.append(tracked_in(checkout))
    missed, once, twice = counts
    assert sum(missed.values()) < sum(once.values()) and once == twice
    assert once["points of one metric at one step"] == once["unfinished runs"] == 0


def _set_remote(checkout: Path, place: str) -> None:
    """Have DVC's default remote at a place, or none."""
    remote = f"[core]\n    remote = o\n['remote \"o\"']\n    url = {place}\n" if place else ""
    (checkout / ".dvc" / "config.local").write_text(remote)


def _assert_shared(checkout: Path, fresh: Path, remote: str) -> None:
    """What a sweep has pushed is all that a fresh clone needs."""
    commit(checkout)  # with what DVC knows now
    for folder, *command in (
        (checkout, "git", "clone", "--quiet", ".", str(fresh)),
        (fresh, "dvc", "remote", "add", "--local", "-d", "o", remote),
        (fresh, "dvc", "fetch", "--run-cache"),
        (fresh, "dvc", "pull"),
    ):
        ended_well(folder, *command)
    for made in ("runs", "weights"):
        assert folder_digests(fresh / made) == folder_digests(checkout / made)


@contextmanager
def in_an_outage(checkout: Path, after: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep that loses its MLflow server once it has said something."""
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    variables = {**environment(checkout.parent), **extra}
    with (
        subprocess.Popen(
            ["tomrl", "ui", "--port", str(port)], cwd=checkout, env=variables
        ) as server,
        (checkout.parent / "shown").open("wb") as shown,
    ):
        assert until(lambda: server.poll() is not None or answers(f"{address}/health"), 300)
        sweeping = subprocess.Popen(
            ["tomrl", "sweep", "--study", "mini"],
            cwd=checkout,
            env={**variables, "MLFLOW_TRACKING_URI": address},
            stdout=shown,
            stderr=subprocess.STDOUT,
        )
        assert until(lambda: sweeping.poll() is not None or after in _shown(checkout), 600)
        server.kill()
        assert after in _shown(checkout), _shown(checkout)
        yield sweeping
        sweeping.kill()


@pytest.mark.nightly
def test_a_sweep_outlives_what_happens_to_it(reproduced: Path, seeded: Path) -> None:
    folder = seeded / "work" / "sweeps" / "mini"
    results = folder / "tree" / "runs" / "mini" / CELLS[1]
    study = seeded / "studies" / "mini.yaml"
    original = study.read_bytes()

    # Two of one name; then it is stopped.
    with under_way(seeded, "--study", "mini", "--concurrency", "2") as first:
        second = sweep(seeded, "--study", "mini")
        assert second.returncode == 2 and f"kill {first.pid}" in second.stderr
        first.terminate()
    assert first.returncode == 143 and "stopped; run it again" in _shown(seeded)
    found = standing(seeded)
    assert found["under_way"] is False and found["cells"][CELLS[1]]["state"] == "stopped"

    # One cell fails, of a cause that nobody needs to see twice; the study is edited meanwhile.
    shutil.rmtree(results, ignore_errors=True)
    results.write_text("in the way")
    study.write_bytes(original.replace(b"steps: 4", b"steps: 3"))
    failed = sweep(seeded, "--study", "mini", "--concurrency", "2")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "goes on with its own copy" in failed.stdout
    assert "error: 1 of 3 cells failed" in failed.stderr and f"  {CELLS[1]}: " in failed.stderr
    assert "tomrl sweep --name mini" in failed.stderr
    cells = standing(seeded)["cells"]
    assert [cells[key]["state"] for key in CELLS] == ["done", "failed"]
    assert cells[CELLS[1]]["attempts"] == 2
    results.unlink()

    # It is tried again, and killed.
    with under_way(seeded, "--name", "mini") as third:
        third.kill()
    assert standing(seeded)["cells"][CELLS[1]]["cause"] == "its sweep was killed"

    done = sweep(seeded, "--study", "mini")
    assert done.returncode == 0, done.stdout + done.stderr
    study.write_bytes(original)
    assert "Running stage" not in (folder / "logs" / "restore.log").read_text()
    clean = type_command(seeded, seeded.parent, "dvc", "status")
    assert "Data and pipelines are up to date." in clean.stdout
    for name in ("train/metrics.jsonl", "evaluate/responses.parquet"):
        mine = seeded / "runs" / "mini" / CELLS[0] / name
        assert mine.read_bytes() == (reproduced / "runs/mini/nano-hi" / name).read_bytes()
    for key in CELLS:  # each stage ended once, whatever was stopped
        log = (folder / "logs" / f"{key}.log").read_text()
        assert log.count("Updating lock file") == len(Graph.of(seeded).cell)
    assert standing(seeded)["ended"] and not (folder / "tree").exists()
    again = sweep(seeded, "--study", "mini")
    assert again.returncode == 0 and "study mini is up to date: nothing to run" in again.stdout


def _shown(checkout: Path) -> str:
    return (checkout.parent / "shown").read_text()
