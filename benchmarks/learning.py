"""What do models learn by RL? Several seeds of data and rollouts, and controls.

Runs a study over seeds in a fresh clone, as a user would (``tomrl run mini-seeds``), and asks of
the report that RL with a random reward gains validation accuracy nowhere: at its last step,
with a 95 % interval above zero. The last step, because the best one is chosen by the set it is
measured on. Exits 1 where it gains. Whether RL with a reward for right answers gains is reported:
on data that no rule solves (``balanced``), a model may honestly learn nothing. Run
``python -m benchmarks.learning [STUDY] [--from CHECKOUT] [--write DOCS]``; two to three hours on
two cores, and no time where the results lie in a checkout.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quoted.pages import write_pages
from benchmarks.stored import keep
from pipeline.analysis.seeds import LAST, SeedChange
from pipeline.analysis.summary import StudySummary

ROOT = Path(__file__).resolve().parent.parent
STUDY = "mini-seeds"
IMAGES = {STUDY: "learning.svg"}
RANDOM = "-random"  # how the names of cells end that a random reward trains


def clone(folder: Path) -> Path:
    """A clone of the last commit."""
    checkout = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
    return checkout


def run_study(checkout: Path, study: str) -> None:
    """Run the study as a user would."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TOMRL_", "MLFLOW_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**kept, "PATH": path}
    subprocess.run(["tomrl", "run", study], cwd=checkout, env=environment, check=True)


def shortfalls(changes: Sequence[SeedChange]) -> list[str]:
    """One sentence for each kind of cells that gains without a reward."""
    return [
        f"{each.group}: gains {each.change.points()} points at its last step; asked: no interval "
        "above 0"
        for each in changes
        if each.measure == LAST and each.group.endswith(RANDOM) and each.change.low > 0
    ]


def gains(changes: Sequence[SeedChange]) -> list[str]:
    """What each kind of cells gains in validation, in a line each."""
    last = (each for each in changes if each.measure == LAST)
    return [f"{each.group}: {each.change.points()} points at its last step" for each in last]


def write_page(checkout: Path, study: str, docs: Path) -> None:
    """Keep the results, and write what pages say of them, with the figure."""
    keep(checkout, study, docs)
    (docs / "images").mkdir(parents=True, exist_ok=True)
    curves = checkout / "reports" / study / "figures" / "training-curves.svg"
    shutil.copyfile(curves, docs / "images" / IMAGES.get(study, f"{study}.svg"))
    write_pages(docs.resolve().parent)


def main() -> int:
    """Run, print the table, write the page if asked; return 1 if a random reward gains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?", default=STUDY, help="a study with seeds")
    parser.add_argument("--write", type=Path, metavar="DOCS", help="write the pages in DOCS")
    parser.add_argument("--from", type=Path, dest="made", help="a checkout that has the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkout = arguments.made or clone(Path(folder))
        report = checkout / "reports" / arguments.study
        if not arguments.made:
            run_study(checkout, arguments.study)
        changes = StudySummary.read(report / "results.json", "report").over_seeds
        print((report / "seeds.md").read_text(encoding="utf-8"))
        print(*gains(changes), sep="\n")
        if arguments.write:
            write_page(checkout, arguments.study, arguments.write)
    wrong = shortfalls(changes)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
