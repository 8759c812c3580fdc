"""The generators: shape, gold answers, styles, counterfactual pairs."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from pipeline.tom.belief import beliefs
from pipeline.tom.conversation import speaks_first, speaks_least
from pipeline.tom.generate import explore_tom, fantom, opentom, surface, tomi
from pipeline.tom.generate.explore_tom import ExploreTomSettings
from pipeline.tom.generate.explore_tom_text import TOPICS
from pipeline.tom.generate.fantom import FantomSettings
from pipeline.tom.generate.names import NAMES, VILLAGE, WORKPLACE
from pipeline.tom.generate.opentom import OpenTomSettings
from pipeline.tom.generate.styles import LOG, STYLE_NAMES, get_style
from pipeline.tom.generate.tomi import TomiSettings
from pipeline.tom.observation import TOPIC
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import EXPLORE_TOM_PLAIN, TOMI_UPSTREAM
from pipeline.tom.story import Aside, Carry, Discuss, Exit
from tests.tom.drawn import generated, twins

GENERATORS = ("hi_tom", "tomi", "explore_tom", "fantom", "opentom")
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


def test_tomi_makes_each_type_of_story_with_its_six_questions() -> None:
    for story_type in tomi.STORY_TYPES:
        made = tomi.generate(TomiSettings(story_type), Random(1))
        assert made.story_type == story_type
        assert [q.order for q in made.questions] == [0, 1, 2, 0, 1, 2]
        assert made.questions[0].question_type == "memory"


def test_tomi_names_false_beliefs_in_the_question_type() -> None:
    for seed in range(30):
        made = tomi.generate(TomiSettings(), Random(seed))
        truth = made.questions[3].answer
        for question in made.questions:
            if question.order:
                assert question.question_type.endswith("no_tom") == (question.answer == truth)


def test_tomi_labels_as_upstream_on_request() -> None:
    plain = [tomi.generate(TomiSettings(), Random(seed)) for seed in range(100)]
    quirk = [tomi.generate(TomiSettings(rules=TOMI_UPSTREAM), Random(seed)) for seed in range(100)]
    assert [made.story for made in plain] == [made.story for made in quirk]
    pairs = zip(plain, quirk, strict=True)
    changed = [a.questions[i] != b.questions[i] for a, b in pairs for i in (2, 5)]
    assert 0.02 < sum(changed) / len(changed) < 0.25  # upstream: about 10 %


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


def test_opentom_narratives_are_as_long_and_as_various_as_upstreams() -> None:
    for style in STYLE_NAMES:
        made = [opentom.generate(OpenTomSettings(), Random(s), style).story for s in range(200)]
        lengths = [len(story.split()) for story in made]
        assert 185 < sum(lengths) / len(lengths) < 203  # upstream: 194
        assert min(lengths) > 100 and max(lengths) < 280
        names = re.compile(r"\b[A-Z]\w+|\d+")
        openings = Counter(names.sub("", story)[:40] for story in made)
        assert openings.most_common(1)[0][1] < 30


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


def test_opentom_asks_23_questions_and_settles_each() -> None:
    for witness in opentom.WITNESS:
        made = opentom.generate(OpenTomSettings(witness, "likes"), Random(3))
        assert len(made.questions) == 23
        fine = {
            (question.order, question.text.split("'s")[0]): question.answer
            for question in made.questions
            if "where precisely" in question.text or "located precisely" in question.text
        }
        places = next(q for q in made.questions if q.question_type == "location-fo").choices
        assert places is not None
        first, last = places
        mover = made.events[0].agents[0]  # type: ignore[union-attr]
        knows = {who: place for (order, who), place in fine.items() if order == 1}
        thinks = {who: place for (order, who), place in fine.items() if order == 2}
        assert knows.pop(f"From {mover}") == last
        assert list(knows.values()) == [last if witness in ("seen", "glimpsed") else first]
        noticed = last if witness in ("seen", "overlooked") else first
        assert thinks[f"From {mover}"] == noticed


@pytest.mark.parametrize(
    ("wish", "place", "attitude"),
    [
        ("likes", "wardrobe", "negative"),
        ("likes", "middle of the table", "positive"),
        ("hates", "wardrobe", "positive"),
        ("hates", "middle of the table", "negative"),
        ("does not care about", "wardrobe", "neutral"),
    ],
)
def test_opentom_attitudes(wish: str, place: str, attitude: str) -> None:
    made = next(
        found
        for seed in range(200)
        if place in (found := opentom.generate(OpenTomSettings("seen", wish), Random(seed))).story
    )
    assert made.questions[-1].answer == attitude


def test_the_log_tells_the_last_event_first() -> None:
    made = generated("tomi", 1, "log")
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
    with pytest.raises(ValueError, match="unknown style 'x'; allowed: benchmark, prose, log"):
        get_style("x")
    with pytest.raises(ValueError, match="unknown style 'x'"):
        fantom.generate(FantomSettings(), Random(1), "x")
    with pytest.raises(ValueError, match="unknown style 'x'"):
        opentom.generate(OpenTomSettings(), Random(1), "x")
    for make in (
        lambda: TomiSettings("x"),
        lambda: ExploreTomSettings("x"),
        lambda: OpenTomSettings("x"),
        lambda: OpenTomSettings(wish="x"),
    ):
        with pytest.raises(ValueError, match="allowed"):
            make()
