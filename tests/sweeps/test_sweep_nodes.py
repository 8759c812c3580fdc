"""A sweep whose cells are jobs on a cluster of several nodes, of which one is lost."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.formats.files import folder_digests, read_json
from tests.alive import alive, until
from tests.cluster.test_local_job import is_job_of
from tests.conftest import commit, edited
from tests.engines.nodes import THIRD, Nodes
from tests.sweeps.test_sweep import standing, sweep, under_way

pytestmark = [pytest.mark.chain, pytest.mark.nightly]
SEEDS = range(4)
MakeClone = Callable[[str], Path]
CELLS = [f"nano-hi-s{seed}" for seed in SEEDS]


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """A head without accelerators, and two nodes with one each."""
    with Nodes.two(Path(sys.executable)) as cluster:
        yield cluster


@pytest.fixture
def make_clone(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeClone]:
    """Make committed clones whose cells train for long enough to lose a node meanwhile."""
    homes = []

    def make(name: str) -> Path:
        homes.append(tmp_path_factory.mktemp(name))
        target = homes[-1] / "a clone"
        shutil.copytree(reproduced, target, symlinks=True)
        shutil.rmtree(target / "runs" / "mini" / "nano-hi")
        with edited(target / "studies" / "mini.yaml") as study:
            study["grid"]["seeds"] = list(SEEDS)
            study["train"] |= {"steps": 150, "validate_every": 50, "save_every": 5}
        commit(target)
        return target

    yield make
    for home in homes:
        for process in alive(home):
            process.kill()


def jobs_of(checkout: Path) -> list[psutil.Process]:
    return [each for each in psutil.process_iter() if is_job_of(each, checkout)]


def trained(checkout: Path) -> dict[str, dict[str, str]]:
    return {key: folder_digests(checkout / "runs" / "mini" / key / "train") for key in CELLS}


def test_a_sweep_goes_on_when_a_node_is_lost(nodes: Nodes, make_clone: MakeClone) -> None:
    here, cluster = make_clone("here"), make_clone("cluster")
    # Jobs that share a node are lost with it: so many begin at once that some node has some.
    options = ("--study", "mini", "--concurrency", "3")
    undisturbed = sweep(here, *options)
    assert undisturbed.returncode == 0, undisturbed.stdout + undisturbed.stderr

    with under_way(cluster, *options, **nodes.variables):
        logs = cluster / "work" / "sweeps" / "mini"

        def saved() -> list[Path]:
            found = logs.rglob("job.log")
            return [log for log in found if "TOMRL_SAVED" in log.read_text()]

        assert until(lambda: saved() and jobs_of(cluster), 300)
        lost = nodes.under(jobs_of(cluster)[0].pid)
        nodes.kill(lost)
        nodes.add(THIRD)
        assert until(lambda: standing(cluster)["ended"], 900)
    shown = (cluster.parent / "shown").read_text()
    assert [standing(cluster)["cells"][key]["state"] for key in CELLS] == ["done"] * 4, shown
    assert trained(cluster) == trained(here)
    said = [(logs / "logs" / f"{key}.log").read_text() for key in CELLS]
    assert all("cluster: submitted job" in text for text in said)
    assert any("cluster: attempt 1 failed" in text for text in said)
    for key in CELLS:
        found = read_json(cluster / "runs" / "mini" / key / "train" / "checkpoints.json")
        assert found["checkpoints"]["last"]["step"] == 150
