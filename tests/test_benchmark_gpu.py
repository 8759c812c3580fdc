"""The GPU benchmark runs, in miniature, with torch, transformers and pydantic alone."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import gpu, gpu_checks, gpu_made
from pipeline.config.training import Train
from pipeline.engine import decode, recording, shared_prefix
from pipeline.train import scoring
from pipeline.train.shape import Shape
from tests.conftest import PROJECT
from tests.model.tape import Recorder

SHAPE = Shape(64, 256, 2, 4, 2, 320, True)
# Runs a module where only the packages named on its command line can be imported.
ALONE = """
import importlib.util, runpy, sys
hidden, find_spec = set(sys.argv[1].split(",")), importlib.util.find_spec

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def find(name, package=None):
    return None if name.split(".")[0] in hidden else find_spec(name, package)

sys.meta_path.insert(0, Hide())
importlib.util.find_spec = find
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


def needed(*names: str) -> set[str]:
    """Packages with everything they need, by normalised name."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        plain = [r for r in requirements if "extra ==" not in r]
        waiting += [match[0] for r in plain if (match := re.match(r"[\w.-]+", r))]
    return found


def others() -> set[str]:
    """The modules of every installed package that the benchmark must do without."""
    kept = needed("torch", "transformers", "pydantic")
    return {
        module
        for module, packages in metadata.packages_distributions().items()
        if module not in ("pipeline", "benchmarks")
        and not kept & {re.sub(r"[-_.]+", "-", package).lower() for package in packages}
    }


def test_it_runs_with_torch_transformers_and_pydantic_alone(tmp_path: Path) -> None:
    hidden = others()
    assert {"pandas", "psutil"} <= hidden and not {"torch", "numpy"} & hidden
    command = [sys.executable, "-c", ALONE, ",".join(hidden), "benchmarks.gpu", "--tiny"]
    shown = subprocess.run(
        [*command, "--seconds", "3000", "--json", str(tmp_path / "rows.json")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    found = json.loads((tmp_path / "rows.json").read_text())
    rows, checks = found["rows"], found["checks"]
    assert len(checks) == 10 == shown.stdout.count("\nright  ")
    assert [row["shared_prefix"] for row in rows] == [True, False]
    for row in rows:
        assert row["rollout_tokens_per_second"] > 0 and row["update_tokens_per_second"] > 0
        assert row["peak_bytes"] > 0 and row["planned_bytes"] > 0
    assert shown.stdout.count("| tiny |") == 2


def test_the_ways_of_accelerators_are_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Attention without the CPU's kernels, passes that are replayed, and imitation in one pass."""

    def alone(_: object, batch: scoring.MicroBatch) -> bool:
        return len(batch.completions) == len(batch.prompts)

    recorder = Recorder()
    monkeypatch.setattr(scoring, "in_one_pass", alone)
    monkeypatch.setattr(shared_prefix, "joined", shared_prefix.repeated)
    monkeypatch.setattr(decode, "can_record", lambda device: True)
    monkeypatch.setattr(recording, "record", recorder)
    checks = gpu_checks.checks(torch.device("cpu"), gpu_checks.SMALL)
    assert all(check.passed for check in gpu_checks.told(checks))
    assert sum(recorder.replays) > 30
    assert capsys.readouterr().out.count("right  small vocabulary: ") == 10


def test_what_is_wrong_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [gpu_checks.Check("greedy tokens", 3, 0), gpu_checks.Check("loss", float("nan"), 1.0)]
    monkeypatch.setattr(gpu, "checks", lambda *_: iter(wrong))
    monkeypatch.setattr(sys, "argv", ["gpu", "--tiny"])
    with pytest.raises(SystemExit, match="what is wrong is not measured"):
        gpu.main()
    assert capsys.readouterr().out.count("WRONG  ") == 2


def test_when_the_time_is_up_all_is_left_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[str] = []

    def measure(name: str, *_: object) -> Iterator[gpu.Measured]:
        begun.append(name)
        while True:
            time.sleep(0.01)
        yield

    handler = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(gpu, "checks", lambda *_: iter(()))
    monkeypatch.setattr(gpu, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["gpu", "--tiny", "--seconds", "0.1"])
    gpu.main()
    assert begun == ["tiny"] and "stopped here: the time is up" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGALRM) == handler


def test_text_counts_from_its_first_wrong_token() -> None:
    assert gpu_checks.unlike([[1, 2, 3, 4], [5, 6, 7, 8]], [[1, 9, 3, 4], [5, 6, 7, 8]]) == 3 / 8


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 2
    assert "torch sees no CUDA device here; --tiny runs on a CPU" in shown.stderr


def test_flops_are_those_that_torch_counts() -> None:
    new = 40
    model = gpu_made.make_model(SHAPE, context=new, device="cpu")
    model.set_attn_implementation("eager")  # torch does not count the CPU's fused attention
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=torch.ones(1, new, dtype=torch.long), use_cache=False)
    layers, width = SHAPE.num_hidden_layers, SHAPE.hidden_size
    # Eager attention also computes what the mask then hides.
    future = 4 * layers * width * (new * new - new * (new + 1) / 2)
    ours = gpu.flops(SHAPE, prompts=1, group=1, prompt=0, new=new)
    assert ours == pytest.approx(counter.get_total_flops() - future, rel=0.01)
    shared = gpu.flops(SHAPE, prompts=1, group=8, prompt=100, new=10)
    alone = gpu.flops(SHAPE, prompts=8, group=1, prompt=100, new=10)
    assert 4 < alone / shared < 8


def test_what_cannot_fit_is_refused_with_the_numbers() -> None:
    recipe = Train(**gpu_made.RECIPE)
    rows, planned = gpu.fitting(SHAPE, recipe, free=2**40)
    assert rows == 16 and planned > 0
    with pytest.raises(SystemExit, match=r"needs \d+ GiB, but only 0 GiB"):
        gpu.fitting(SHAPE, recipe, free=2**20)
