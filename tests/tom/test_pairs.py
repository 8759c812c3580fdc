"""Counterfactual pairs: minimal in their events and in their words, and out of reach of rules."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from pipeline.tom.contrast import in_contrast, right_rules
from pipeline.tom.generate import explore_tom, hi_tom_items
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.pair import HEARS, LEAVES, SEES, NoPair, hearing_twins
from pipeline.tom.generate.styles import STYLE_NAMES
from pipeline.tom.parse.hi_tom import parse_question, parse_story
from pipeline.tom.shortcut import SHORTCUTS
from pipeline.tom.story import Aside, Claim, Enter, Move, Report, Story
from tests.tom.drawn import twins
from tests.tom.guessing import guess

GENERATORS = ("hi_tom", "explore_tom", "talk", "fantom", "short fantom")
SEEDS = range(15)


def words(text: str) -> list[str]:
    """The words of a text without the times of its lines."""
    return re.findall(r"[\w'-]+", re.sub(r"\[\d\d:\d\d\]", "", text))


@pytest.mark.parametrize("style", STYLE_NAMES)
@pytest.mark.parametrize("kind", GENERATORS)
def test_texts_differ_in_one_place_or_in_one_name(kind: str, style: str) -> None:
    for seed in SEEDS:
        found = twins(kind, seed, style)
        observed, hidden = words(found.observed.story), words(found.hidden.story)
        assert observed != hidden or found.observed.story != found.hidden.story
        extra = Counter(observed) - Counter(hidden)
        missing = Counter(hidden) - Counter(observed)
        if found.intervention == LEAVES:  # at most the time of leaving
            assert extra.total() == missing.total() <= 1
            assert all(word.isdigit() for word in (*extra, *missing))
        else:
            changed = [(a, b) for a, b in zip(observed, hidden, strict=True) if a != b]
            assert len(changed) == 1
            assert found.witness in changed[0]


@pytest.mark.parametrize("kind", GENERATORS)
def test_events_differ_in_one(kind: str) -> None:
    for seed in SEEDS:
        found = twins(kind, seed)
        extra = Counter(found.observed.events) - Counter(found.hidden.events)
        assert extra.total() == (found.intervention != LEAVES)


def test_every_intervention_is_drawn() -> None:
    drawn = {kind: {twins(kind, seed).intervention for seed in range(40)} for kind in GENERATORS}
    assert drawn["hi_tom"] == {LEAVES, HEARS}
    assert drawn["explore_tom"] == {LEAVES, HEARS, SEES}
    assert drawn["talk"] == {HEARS}


@pytest.mark.parametrize("kind", GENERATORS)
def test_on_a_contrast_no_rule_is_right_twice(kind: str) -> None:
    seen = 0
    for seed in range(240 if kind == "hi_tom" else 60):
        found = twins(kind, seed)
        for number in range(len(found.observed.questions)):
            if not in_contrast(found, number):
                continue
            seen += 1
            both = [each.questions[number] for each in (found.observed, found.hidden)]
            assert both[0].answer != both[1].answer
            if kind == "hi_tom":  # as the reader of texts sees it, too
                for rule in SHORTCUTS:
                    said = [
                        guess(rule, "hi_tom", item.story, question.text, question.choices)
                        for item, question in zip((found.observed, found.hidden), both, strict=True)
                    ]
                    assert said != [question.answer for question in both]
    assert seen > 5


def test_without_claims_one_scene_has_no_contrast() -> None:
    # The place at the earliest exit is the belief there, so a rule is right on both.
    for seed in range(40):
        found = hi_tom_items.pair(HiTomSettings(), Random(seed))
        for number in found.differing:
            assert "earliest_exit" in right_rules(found.observed, number)
            assert not in_contrast(found, number)


def test_the_rules_read_events_as_they_read_texts() -> None:
    for seed in range(30):
        made = hi_tom_items.generate_item(HiTomSettings(chapters=2, tell=True), Random(seed))
        assert parse_story(made.story).events == made.events
        for number, question in enumerate(made.questions):
            assert question.asked == parse_question(question.text)
            right = {
                rule
                for rule in SHORTCUTS
                if guess(rule, "hi_tom", made.story, question.text, question.choices)
                == question.answer
            }
            assert right_rules(made, number) == right


def test_whoever_is_told_in_place_of_the_witness_is_somebody_else() -> None:
    story: Story = (
        Enter(("Ann", "Bob", "Cleo"), "hall"),
        Move("Ann", "hat", "box"),
        Claim("Ann", "Bob", "hat", "bin"),
        Aside(Move("Ann", "hat", "bag"), distracted=("Bob",)),
    )
    made = list(hearing_twins(story))
    assert [(each.intervention, each.witness) for each in made] == [(HEARS, "Bob"), (SEES, "Bob")]
    assert made[0].hidden[2] == Claim("Ann", "Cleo", "hat", "bin")
    assert made[1].observed[3] == Aside(Move("Ann", "hat", "bag"), distracted=("Cleo",))
    assert made[1].hidden == story


def test_explore_tom_pairs_tell_what_the_speaker_believes() -> None:
    settings = ExploreTomSettings("tomi+info-exchange")
    for seed in SEEDS:
        found = explore_tom.pair(settings, Random(seed))
        for item in (found.observed, found.hidden):
            assert any(isinstance(event, Report) for event in item.events)
            assert explore_tom._sincere(item.events, settings)


def test_settings_without_pairs_say_so() -> None:
    with pytest.raises(NoPair, match=r"'tomi-object-state' have no moves to witness.*allowed"):
        explore_tom.pair(ExploreTomSettings("tomi-object-state"), Random(1))
