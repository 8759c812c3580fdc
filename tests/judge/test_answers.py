"""What answers follow: believers, simpler minds, rules listed and not, guessers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from pipeline.judge.answers import judge_answers, said_to_follow
from pipeline.judge.followers import GOLD_WORDING, Questions
from pipeline.judge.found import Test as Needed
from pipeline.judge.found import least
from pipeline.judge.items import Item
from pipeline.judge.reasoning import judge_reasoning, statements
from pipeline.judge.records import TaskVerdict
from pipeline.judge.verdict import Verdict
from pipeline.tasks.example import pairs_of
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
    """Gold is the engine's, every order has enough questions, and no rule of ours reaches 60 %.

    A rule of wording does: on questions that were not chosen against that class.
    """
    for example in examples()[::7]:
        answer = solve("hi_tom", HI_TOM.in_full(example.story), example.question).answer
        assert answer == example.answer
    orders = [example.order for example in examples()]
    assert all(orders.count(order) >= 90 for order in (1, 2, 3))
    right = {
        name: sum(said == e.answer for said, e in zip(answers, examples(), strict=True))
        for name, kind, answers in questions().said
        if kind.name != "MIND" and name != GOLD_WORDING
    }
    assert max(right.values()) <= 0.62 * len(examples()), right
    (wording,) = (answers for name, _, answers in questions().said if name == GOLD_WORDING)
    assert sum(a == e.answer for a, e in zip(wording, examples(), strict=True)) > 0.62 * len(right)


@pytest.mark.parametrize(
    ("respond", "follow", "by"),
    [
        (gold, "beliefs", None),
        (noisy(gold, 0.08), "beliefs", None),
        (noisy(gold, 0.2), "undecided", None),  # no structure is asked twice
        (saying("earliest exit"), "rule", "earliest exit"),
        (noisy(saying("earliest exit"), 0.2), "rule", "earliest exit"),
        (noisy(saying("last mention"), 0.1), "rule", "last mention"),
        (saying("last"), "rule", "last"),
        (noisy(saying("returns missed"), 0.1), "simpler mind", "returns missed"),
        (noisy(saying("chain reversed"), 0.1), "simpler mind", "chain reversed"),
        (noisy(saying("first claim alone"), 0.1), "simpler mind", "first claim alone"),
        (saying("alphabetically first"), "rule", "alphabetically first"),
        (saying("length of the question"), "rule", "length of the question"),
        (saying("sight alone"), "simpler mind", "sight alone"),
        (noisy(saying("everybody believed"), 0.1), "simpler mind", "everybody believed"),
        (guess, "unexplained", None),
        (lambda *_: "nowhere", "unexplained", None),
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

    found = judged(mixed)
    assert (found.follow, found.by) == ("mixture", "beliefs and last")
    assert found.explained == 1.0


def first_left(place: int) -> str:
    """The place when somebody asked about first left, ever: a rule that no list names."""
    example = examples()[place]
    at = ""
    for line in example.story.splitlines():
        if (
            " is in the " in line and "told" not in line and "claimed" not in line
        ) or " moved it to the " in line:
            at = line.rsplit(" ", 1)[1].rstrip(".")
        elif line.endswith(" left.") and line.split(" ", 1)[0] in example.question:
            return at
    return at


def test_a_second_part_that_no_list_names_is_found() -> None:
    def mixed(place: int, random: Random) -> str:
        return gold(place, random) if random.random() < 0.55 else first_left(place)

    assert judged(lambda place, _: first_left(place)).follow == "rule"
    found = judged(mixed)
    assert found.follow == "mixture", found.because


def known_by_heart(place: int, random: Random) -> str:
    """Know every other structure, by its digest, and guess elsewhere."""
    known = int(questions().structures[place], 16) % 2 == 0
    return gold(place, random) if known else guess(place, random)


def test_structures_known_by_heart_are_no_beliefs() -> None:
    """Each question comes again under other names, so that structures are asked for twice."""
    again = [replace(e, story=e.story + " ", story_id="", id="", meta={}) for e in examples()]
    asked = Questions.of([*examples(), *again])
    random = Random(1)
    answers = [known_by_heart(place, random) for _ in range(2) for place in range(len(again))]
    both = [*examples(), *again]
    given = [Item(e, a, a, a == e.answer) for e, a in zip(both, answers, strict=True)]
    found = judge_answers(given, asked)
    assert found.follow == "by heart", found.because
    slips = [noisy(gold, 0.25)(place, random) for _ in range(2) for place in range(len(again))]
    given = [Item(e, a, a, a == e.answer) for e, a in zip(both, slips, strict=True)]
    assert judge_answers(given, asked).follow == "beliefs"


def test_what_was_not_read_is_no_answer() -> None:
    given = items(gold)
    unread = [replace(each, response="I cannot say", extracted=None, right=False) for each in given]
    few = judge_answers([*unread[:67], *given[67:]], questions())
    assert (few.follow, few.because) == ("unread", "an answer was read in 593 of 660 responses")
    assert few.read.examples == ("I cannot say",) * 3
    enough = judge_answers([*unread[:66], *given[66:]], questions())
    assert (enough.follow, enough.accuracy.value) == ("beliefs", 1.0)
    assert judge_answers(unread, questions()).follow == "unread"


def test_labels_that_the_engine_contradicts_decide_nothing() -> None:
    """Whoever answers with wrong labels is judged by the others alone."""
    wrong = {
        place: replace(e, answer=next(c for c in candidates(place) if c != e.answer))
        for place, e in enumerate(examples())
        if place % 10 == 0
    }
    labelled = [wrong.get(place, e) for place, e in enumerate(examples())]
    given = [Item(e, e.answer, e.answer, True) for e in labelled]
    found = judge_answers(given, questions())
    assert (found.follow, found.contradicted, found.accuracy.count) == ("beliefs", 66, 594)


def test_one_order_that_fails_speaks_against_beliefs() -> None:
    def shallow(place: int, random: Random) -> str:
        order = examples()[place].order
        return guess(place, random) if order == 3 else gold(place, random)

    found = judged(shallow)
    assert (found.follow, found.by) == ("mixture", "beliefs in order 1, 2, neither in order 3")
    assert [each.follows_beliefs for each in found.orders] == [True, True, False]


def test_answers_that_never_move_do_not_follow_beliefs() -> None:
    """Of pairs with two right answers, both are answered alike."""
    pairs = pairs_of(examples())
    said = {one: other for one, other in pairs.values()}

    def still(place: int, _: Random) -> str:
        return examples()[said.get(place, place)].answer

    found = judged(still)
    assert found.pairs is not None and found.pairs.sensitivity.value == 0
    assert found.follow != "beliefs"


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
            ("mixture", "beliefs and last"),
            ("by heart", None),
            ("unexplained", None),
            ("unread", None),
            ("undecided", None),
        )
    ]
    assert said == [
        "answers follow beliefs",
        "answers follow the rule 'last'",
        "answers follow a simpler mind, 'sight alone'",
        "answers follow a mixture: beliefs and last",
        "answers are known by heart for some structures and not for others",
        "nothing that was tried explains the answers",
        "too few answers were read for a verdict",
        "what answers follow is undecided",
    ]


def test_candidates_are_the_places_that_the_story_names() -> None:
    for place, example in enumerate(examples()[:20]):
        words = example.story.replace(".", " ").split()
        assert set(candidates(place)) <= set(words)
        assert example.answer in candidates(place)
