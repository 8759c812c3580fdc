"""What answers follow: believers, simpler minds, rules listed and not, guessers."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from pipeline.judge.answers import judge_answers, said_to_follow
from pipeline.judge.found import Test as Needed
from pipeline.judge.found import least
from pipeline.judge.items import Item
from pipeline.judge.reasoning import judge_reasoning, statements
from pipeline.judge.records import TaskVerdict
from pipeline.judge.verdict import Verdict
from pipeline.tasks.example import Example
from pipeline.tom.language import HI_TOM
from pipeline.tom.solve import solve
from tests.judge.hard import (
    Respond,
    candidates,
    examples,
    gold,
    guess,
    items,
    judged,
    noisy,
    questions,
    saying,
)


def test_the_questions_are_what_they_are_taken_for() -> None:
    """Gold is the engine's, every order has enough questions, and no rule reaches 60 %."""
    for example in examples()[::7]:
        answer = solve("hi_tom", HI_TOM.in_full(example.story), example.question).answer
        assert answer == example.answer
    orders = [example.order for example in examples()]
    assert all(orders.count(order) >= 90 for order in (1, 2, 3))
    right = {
        name: sum(said == e.answer for said, e in zip(answers, examples(), strict=True))
        for name, kind, answers in questions().said
        if kind.name != "MIND"
    }
    assert max(right.values()) <= 0.62 * len(examples()), right


@pytest.mark.parametrize(
    ("respond", "follow", "by"),
    [
        (gold, "beliefs", None),
        (noisy(gold, 0.2), "beliefs", None),
        (saying("earliest exit"), "rule", "earliest exit"),
        (noisy(saying("earliest exit"), 0.2), "rule", "earliest exit"),
        (noisy(saying("last mention"), 0.1), "rule", "last mention"),
        (saying("reality"), "simpler mind", "reality"),
        (saying("sight alone"), "simpler mind", "sight alone"),
        (noisy(saying("everybody believed"), 0.1), "simpler mind", "everybody believed"),
        (guess, "neither", None),
        (lambda *_: "nowhere", "neither", None),
        (lambda *_: "", "neither", None),
    ],
)
def test_what_answers_follow(respond: Respond, follow: str, by: str | None) -> None:
    found = judged(respond)
    assert (found.follow, found.by) == (follow, by), found.because


@pytest.mark.parametrize(
    ("cue", "otherwise", "named"),
    [
        ("first claim", "initial", "first claim, else initial"),
        (
            "last claim heard by the innermost agent",
            "initial",
            "last claim heard by the innermost ",
        ),
        ("last public claim", "outermost exit", "last public claim, else outermost exit"),
    ],
)
def test_a_rule_that_nobody_listed_is_named(cue: str, otherwise: str, named: str) -> None:
    found = judged(noisy(saying(cue, otherwise), 0.15))
    assert found.follow == "rule", found.because
    assert found.by is not None
    assert found.by.startswith(named)
    assert found.explained > 0.75
    assert found.best == found.by
    assert [each.kind.name for each in found.rules if each.rule == found.by] == ["LIST"]


def test_a_rule_that_no_list_of_two_tells_is_found_all_the_same() -> None:
    """By order: where the object is, the first claim, where it was at first."""

    def answer(place: int, random: Random) -> str:
        order = examples()[place].order
        name = {1: "initial", 2: "first place", 3: "last mention"}[order or 1]
        return saying(name)(place, random)

    found = judged(answer)
    assert (found.follow, (found.by or "")[:19]) == ("rule", "learned rule, near ")
    assert found.explained > 0.8


def test_half_and_half_is_not_called_beliefs() -> None:
    def mixed(place: int, random: Random) -> str:
        return (gold if random.random() < 0.5 else saying("last"))(place, random)

    assert judged(mixed).follow == "undecided"


def test_one_order_that_fails_speaks_against_beliefs() -> None:
    def shallow(place: int, random: Random) -> str:
        order = examples()[place].order
        return guess(place, random) if order == 3 else gold(place, random)

    found = judged(shallow)
    assert found.follow == "undecided"
    assert [each.follows_beliefs for each in found.orders] == [True, True, False]


def test_pairs_that_rules_solve_as_well_speak_against_beliefs() -> None:
    random = Random(3)

    def answer(place: int, _: Random) -> str:
        paired = "pair" in examples()[place].meta
        return guess(place, random) if paired else gold(place, random)

    found = judged(answer)
    assert found.pairs is not None
    assert found.pairs.accuracy.low <= found.pairs.least
    assert found.follow == "undecided"


def test_answers_that_never_move_do_not_follow_beliefs() -> None:
    """Most pairs want one answer for both stories and get it; the others do not get their two."""
    still = [
        Item(
            Example("hi_tom", "hi_tom", f"{pair} {member}", "?", right, meta={"pair": f"s{pair}"}),
            *("", "box", right == "box"),
        )
        for pair in range(140)
        for member, right in enumerate(("box", "box" if pair < 100 else "bin"))
    ]
    alone = [item for item in items(gold) if "pair" not in item.example.meta]
    found = judge_answers([*alone, *still])
    assert found.pairs is not None
    assert found.pairs.accuracy.low > 0.5
    assert found.pairs.sensitivity.count == 40
    assert found.follow == "undecided"
    assert "pairs with two in 0.0% (0.0% to 9.3%)" in found.because


def test_what_could_have_been_found_is_found_as_often_as_promised() -> None:
    promised = judged(gold).found
    assert promised.beliefs is not None
    assert promised.rule is not None
    believers = [judged(noisy(gold, 1 - promised.beliefs), seed).follow for seed in range(5)]
    assert believers.count("beliefs") >= 3, believers
    unsure = [judged(noisy(gold, 1.12 - promised.beliefs), seed).follow for seed in range(2)]
    assert unsure.count("beliefs") == 0, unsure


@pytest.mark.parametrize(
    ("count", "above", "least_share"), [(100, 0.5, 0.64), (400, 0.5, 0.571), (100, 0.25, 0.387)]
)
def test_the_least_share_that_one_test_finds(count: int, above: float, least_share: float) -> None:
    """Against simulation: Wilson's interval lies above the threshold in four of five draws."""
    from pipeline.evaluate.statistics import share

    random = Random(0)
    test = Needed(count, above)
    if above == 0.5:
        assert least([test]) == pytest.approx(least_share, abs=0.01)
    drawn = [
        share([random.random() < least_share for _ in range(count)], range(count)).low > above
        for _ in range(300)
    ]
    assert sum(drawn) / 300 == pytest.approx(test.passes(least_share), abs=0.07)


def test_no_test_finds_nothing() -> None:
    assert least([]) is None
    assert least([Needed(3, 0.9)]) is None


def numbers(found: object) -> Iterator[float]:
    """Yield every number of a JSON value."""
    if isinstance(found, float):
        yield found
    inside = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    for each in inside:
        yield from numbers(each)


def test_the_verdict_is_json_and_a_record() -> None:
    given = items(noisy(saying("earliest exit"), 0.1))
    reasoning = judge_reasoning(given, [statements(item) for item in given])
    verdict = Verdict(judge_answers(given, questions()), reasoning)
    found = verdict.as_json()
    assert all(round(number, 4) == number for number in numbers(found))
    assert (found["answers"], found["by"]) == ("rule", "earliest exit")
    assert found["explained"] == pytest.approx(0.9, abs=0.03)
    assert found["reasoning"] == "absent"
    assert found["found"]["rule"] == verdict.answers.found.rule
    answers = found["evidence"]["answers"]
    assert answers["best"] == "earliest exit"
    assert list(answers["orders"]) == ["1", "2", "3"]
    assert answers["orders"]["1"]["beliefs"] is False
    assert answers["pairs"]["by_rules"] == pytest.approx(verdict.answers.pairs.by_rules, abs=1e-4)  # type: ignore[union-attr]
    kinds = {rule["rule"]: rule["kind"] for rule in answers["rules"]}
    assert (kinds["earliest exit"], kinds["sight alone"]) == ("listed", "mind")
    record = TaskVerdict.of(["a"], verdict, [])
    assert record.follow == "rule (earliest exit)"
    assert {rule["kind"] for rule in record.listed} == {"listed"}
    assert verdict.words == "rule (earliest exit), absent"


def test_what_answers_follow_begins_a_sentence() -> None:
    said = [
        said_to_follow(*each)
        for each in (
            ("beliefs", None),
            ("rule", "last"),
            ("simpler mind", "sight alone"),
            ("neither", None),
            ("undecided", None),
        )
    ]
    assert said == [
        "answers follow beliefs",
        "answers follow the rule 'last'",
        "answers follow a simpler mind, 'sight alone'",
        "answers follow neither beliefs nor a rule",
        "what answers follow is undecided",
    ]


def test_candidates_are_the_places_that_the_story_names() -> None:
    for place, example in enumerate(examples()[:20]):
        words = example.story.replace(".", " ").split()
        assert set(candidates(place)) <= set(words)
        assert example.answer in candidates(place)
