"""Stories and pairs of every generator."""

from __future__ import annotations

from random import Random

from pipeline.tom.generate import explore_tom, fantom, hi_tom_items
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.fantom import FantomSettings
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.item import CounterfactualPair, GeneratedItem
from pipeline.tom.generate.styles import BENCHMARK


def generated(benchmark: str, seed: int, style: str = BENCHMARK) -> GeneratedItem:
    random = Random(seed)
    match benchmark:
        case "hi_tom":
            chosen = HiTomSettings(chapters=1 + seed % 3, tell=seed % 2 == 0)
            return hi_tom_items.generate_item(chosen, random, style)
        case "fantom":
            return fantom.generate(FantomSettings(), random, style)
    kind = explore_tom.STORY_TYPES[seed % len(explore_tom.STORY_TYPES)]
    return explore_tom.generate(ExploreTomSettings(kind, 2 + seed % 3), random, style)


def twins(kind: str, seed: int, style: str = BENCHMARK) -> CounterfactualPair:
    random = Random(seed)
    match kind:
        case "hi_tom":
            return hi_tom_items.pair(HiTomSettings(chapters=2, tell=True), random, style)
        case "explore_tom":
            return explore_tom.pair(ExploreTomSettings("all+asymmetric"), random, style)
        case "talk":
            return explore_tom.pair(ExploreTomSettings("fantom-private"), random, style)
        case "fantom":
            return fantom.pair(FantomSettings(people=4), random, style)
    return fantom.pair(FantomSettings(full_context=False), random, style)
