"""How long the solver takes for 10,000 Hi-ToM questions, in CPU seconds, text to answer.

Reads the real questions from the folder named by TOMRL_DATA_MIRROR where there is one, over and
over until there are enough; otherwise makes some. Nothing is remembered from one pass to the next.
Run ``python -m benchmarks.solve [--quick] [--json FILE]``.
"""

from __future__ import annotations

import json
import os
from itertools import cycle, islice
from pathlib import Path
from random import Random
from time import process_time

from benchmarks.figures import keep, options
from pipeline.tom.generate import hi_tom_items
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.solve import read, solve

TARGET_SECONDS = 10.0
QUESTIONS = 10_000
Row = tuple[str, str, str]  # story, question, label


def real_rows(mirror: Path) -> list[Row]:
    """The 600 released questions, then the 3,000 that ToM-RL generated."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    released = json.loads((mirror / "hi_tom" / "Hi-ToM_data.json").read_text(encoding="utf-8"))
    rows = [
        (row["story"], row["question"], row["answer"])
        for row in released["data"]
        if row["prompting_type"] == "CoTP"
    ]
    for name in ("ToM_train_HiEx_hint", "ToM_test_HiExTi_hint"):
        table = parquet.read_table(mirror / "tom_rl" / f"{name}.parquet")
        for row in table.select(["story", "question", "answer", "data_source"]).to_pylist():
            if row["data_source"] == "hi_tom":
                rows.append((row["story"], row["question"], row["answer"]))
    return rows


def generated_rows(count: int) -> list[Row]:
    """Questions on stories of all lengths, with and without claims."""
    rows: list[Row] = []
    seed = 0
    while len(rows) < count:
        settings = HiTomSettings(chapters=1 + seed % 3, tell=seed % 2 == 0)
        item = hi_tom_items.generate_item(settings, Random(seed))
        rows += [(item.story, question.text, question.answer) for question in item.questions]
        seed += 1
    return rows


def seconds_for(rows: list[Row], count: int) -> tuple[float, float]:
    """Solve so many questions; return CPU seconds and the share that agrees with the label."""
    agreed = 0
    start = process_time()
    for index, (story, question, label) in enumerate(islice(cycle(rows), count)):
        if index % len(rows) == 0:
            read.cache_clear()
        agreed += solve("hi_tom", story, question).answer == label
    return process_time() - start, agreed / count


def main() -> None:
    """Measure 1,000, 10,000 and 100,000 questions; the figure is the one for 10,000."""
    asked = options(__doc__, "leave out the 100,000").parse_args()

    mirror = Path(os.environ.get("TOMRL_DATA_MIRROR", ""))
    real = (mirror / "hi_tom" / "Hi-ToM_data.json").is_file()
    rows = real_rows(mirror) if real else generated_rows(QUESTIONS)
    kind = "real" if real else "generated"
    growth = []
    for count in (1_000, QUESTIONS) if asked.quick else (1_000, QUESTIONS, 100_000):
        seconds, share = seconds_for(rows, count)
        growth.append({"questions": count, "seconds": seconds, "agreement": share})
        print(
            f"{count:>7,} {kind} questions {seconds:6.2f} s {count / seconds:>8,.0f} per second, "
            f"{100 * share:.1f} % agree with their labels"
        )
    keep(asked, {"kind": kind, "target_seconds": TARGET_SECONDS, "growth": growth})
    figure = next(row["seconds"] for row in growth if row["questions"] == QUESTIONS)
    print(
        f"{QUESTIONS:,} Hi-ToM questions in {figure:.2f} s of CPU (target {TARGET_SECONDS:.0f} s)"
    )


if __name__ == "__main__":
    main()
