"""How long the report of a large study takes, and how big its page is.

Study ``grid`` with one algorithm, seven combinations and 13 columns: 35 trained cells and five base
models, with made results. Timed is what the stage ``report`` does but for telling the tracker:
reading every result and writing tables, figures and page. Run
``python -m benchmarks.report``; exits 1 where it takes more than 20 s of processor time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from benchmarks.made_study import write_results
from pipeline.analysis.collect import collect
from pipeline.analysis.report import write_report
from pipeline.analysis.samples import read_recorded
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study import Study
from pipeline.config.study_files import find_study
from pipeline.ops.driver.checkout import find_root

STUDY = "grid"
CELLS, COLUMNS = 40, 13
MOST_SECONDS = 20.0


def large_study(root: Path, models: int = 5) -> Params:
    """A study of 40 cells and 13 columns, or of fewer models."""
    study = find_study(root, STUDY).model_dump(mode="json")
    study["grid"]["models"] = study["grid"]["models"][:models]
    study["grid"]["combinations"] = study["grid"]["combinations"][1:]
    study["grid"]["algorithms"] = ["reinforce_plus_plus"]
    columns = [*study["suite"]["tasks"].items()][:COLUMNS]
    study["suite"]["tasks"] = dict(columns)
    return expand(Study.model_validate(study))


def main() -> int:
    """Measure, print and compare with what is wanted."""
    params = large_study(find_root(Path.cwd()))
    with TemporaryDirectory() as folder:
        write_results(params, Path(folder))
        target = Path(folder) / "report"
        started, began = perf_counter(), process_time()
        results = collect(params, Path(folder))
        recorded = read_recorded(results, Path(folder))
        read = process_time() - began
        write_report(results, recorded, target)
        wall, seconds = perf_counter() - started, process_time() - began
        size = (target / "index.html").stat().st_size
    print(f"{len(params.cells)} cells x {len(params.suite.tasks)} columns")
    print(f"{seconds:.1f} s of processor time, {read:.1f} s of it reading; {wall:.1f} s in all")
    print(f"index.html has {size / 1e6:.1f} MB")
    return 0 if seconds < MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
