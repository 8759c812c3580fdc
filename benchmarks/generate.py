"""How fast stories with questions and gold answers are made, in items per CPU second.

An item is one question with its story text and gold answer. One process; CPU time, so that other
work on the machine hardly counts. Run ``python -m benchmarks.generate [--quick] [--json FILE]``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import process_time

from benchmarks.figures import keep, options
from pipeline.tom.generate import explore_tom, fantom, hi_tom_items
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.fantom import FantomSettings
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.item import GeneratedItem

Make = Callable[[int], GeneratedItem]

TARGET = 12_000  # of hi_tom

_HI_TOM = [
    HiTomSettings(chapters=chapters, tell=tell) for chapters in (1, 2, 3) for tell in (False, True)
]
_EXPLORE_TOM = [ExploreTomSettings(story_type) for story_type in explore_tom.STORY_TYPES]

GENERATORS: dict[str, Make] = {
    "hi_tom": lambda seed: hi_tom_items.generate_item(_HI_TOM[seed % 6], Random(seed)),
    "explore_tom": lambda seed: explore_tom.generate(_EXPLORE_TOM[seed % 18], Random(seed)),
    "fantom": lambda seed: fantom.generate(FantomSettings(), Random(seed)),
}


def seconds_for(make: Make, items: int) -> tuple[int, float]:
    """Make at least so many items; return how many were made and the CPU seconds it took."""
    made, seed, start = 0, 0, process_time()
    while made < items:
        made += len(make(seed).questions)
        seed += 1
    return made, process_time() - start


def main() -> None:
    """Measure every generator, then the growth with the number of items."""
    asked = options(__doc__, "fewer items, a few seconds in all").parse_args()

    rates: dict[str, float] = {}
    for name, make in GENERATORS.items():
        items, seconds = seconds_for(make, 2_000 if asked.quick else 20_000)
        rates[name] = items / seconds
        target = f"  (target {TARGET:,})" if name == "hi_tom" else ""
        print(f"{name:<12} {items:>7,} items {seconds:7.2f} s {rates[name]:>9,.0f} items/s{target}")

    growth = []
    for size in (1_000, 10_000) if asked.quick else (1_000, 10_000, 100_000):
        items, seconds = seconds_for(GENERATORS["hi_tom"], size)
        growth.append({"items": items, "seconds": seconds, "per_second": items / seconds})
        print(f"growth: hi_tom {items:>7,} items {seconds:7.2f} s {items / seconds:>9,.0f} items/s")

    keep(asked, {"items_per_cpu_second": rates, "target": TARGET, "growth": growth})


if __name__ == "__main__":
    main()
