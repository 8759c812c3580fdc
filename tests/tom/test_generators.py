"""The generators: shape, gold answers, styles, counterfactual pairs."""

from __future__ import annotations

from random import Random

import pytest

from pipeline.tom.belief import beliefs
from pipeline.tom.conversation import speaks_first, speaks_least
from pipeline.tom.generate import explore_tom, fantom, surface
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.explore_tom_text import TOPICS
from pipeline.tom.generate.fantom import FantomSettings
from pipeline.tom.generate.names import NAMES, VILLAGE, WORKPLACE
from pipeline.tom.generate.styles import LOG, STYLE_NAMES
from pipeline.tom.observation import TOPIC
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import EXPLORE_TOM_PLAIN
from pipeline.tom.story import Aside, Carry, Discuss, Exit
from tests.tom.drawn import generated, twins

GENERATORS = ("hi_tom", "explore_tom", "fantom")
every = pytest.mark.parametrize("benchmark", GENERATORS)
styles = pytest.mark.parametrize("style", STYLE_NAMES)


@every
@styles
def test_every_question_has_an_answer_among_its_choices(benchmark: str, style: str) -> None:
    for seed in range(20):
        made = generated(benchmark, seed, style)
        assert made.style == style
        assert made.questions
        for question in made.questions:
            assert question.answer
            names = question.answer.split(", ") if ":list" in question.question_type else []
            for answer in names or [question.answer]:
                assert question.choices is None or answer in question.choices


@every
def test_styles_use_other_words_and_names(benchmark: str) -> None:
    texts = [generated(benchmark, 3, style).story for style in STYLE_NAMES]
    assert len(set(texts)) == len(texts)
    for text, names in zip(texts, (NAMES, VILLAGE, WORKPLACE), strict=True):
        assert any(name in text for name in names.agents)


@every
@styles
def test_pairs_ask_the_same_and_differ_in_an_answer(benchmark: str, style: str) -> None:
    for seed in range(10):
        made = twins(benchmark, seed, style)
        assert made.observed.story != made.hidden.story
        assert [q.text for q in made.observed.questions] == [q.text for q in made.hidden.questions]
        assert [q.choices for q in made.observed.questions] == [
            q.choices for q in made.hidden.questions
        ]
        assert made.differing
        assert made.witness in made.hidden.story


def test_explore_tom_makes_each_type_of_story() -> None:
    for story_type in explore_tom.STORY_TYPES:
        made = explore_tom.generate(ExploreTomSettings(story_type, moves=2), Random(1))
        asides = sum(isinstance(event, Aside) for event in made.events)
        assert asides == story_type.endswith("+asymmetric")
        assert any(isinstance(event, Carry) for event in made.events) >= ("room-ch" in story_type)
        assert any(isinstance(event, Discuss) for event in made.events) >= ("fantom-" in story_type)


def test_explore_tom_marks_what_not_everybody_would_answer_alike() -> None:
    made = explore_tom.generate(ExploreTomSettings("fantom-private"), Random(2))
    by_topic: dict[str, set[str]] = {}
    for question in made.questions:
        topic = next(topic for topic in TOPICS if topic in question.text)
        known = question.answer in ("yes", "knows about it")
        by_topic.setdefault(topic, set()).add(str(known))
    marked = {q.interesting for q in made.questions}
    assert marked == {True}  # first and second order use other words, as upstream
    assert by_topic


def test_fantom_list_and_yes_no_follow_from_who_was_there() -> None:
    for seed in range(20):
        made = fantom.generate(FantomSettings(people=4), Random(seed))
        leaver = next(event.agent for event in made.events if isinstance(event, Exit))
        known = beliefs(made.events, EXPLORE_TOM_PLAIN)
        listed = next(q for q in made.questions if q.question_type == "tom:answerability:list")
        assert leaver not in listed.answer.split(", ")
        assert len(listed.answer.split(", ")) == 3
        told = [event.topic for event in made.events if isinstance(event, Discuss)]
        assert sum(known.of((leaver,), topic, TOPIC) is None for topic in told) == 1


def test_fantom_short_context_begins_where_somebody_leaves() -> None:
    full = fantom.generate(FantomSettings(), Random(1))
    short = fantom.generate(FantomSettings(full_context=False), Random(1))
    assert full.story.endswith(short.story)
    lines = short.story.splitlines()
    leaves = next(number for number, line in enumerate(lines) if "step out" in line)
    assert 0 < leaves < len(lines) - 5
    assert not any("Shall we talk" in line for line in lines[:leaves])


def test_neither_the_first_nor_the_most_silent_participant_is_the_one_who_missed_it() -> None:
    for full in (True, False):
        settings = FantomSettings(people=3, full_context=full)
        first, least, count = 0, 0, 400
        for seed in range(count):
            made = fantom.generate(settings, Random(seed))
            short = fantom.generate(FantomSettings(people=3, full_context=False), Random(seed))
            leaver = next(event.agent for event in made.events if isinstance(event, Exit))
            first += speaks_first(made.story) == leaver
            least += speaks_least(short.story) == leaver
        assert 0.25 < first / count < 0.42
        assert 0.25 < least / count < 0.42


def test_most_canonical_names_are_known() -> None:
    hi_tom = ("Aiden Alexander Amelia Emma Liam", "lettuce persimmon tangerine", "crawlspace patio")
    agents, objects, rooms = (set(text.split()) for text in hi_tom)
    assert agents <= set(NAMES.agents)
    assert objects <= set(NAMES.objects) and rooms <= set(NAMES.rooms)
    assert {"red_treasure_chest", "green_bathtub", "blue_suitcase"} <= set(NAMES.containers)
    for other in (VILLAGE, WORKPLACE):
        for kind in ("agents", "objects", "rooms", "containers"):
            shared = set(getattr(other, kind)) & set(getattr(NAMES, kind))
            assert len(shared) <= 1
            assert len(getattr(other, kind)) == len(getattr(NAMES, kind))


def test_the_log_tells_the_last_event_first() -> None:
    made = generated("hi_tom", 1, "log")
    lines = made.story.splitlines()
    assert lines == sorted(lines, reverse=True)
    assert lines[-1].startswith("[09:00] ")
    assert surface.sentence(made.events[-1], LOG) in lines[0]


def test_nested_questions_in_every_style() -> None:
    asked = WhereQuestion("hat", ("Ann", "Bob", "Cleo"))
    assert (
        surface.ask(asked, "prose")
        == "Where, in Ann's idea of Bob's idea of Cleo's mind, is the hat?"
    )
    assert surface.ask(asked, "log") == (
        "Where does Ann expect Bob to expect Cleo to look for the hat?"
    )


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match="allowed"):
        ExploreTomSettings("x")
