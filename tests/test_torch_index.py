"""Where ``make setup`` takes torch from."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.serving import Quiet, serving

SCRIPT = runpy.run_path(str(PROJECT / "scripts" / "torch_index.py"))
choose, has_gpu = SCRIPT["choose"], SCRIPT["has_gpu"]
INDEX = b'<a href="torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl">torch</a>'
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def index_of(status: int, page: bytes) -> Iterator[str]:
    class Index(Quiet):
        def do_GET(self) -> None:
            self.answer(page, status if self.path == "/whl/cpu/torch/" else 404)

    with serving(Index) as address:
        yield f"{address}/whl/cpu"


def test_the_cpu_build_where_its_index_answers() -> None:
    with index_of(200, INDEX) as index:
        chosen, why = choose("", gpu=False, cpu_index=index)
    assert chosen == index and "no NVIDIA GPU here: the CPU build" in why


@pytest.mark.parametrize(("status", "page"), [(200, b"please log in"), (403, INDEX), (500, b"")])
def test_pips_own_where_something_else_answers(status: int, page: bytes) -> None:
    with index_of(status, page) as index:
        chosen, why = choose("", gpu=False, cpu_index=index)
    assert chosen == "" and "does not answer: from where pip finds it" in why


def test_pips_own_where_nobody_answers() -> None:
    assert choose("", gpu=False, cpu_index=NOWHERE)[0] == ""


def test_a_gpu_and_a_named_index_ask_nobody() -> None:
    assert choose("", gpu=True, cpu_index=NOWHERE)[0] == ""
    assert choose("http://named", gpu=False, cpu_index=NOWHERE) == (
        "http://named",
        "from http://named",
    )


@pytest.mark.parametrize(("script", "there"), [("echo 'GPU 0: H100'", True), ("exit 9", False)])
def test_the_driver_is_asked(tmp_path: Path, script: str, there: bool) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a GPU")
    assert has_gpu({"PATH": str(tmp_path)}) is there
