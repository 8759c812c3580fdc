"""What a seed draws never changes: data of every study, and what was trained on it, rest on it.

Whoever changes a generator on purpose records its digest anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import product
from random import Random

import pytest

from pipeline.tom.generate import brief, explore_tom, fantom, hi_tom_items
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.fantom import FantomSettings
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.item import CounterfactualPair, GeneratedItem
from pipeline.tom.generate.styles import STYLE_NAMES
from pipeline.tom.rules import EXPLORE_TOM
from pipeline.tom.structure import structure_id

Drawn = Iterator[GeneratedItem | CounterfactualPair | str]


def hi_tom() -> Drawn:
    for agents, chapters, tell in product((2, 3, 4, 5), (1, 2, 3), (False, True)):
        settings = HiTomSettings(agents, chapters, tell, noise=0.2)
        for seed in range(6):
            style = STYLE_NAMES[seed % 3]
            item = hi_tom_items.generate_item(settings, Random(seed), style)
            yield from (item, brief.render(item.events))
            if agents > 2:
                yield hi_tom_items.pair(settings, Random(seed), style)
    for seed, agents in product(range(20), (2, 3, 4, 5)):
        free = HiTomSettings(agents, tell=seed % 2 == 0, structure="free")
        item = hi_tom_items.generate_item(free, Random(seed))
        yield from (item, brief.render(item.events))


def explore() -> Drawn:
    for story_type, people, moves in product(explore_tom.STORY_TYPES, (2, 3, 4), (2, 4)):
        settings = ExploreTomSettings(story_type, people, moves)
        yield explore_tom.generate(settings, Random(people), STYLE_NAMES[(people + moves) % 3])
        yield explore_tom.generate(ExploreTomSettings(story_type, rules=EXPLORE_TOM), Random(moves))
        if people + moves == 7 and story_type.endswith("asymmetric"):
            yield explore_tom.pair(settings, Random(people), STYLE_NAMES[people % 3])


def fan_tom() -> Drawn:
    yield fantom.generate(FantomSettings(), Random(0))
    for people, told, full in product((3, 4, 5), (2, 3, 4), (False, True)):
        settings = FantomSettings(people, told, full)
        for seed in range(4):
            yield fantom.generate(settings, Random(seed), STYLE_NAMES[seed % 3])
            yield fantom.pair(settings, Random(seed), STYLE_NAMES[seed % 3])


def told(item: GeneratedItem) -> tuple[object, ...]:
    """All that a reader sees of a story, with its gold answers and its events' structure."""
    asked = [
        (q.text, q.answer, q.order, q.question_type, q.choices, q.interesting)
        for q in item.questions
    ]
    return item.story, item.style, item.story_type, structure_id(item.events), asked


@pytest.mark.parametrize(
    ("draw", "digest"),
    [
        (hi_tom, "95ed2932efb5ce59"),
        (explore, "ccafb5367552558e"),
        (fan_tom, "366841c9c9c8c332"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_stories_of_a_seed_never_change(draw: Callable[[], Drawn], digest: str) -> None:
    found = sha256()
    for drawn in draw():
        match drawn:
            case CounterfactualPair(observed, hidden, witness, intervention):
                parts = (told(observed), told(hidden), witness, intervention, drawn.differing)
            case GeneratedItem():
                parts = told(drawn)
            case text:
                parts = (text,)
        found.update(repr(parts).encode())
    assert found.hexdigest()[:16] == digest
