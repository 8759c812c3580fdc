"""A structure is a story's events: names do not matter, everything else does."""

from __future__ import annotations

from random import Random

import pytest

from pipeline.tom.generate import brief
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.hi_tom_items import generate_item
from pipeline.tom.generate.names import NAMES
from pipeline.tom.generate.styles import BENCHMARK
from pipeline.tom.language import HI_TOM
from pipeline.tom.story import Aside, Change, Claim, Enter, Exit, Move, Place, Remark, Stay, Story
from pipeline.tom.structure import structure, structure_id

STORY: Story = (
    Enter(("Ann", "Bob", "Cleo"), "attic"),
    Place("hat", "box", "attic"),
    Remark("Bob likes the hat."),
    Move("Ann", "hat", "jar"),
    Exit("Ann", "attic"),
    Stay("Bob", "attic"),
    Exit("Bob", "attic"),
    Claim("Cleo", "Ann", "hat", "box"),
)


def renamed(**names: str) -> Story:
    """The story with other names, read from its own representation."""
    text = repr(STORY)
    for old, new in names.items():
        text = text.replace(f"'{old}'", f"'{new}'")
    events = {each.__name__: each for each in (Claim, Enter, Exit, Move, Place, Remark, Stay)}
    found: Story = eval(text, events)
    return found


def test_names_do_not_matter() -> None:
    other = renamed(Ann="Zoe", Bob="Ann", Cleo="Bob", hat="pen", box="bin", jar="tin", attic="hall")
    assert other != STORY and structure(other) == structure(STORY)
    assert structure_id(other) == structure_id(STORY)


@pytest.mark.parametrize(
    ("place", "event"),
    [
        (3, Move("Bob", "hat", "jar")),  # somebody else moves it
        (3, Move("Ann", "hat", "box")),  # to where it was
        (4, Exit("Bob", "attic")),  # and Bob leaves first
        (7, Claim("Cleo", None, "hat", "box")),  # out loud
        (7, Claim("Cleo", "Ann", "hat", "jar")),  # the truth
    ],
)
def test_everything_else_does(place: int, event: object) -> None:
    changed: Story = (*STORY[:place], event, *STORY[place + 1 :])  # type: ignore[assignment]
    assert structure(changed) != structure(STORY)


def test_what_has_no_effect_does_not_matter() -> None:
    told = tuple(event for event in STORY if not isinstance(event, Remark | Stay))
    waiting = (*STORY, Enter(("Ann", "Bob"), "waiting_room"))
    assert structure(told) == structure(STORY) == structure(waiting)


def test_those_who_enter_together_have_no_order() -> None:
    others = (Enter(("Cleo", "Bob", "Ann"), "attic"), *STORY[1:])
    assert structure(others) == structure(STORY)
    one_by_one = (Enter(("Bob",), "attic"), Enter(("Ann", "Cleo"), "attic"), *STORY[1:])
    assert structure(one_by_one) != structure(STORY)


@pytest.mark.parametrize(("agents", "count"), [(3, 8), (4, 16), (5, 32)])
def test_one_scene_without_claims_has_a_structure_for_each_choice_to_move(
    agents: int, count: int
) -> None:
    """Each agent moves the object or stays: two to the power of their number."""
    settings = HiTomSettings(agents=agents, chapters=1, tell=False, noise=0.2, names=NAMES)
    drawn = (generate_item(settings, Random(f"{n}"), BENCHMARK) for n in range(400))
    assert len({structure_id(item.events) for item in drawn}) == count


@pytest.mark.parametrize("seed", range(20))
def test_brief_words_tell_the_structure_that_was_drawn(seed: int) -> None:
    """So published stories and generated ones can be compared."""
    short = HI_TOM.in_full(brief.render(one_scene(seed)))
    assert structure(HI_TOM.story(short).events) == structure(one_scene(seed))


def one_scene(seed: int) -> Story:
    settings = HiTomSettings(agents=3, chapters=1, tell=True, noise=0.0, names=NAMES)
    return generate_item(settings, Random(seed), BENCHMARK).events


def test_what_somebody_peeks_at_and_whether_a_change_is_visible_are_told_apart() -> None:
    def after(*events: Aside | Change) -> str:
        return structure_id((*STORY[:2], *events))

    moved, said = Move("Ann", "hat", "jar"), Claim("Ann", None, "hat", "jar")
    assert after(Aside(moved, ("Bob",))) != after(Aside(said, ("Bob",)))
    assert "Move" in structure((*STORY[:2], Aside(moved, ("Bob",))))[-1]
    assert after(Aside(moved, ("Bob",))) == after(Aside(Move("Ann", "hat", "bag"), ("Bob",)))
    assert after(Change("Ann", "hat", "wet")) != after(Change("Ann", "hat", "wet", visible=False))
