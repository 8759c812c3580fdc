"""What a stage costs beside its work in a sweep, and what a sweep costs that has nothing to do.

A clone of the commit that is checked out sweeps ``grid-mini`` (five sizes x seven combinations, and
the five base models) with stages of empty bodies, which copy made results: what is left is Prefect,
DVC, MLflow, the worktree, and the start of every process. Then the same command is given again.
Servers are those of a laptop: Prefect's temporary one, and MLflow on SQLite. Run ``python -m
benchmarks.sweep``; exits 1 where a target is missed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from benchmarks.cells import timed
from benchmarks.empty_stage import MADE
from benchmarks.made_study import write_results
from flows.driver.graph import Graph
from flows.sweeps.record import SweepFolder
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.formats.files import write_text
from pipeline.ops.driver.checkout import find_root
from pipeline.stages.followed import processor

STUDY = "grid-mini"
TARGET_STAGE, TARGET_NOTHING = 3.0, 20.0
"""Seconds beside the work of a stage, and of a sweep of finished cells, with nothing to do."""


def clone(root: Path, target: Path, few: bool = False) -> Params:
    """Make a checkout whose stages have empty bodies, and its study, or three cells of it."""
    _git(root, "clone", "--quiet", str(root), str(target))
    pipeline = target / "dvc.yaml"
    emptied = re.sub(
        r"python -m pipeline\.stages\.(?!(?:code|expand)\b)",
        "python -m benchmarks.empty_stage ",
        pipeline.read_text(encoding="utf-8"),
    )
    write_text(pipeline, emptied)
    path = target / "studies" / f"{STUDY}.yaml"
    study = yaml.safe_load(path.read_text(encoding="utf-8"))
    if few:
        study["grid"] |= {"models": ["nano"], "combinations": ["hi", "fan"]}
    write_text(path, yaml.safe_dump(study, sort_keys=False))
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    _git(target, *who, "commit", "--quiet", "--all", "--message", "Empty stages")
    return expand(find_study(target, STUDY))


def make_results(params: Params, folder: Path) -> None:
    """Write what the stages will copy: results, and a file for all that others depend on."""
    write_results(params, folder)
    sources = folder / "data" / params.study.name / "sources"
    (sources / "prompts").mkdir(parents=True)
    prompts = {cell.evaluate.prompt for cell in params.cells.values()}
    prompts |= {entry.prompt for entry in params.dataset.values()}
    names = [
        "suite",
        *(f"dataset-{key}" for key in params.dataset),
        *(f"prompts/{name}" for name in prompts),
    ]
    for name in names:
        (sources / f"{name}.json").write_text("{}")


def circumstances() -> str:
    """On what this was measured."""
    return (
        f"{processor()}, {os.cpu_count()} processors, "
        f"{os.environ.get('OMP_NUM_THREADS', 'all')} threads a process, "
        f"load {os.getloadavg()[0]:.1f}"
    )


def _git(where: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=where, check=True)


def main() -> int:
    """Measure, print and compare with what is wanted."""
    slots = os.cpu_count() or 1
    before = circumstances()
    with TemporaryDirectory(prefix="benchmark-") as folder:
        checkout, made = Path(folder) / "checkout", Path(folder) / "made"
        params = clone(find_root(Path.cwd()), checkout)
        make_results(params, made)
        sweep = ("tomrl", "sweep", "--study", STUDY, "--concurrency", str(slots))
        places = {MADE: str(made), "PREFECT_HOME": str(made / "prefect"), "MLFLOW_TRACKING_URI": ""}
        whole = timed(checkout, *sweep, **places).seconds
        swept = SweepFolder(checkout, STUDY)
        cells = sum(swept.cell(key).seconds for key in params.cells)
        nothing = timed(checkout, *sweep, **places).seconds
        run = timed(checkout, "tomrl", "run", **places).seconds
        stages = len(Graph.of(checkout).cell) * len(params.cells)
    stage = cells / stages
    print(f"{before}; at the end load {os.getloadavg()[0]:.1f}")
    print(f"{len(params.cells)} cells, {slots} at a time: {whole:.0f} s in all")
    print(
        f"{stage:.2f} s a stage (target {TARGET_STAGE:.0f}), "
        f"{nothing:.1f} s with nothing to do (target {TARGET_NOTHING:.0f}), "
        f"{run:.1f} s of a run, with its report"
    )
    return 0 if stage < TARGET_STAGE and nothing < TARGET_NOTHING else 1


if __name__ == "__main__":
    sys.exit(main())
