"""Stories by the workers of a Ray cluster: what this machine makes, to the byte."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from pipeline.data import parts
from tests.alive import until
from tests.conftest import PROJECT, type_command
from tests.engines.nodes import FIRST, HEAD, Nodes


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A cluster of a head and a node, which offer a processor each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT))
        cluster = Nodes(Path(sys.executable), cpus=1)
        try:
            cluster.add(FIRST, 0)
            yield cluster
        finally:
            cluster.end()


def stories(folder: Path, nodes: Nodes, *arguments: str) -> CompletedProcess[str]:
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": str(nodes.address.token)}
    written = ("stories", "hi_tom_style", "--study", "mini", "-n", "11000", "-o", str(folder))
    return type_command(PROJECT, folder.parent, "tomrl", "tom", *written, *arguments, **token)


def test_a_lost_node_changes_no_byte(nodes: Nodes, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    done = stories(here, nodes)
    assert done.returncode == 0, done.stderr

    def lose() -> None:
        assert until(lambda: list(there.glob("part-*")), 120)
        nodes.kill(FIRST)

    with ThreadPoolExecutor(1) as pool:
        lost = pool.submit(lose)
        found = stories(there, nodes, "--ray", f"{HEAD}:{nodes.port}")
        lost.result()
    assert found.returncode == 0, found.stderr
    assert found.stdout == done.stdout.replace(str(here), str(there))
    digests = (here / parts.DIGESTS).read_text()
    assert digests == (there / parts.DIGESTS).read_text()
    assert len(digests.splitlines()) == 3
    assert str(nodes.address.token) not in found.stdout + found.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere"])
def test_who_answers_nowhere_is_said(address: str, nodes: Nodes, tmp_path: Path) -> None:
    silent = stories(tmp_path / "none", nodes, "--ray", address)
    assert silent.returncode == 2
    assert f"--ray {address}: no Ray cluster answers" in silent.stderr
