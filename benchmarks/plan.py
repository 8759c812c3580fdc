"""How long planning 10,000 cells takes, in seconds, and how near the schedule is to its bound.

Study ``grid`` with 125 seeds, on simulated clusters of nodes with 4 x A100 80 GB, in one process.
Run ``python -m benchmarks.plan [--quick] [--json FILE]``; exits 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from pipeline.cli.output import write_output
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.ops.driver.checkout import find_root
from pipeline.ops.planning.cluster import ClusterFile, Pool
from pipeline.ops.planning.study import plan_study

STUDY, SEEDS = "grid", 125
NODES = (1, 4, 16, 64, 256)
TARGET_SECONDS, TARGET_RATIO = 10.0, 1.1


def study(seeds: int) -> Params:
    """Return the study with so many seeds."""
    found = find_study(find_root(), STUDY)
    grid = found.grid.model_copy(update={"seeds": tuple(range(seeds))})
    return expand(found.model_copy(update={"grid": grid}))


def measure(params: Params, nodes: int, folder: Path) -> dict[str, Any]:
    """Plan the study on a cluster; return what that took, and its makespan beside the bound."""
    pool = Pool(accelerator="a100-80", nodes=nodes, gpus=4, price=2.0)
    started = perf_counter()
    found = plan_study(params, ClusterFile(pools={"all": pool}), folder)
    seconds = perf_counter() - started
    times = found.schedule
    return {
        "nodes": nodes,
        "cells": len(found.cells),
        "seconds": seconds,
        "makespan_hours": times.makespan,
        "lower_bound_hours": times.lower_bound,
        "ratio": times.makespan / times.lower_bound,
    }


def main() -> int:
    """Measure, print, and return whether a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="One seed: 85 cells.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write the figures too.")
    options = parser.parse_args()
    params = study(1 if options.quick else SEEDS)
    rows = []
    with TemporaryDirectory() as folder:  # nothing is made or measured there
        for nodes in NODES:
            row = measure(params, nodes, Path(folder))
            rows.append(row)
            print(
                f"{row['cells']} cells, {nodes} x 4 A100: planned in {row['seconds']:.1f} s, "
                f"makespan {row['makespan_hours']:,.1f} h, {row['ratio']:.4f} of the lower bound"
            )
    slowest, worst = max(r["seconds"] for r in rows), max(r["ratio"] for r in rows)
    print(
        f"at most {slowest:.1f} s (target {TARGET_SECONDS:.0f}) and {worst:.4f} of the lower bound "
        f"(target {TARGET_RATIO})"
    )
    if options.json:
        write_output(options.json, json.dumps(rows, indent=1) + "\n")
    return int(slowest > TARGET_SECONDS or worst > TARGET_RATIO)


if __name__ == "__main__":
    sys.exit(main())
