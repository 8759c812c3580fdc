"""What DVC reruns after an edit: everything whose result the edit can change, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.driver.graph import Graph
from pipeline.base.closure import CARRIERS, closure
from tests.conftest import commit, edited, ended_well, environment

pytestmark = pytest.mark.chain
CELLS = ("nano-base", "nano-hi")


def of_cells(*stages: str) -> set[str]:
    return {f"{stage}@{cell}" for stage in stages for cell in CELLS}


DATA = {"dataset@hi", "suite", "audit", "sources"}
EDITS: dict[str, tuple[str, str, str, set[str]]] = {
    "a prompt": (
        "pipeline/data/prompt.py",
        'return [{"role": "user", "content": _body(example, "\\n")}]',
        'return [{"role": "user", "content": _body(example, "\\n\\n")}]',
        # The report shows how models were asked.
        {"dataset@hi", "base@nano", *of_cells("evaluate"), "report"},
    ),
    "a line of the reward in use": (
        "pipeline/reward/rlvr.py",
        "1.0 * (grade",
        "2.0 * (grade",
        {"train@nano-hi"},
    ),
    "a line of the belief engine": (
        "pipeline/tom/trace.py",
        "def write_trace",
        "_UNUSED = 1\n\n\ndef write_trace",
        # It writes traces, which may also be what a dataset or the suite holds to be shown.
        {"acquire@hi_tom_style", "acquire@arithmetic", "dataset@hi", "base@nano", "suite"},
    ),
    "a line of the trainer": (
        "pipeline/train/losses.py",
        "0.5 * difference.square()",
        "0.6 * difference.square()",
        {"train@nano-hi"},
    ),
}
NOTHING = (  # another reward, the other backend and engine, a comment, a docstring, the mirror
    ("pipeline/reward/tom_rl.py", "-1.0", "-1.5"),
    ("pipeline/ops/verl/overrides.py", '"data.truncation": "error"', '"data.truncation": "left"'),
    ("pipeline/ops/vllm/engine.py", "_HOURS = 24.0", "_HOURS = 25.0"),
    (
        "pipeline/train/losses.py",
        "\n    difference = logprobs",
        "\n    # Nats.\n    difference = logprobs",
    ),
    ("pipeline/tasks/grading.py", '"""', '"""Altogether: '),
    ("pipeline/ops/mirror/cell_run.py", "max_results=100", "max_results=90"),
)
"""Edits that change no result of the study: files, what stands there, what takes its place."""


@pytest.fixture
def clone(reproduced: Path, tmp_path: Path) -> Path:
    """A copy of a checkout on which everything was run, for one test to change."""
    return copied(reproduced, tmp_path)


def copied(reproduced: Path, folder: Path) -> Path:
    return Path(shutil.copytree(reproduced, folder / "a clone", symlinks=True))


def would_run(clone: Path) -> set[str]:
    """The stages that ``dvc repro`` would start with, once code and parameters are expanded."""
    for stage in ("code", "expand"):
        ended_well(clone, "python", "-m", f"pipeline.stages.{stage}")
    with Repo(str(clone)) as repo:
        return {name.rpartition(":")[2] for name in repo.status()} - {"code", "expand"}


def change(clone: Path, *edits: tuple[str, str, str]) -> None:
    for file, old, new in edits:
        text = (clone / file).read_text()
        assert old in text, f"{file} no longer holds {old!r}: choose another line"
        (clone / file).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reruns_what_it_can_change(clone: Path, name: str) -> None:
    *edit, expected = EDITS[name]
    change(clone, tuple(edit))
    assert would_run(clone) == expected


def test_what_can_change_nothing_reruns_nothing(clone: Path) -> None:
    change(clone, *NOTHING)
    assert would_run(clone) == set()


def test_a_seed_reruns_its_cell(clone: Path) -> None:
    with edited(clone / "params.yaml") as params:
        params["cells"]["nano-hi"]["seed"] = 7
    assert would_run(clone) == {"report", *(f"{s}@nano-hi" for s in ("train", "evaluate"))}


def test_another_benchmarks_rules_change_no_data_and_rerun_no_cell(clone: Path) -> None:
    edit = ("pipeline/tasks/opentom_rules.py", "\n\ndef ", "\n\n_UNUSED = 1\n\n\ndef ")
    change(clone, edit)
    done = ended_well(clone, "dvc", "repro")
    ran = set(re.findall(r"Running stage '(.*)'", done.stdout))
    assert ran == {"code", "expand", "report", *DATA}


LOADS = """
import importlib, json, os, runpy, sys, traceback

for name in ("mlflow", "torch", "transformers"):
    importlib.import_module(name)
for stage in sys.argv[1:]:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0, stage
        continue
    name, *sys.argv[1:] = stage.split()
    try:
        runpy.run_module(f"pipeline.stages.{name}", run_name="__main__", alter_sys=True)
        ours = [each for each in sys.modules if each.partition(".")[0] == "pipeline"]
        print("\\n" + json.dumps({stage: ours}), flush=True)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    os._exit(1)
"""
DIGESTS = {
    "acquire arithmetic": "acquire",
    "dataset hi": "dataset",
    "suite": "suite",
    "audit": "audit",
    "base nano": "base-tiny",
    "train nano-base": "train-none",
    "train nano-hi": "train-local reward-rlvr",
    "evaluate nano-hi": "evaluate-hf",
    "judge nano-hi": "judge",
    "report": "report",
}


@pytest.fixture(scope="module")
def loads(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules of this package that each stage loads, in a fork of what has the libraries."""
    clone = copied(reproduced, tmp_path_factory.mktemp("loads"))
    done = subprocess.run(
        [sys.executable, "-c", LOADS, *DIGESTS],
        cwd=clone,
        env=environment(clone.parent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return {stage: set(ours) for line in lines for stage, ours in json.loads(line).items()}


@pytest.mark.parametrize("stage", DIGESTS)
def test_what_a_stage_really_loads_is_in_its_digest(
    reproduced: Path, loads: dict[str, set[str]], stage: str
) -> None:
    loaded, files = loads[stage], DIGESTS[stage].split()
    known = {
        name
        for file in files
        for name in json.loads((reproduced / f"code/{file}.json").read_text())
    }
    data = known_by_data(reproduced) if stage.split()[0] in Graph.of(reproduced).cell else set()
    carried = {n for n in loaded if any(n == c or n.startswith(f"{c}.") for c in CARRIERS)}
    carried |= set(closure(reproduced, ["pipeline.ops.mirror.send"]))  # for its own use
    assert loaded > {"pipeline", "pipeline.stages.common"}
    assert loaded - known - data - carried == set()


def known_by_data(checkout: Path) -> set[str]:
    """The benchmarks' modules: loaded together, and digested with the rows that each one grades."""
    return set(json.loads((checkout / "code/suite.json").read_text()))


def test_a_dry_run_works_in_a_fresh_clone(clone: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    commit(clone)
    ended_well(clone, "git", "clone", "-q", ".", str(fresh))
    shown = ended_well(fresh, "dvc", "repro", "--dry", "--allow-missing")
    assert "failed to reproduce" not in shown.stdout + shown.stderr
