"""How long the whole data set build of study ``rlvr`` takes, in seconds, and its peak memory.

Acquires every source from the mirror, builds all seven combinations and the suite, and searches
every suite column for training stories, as the stages do, in one process and a temporary folder.
Run ``TOMRL_DATA_MIRROR=FOLDER python -m benchmarks.dataset``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.circumstances import data_mirror
from pipeline.audit.contamination import Fingerprints, refuse_contamination
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.data.build import select_parts
from pipeline.data.codec import read_examples
from pipeline.engine.device import peak_of_process
from pipeline.ops.driver.checkout import find_root
from pipeline.stages import acquire, dataset, sources, suite
from pipeline.stages.common import Stage

STUDY = "rlvr"
TARGET_SECONDS, TARGET_BYTES = 60.0, 2e9


def build(params: Params, folder: Path) -> dict[str, float]:
    """Build all data of a study in a folder; return the seconds of each step."""

    def stage(name: str) -> Stage:
        return Stage(name, folder, params)

    def acquire_all() -> None:
        for source in params.acquire:
            acquire.main(stage("acquire"), source)

    def combine() -> None:
        for combination in params.dataset:
            dataset.main(stage("dataset"), combination)

    steps: dict[str, Callable[[], None]] = {
        "acquire": acquire_all,
        "sources": lambda: sources.main(stage("sources")),
        "datasets": combine,
        "suite": lambda: suite.main(stage("suite")),
        "contamination": lambda: check_contamination(stage("audit")),
    }
    return {name: _seconds(step) for name, step in steps.items()}


def check_contamination(stage: Stage) -> None:
    """Refuse training stories in the suite, as the audit stage does."""
    columns = {
        name: read_examples(stage.data / "suite" / f"{name}.parquet")
        for name in stage.params.suite.tasks
    }
    for entry in stage.params.dataset.values():
        training = Fingerprints.of(select_parts(stage.raw, entry.train, entry.seed))
        overlaps = {name: training.overlap(examples) for name, examples in columns.items()}
        refuse_contamination(entry.split, overlaps)


def _seconds(step: Callable[[], None]) -> float:
    start = perf_counter()
    step()
    return perf_counter() - start


def main() -> None:
    """Build once; the figure is seconds and the largest resident memory of this process."""
    data_mirror()  # without it, sources would be downloaded
    params = expand(find_study(find_root(), STUDY))
    with TemporaryDirectory(prefix="tomrl-dataset-") as folder:
        seconds = build(params, Path(folder))
    total, peak = sum(seconds.values()), peak_of_process()
    for name, taken in seconds.items():
        print(f"{name:<14} {taken:6.2f} s")
    print(
        f"study {STUDY}, {len(params.dataset)} combinations: {total:.1f} s (target "
        f"{TARGET_SECONDS:.0f} s), peak {peak / 1e9:.2f} GB (target {TARGET_BYTES / 1e9:.0f} GB)"
    )


if __name__ == "__main__":
    main()
