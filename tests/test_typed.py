"""The blocks of commands on a page: a test types each as it stands, or here is why none does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.app import app
from tests.conftest import PROJECT
from tests.pages import PAGES, blocks

NO_COMMANDS = (" ", "error:", "code ->")
"""How a block begins that shows something else: a table, an error, a graph."""

TUTORIAL = "tutorial.md"
"""Its blocks are typed by tests/test_tutorial.py."""

ELSEWHERE = {
    "make repro": "ten minutes; tests/test_chain.py types its command on a smaller study",
    "make test": "it runs this",
    "make setup": "it takes gigabytes; continuous integration begins with it",
    "tomrl deploy": "tests/test_deploy.py",
    "tomrl doctor --gpu": "tests/cluster/test_doctor_gpu.py, without an accelerator",
    "tomrl run grid-mini": "hours; tests/test_side_by_side.py, on a smaller study",
    "tomrl run --set": "it trains; tests/test_bad_input.py, on a full disk",
    "tomrl sweep": "hours; tests/sweeps/test_sweep.py, on a smaller study",
    "tomrl sync": "tests/sweeps/test_sweep.py",
    "python -m benchmarks.gpu": "tests/test_benchmark_gpu.py, without an accelerator",
    "scripts/prove_gpu.sh": "tests/engines/test_smoke.py, its middle part without an accelerator",
    "python -m tests.chaos": "hours; tests/chaos/test_chaos.py takes samples, and all at night",
    "prefect deployment run": "tests/test_deploy.py begins runs by Prefect's client",
    "prefect server start": "tests/team/servers.py",
    "prefect worker start": "tests/test_deploy.py",
    "dvc remote": "tests/sharing/test_sharing.py",
    "dvc push": "tests/sharing/test_sharing.py",
    "docker ": "it needs Docker's engine; tests/test_team_files.py reads what it is given",
    "cp docker/example.env": "for Docker",
    "chmod ": "for Docker",
    "set ": "for Docker",
    "source docker/.env": "for Docker",
    "export ": "for Docker's and Prefect's servers",
    "STUDY=": "it needs Slurm or an accelerator; tests/infra/test_routes.py looks for room",
    "srun ": "it needs Slurm",
    "cd ": "for OpenTofu",
    "tofu ": "it needs a cloud; tests/infra/test_manifests.py checks what it reads",
    "editor ": "for Kubernetes",
    "kubectl ": "it needs Kubernetes; tests/infra/test_manifests.py checks what it reads",
    "RAY_AUTH_TOKEN=": "for Kubernetes",
    "sky ": "it needs a cloud; tests/infra/test_routes.py reads its file",
    "rsync ": "for SkyPilot",
}
"""Who types a command that begins so, or why nobody can."""


def written(wanted: str) -> Iterator[str]:
    """Yield the blocks of a language, but those of the tutorial."""
    for page in PAGES:
        for language, text in blocks(page):
            if language == wanted and page.name != TUTORIAL:
                yield text


def commands() -> Iterator[str]:
    for text in written(""):
        if not text.startswith(NO_COMMANDS):
            for line in text.splitlines():
                yield from re.split(r" && |; ", re.sub(r"\s+#.*", "", line))


def test_every_command_of_a_block_is_typed_by_a_test_or_excused() -> None:
    typed = {command: [b for b in ELSEWHERE if command.startswith(b)] for command in commands()}
    assert [command for command, begins in typed.items() if len(begins) != 1] == []
    assert set(ELSEWHERE) == {begin for begins in typed.values() for begin in begins}
    for name in re.findall(r"tests/\S+\.py", " ".join(ELSEWHERE.values())):
        assert (PROJECT / name).is_file(), name


def shown() -> Iterator[tuple[str, list[str]]]:
    """Yield each command that is shown with what it prints, ``...`` for what is left out."""
    for text in written("console"):
        for part in text.split("$ ")[1:]:
            command, *lines = part.strip().splitlines()
            yield command, [line for line in lines if line != "..."]


@pytest.mark.parametrize(("command", "lines"), shown())
def test_a_command_prints_what_its_page_shows(command: str, lines: list[str]) -> None:
    name, *words = command.split()
    assert name == "tomrl"
    done = CliRunner().invoke(app, words, env={"COLUMNS": "1000"})
    said = f"error: {done.exception}" if isinstance(done.exception, UserError) else done.output
    assert lines and [line for line in lines if line not in said.splitlines()] == []
