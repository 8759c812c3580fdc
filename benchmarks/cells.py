"""What a study of many cells costs before and after its stages do anything.

``grid-mini`` with more seeds, in a checkout of its own; every stage is recorded as done, with
made-up outputs, so nothing trains. Printed for each number of cells: seconds of ``tomrl study use``
and ``dvc status``, of one stage that has nothing to do, and of the report, with its memory and the
size of its first page. Run ``python -m benchmarks.cells [SEEDS ...]``; one seed is 40 cells.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter

import yaml
from dvc.repo import Repo
from dvc.stage.serialize import to_single_stage_lockfile

from benchmarks.made_study import write_results
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.ops.driver.checkout import find_root, stage_environment
from pipeline.stages.prompts import write_frames

STUDY = "grid-mini"
SEEDS = (1, 4, 29)
"""Seeds of 35 trained cells each; five base models come on top: 40, 145 and 1,020 cells."""

_REPORT = """
import resource
from pathlib import Path
from pipeline.stages import report
from pipeline.stages.common import Stage
from pipeline.stages.expanded import everything
from pipeline.analysis.collect import collect
stage = Stage("report", Path.cwd(), everything(Path.cwd()))
report.write(stage, collect(stage.params, stage.root), stage.root / "reports" / stage.study)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@dataclass(frozen=True)
class Timed:
    """A command that ended well.

    Attributes:
        seconds: How long it took.
        processor: Seconds of processor time, which others that run beside it do not lengthen.
        said: What it printed.
    """

    seconds: float
    processor: float
    said: str

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.processor:.1f} s of processor time)"


def timed(root: Path, *command: str, **variables: str) -> Timed:
    """A command, run in a checkout with more variables.

    Raises:
        CalledProcessError: If it fails.
    """
    began, used = perf_counter(), _used()
    environment = stage_environment(PYTHONPATH=str(root), **variables)
    done = subprocess.run(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return Timed(perf_counter() - began, _used() - used, done.stdout)


def _used() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def checkout(here: Path, root: Path, seeds: int) -> None:
    """Make a checkout whose study has this number of seeds."""
    for name in ("pipeline", "flows", "models"):
        (root / name).symlink_to(here / name)
    for name in ("dvc.yaml", "pyproject.toml"):
        shutil.copy(here / name, root / name)
    shutil.copytree(here / "studies", root / "studies")
    path = root / "studies" / f"{STUDY}.yaml"
    study = yaml.safe_load(path.read_text())
    study["grid"]["seeds"] = list(range(seeds))
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    timed(root, "dvc", "init", "--no-scm", "--quiet")


def record(root: Path, params: Params) -> None:
    """Make the outputs of all stages up, and record the stages as done."""
    for stage in ("code", "expand"):
        timed(root, sys.executable, "-m", f"pipeline.stages.{stage}")
    write_results(params, root)
    data = root / "data" / params.study.name
    write_frames(data / "raw", data / "sources")
    os.chdir(root)
    with Repo(str(root)) as repo, repo.lock:
        stages = [stage for stage in repo.index.stages if stage.is_data_source or stage.deps]
        for each in (each for stage in stages for each in (*stage.deps, *stage.outs)):
            _make_up(Path(each.fs_path))
        locked = {}
        for stage in stages:
            stage.save(allow_missing=False)
            stage.commit(allow_missing=False)
            locked[stage.name] = json.loads(json.dumps(to_single_stage_lockfile(stage)))
    text = yaml.dump({"schema": "2.0", "stages": locked}, Dumper=yaml.CSafeDumper, sort_keys=False)
    (root / "dvc.lock").write_text(text)


def _make_up(path: Path) -> None:
    if path.exists():
        return
    file = path if path.suffix else path / "made-up"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(path.name)


def measure(here: Path, seeds: int) -> None:
    """Measure and print one number of cells."""
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        checkout(here, root, seeds)
        used = timed(root, "tomrl", "study", "use", STUDY)
        params = read_params(root / "params.yaml")
        record(root, params)
        timed(root, "dvc", "status")  # digests of unchanged files are kept from here on
        status = timed(root, "dvc", "status")
        assert "up to date" in status.said, status.said
        key = next(reversed(params.cells))
        stage = timed(root, "dvc", "repro", "--single-item", f"judge@{key}")
        print(f"{len(params.cells)} cells")
        for name in ("params.yaml", "dvc.lock"):
            print(f"  {name}: {(root / name).stat().st_size / 1000:,.0f} KB")
        print(f"  tomrl study use: {used}")
        print(f"  dvc status: {status}")
        print(f"  a stage with nothing to do: {stage}", flush=True)
        report = timed(root, sys.executable, "-c", _REPORT)
        page = root / "reports" / STUDY / "index.html"
        memory = int(report.said.split()[-1]) / 1e6
        print(f"  report: {report}, {memory:.1f} GB", end="")
        print(f", index.html {page.stat().st_size / 1e6:.1f} MB", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="*", default=SEEDS, help="see the top")
    here = find_root(Path.cwd())
    for seeds in parser.parse_args().seeds:
        measure(here, seeds)
        os.chdir(here)


if __name__ == "__main__":
    main()
