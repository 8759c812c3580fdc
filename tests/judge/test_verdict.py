"""The verdict, on responders made up so that it is known what they follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

import pytest

from pipeline.audit.reading import read_all
from pipeline.audit.rules import RULES
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.judge.answers import said_to_follow
from pipeline.judge.items import Item, find_answer, items_of
from pipeline.judge.verdict import Verdict, judge
from pipeline.tasks.example import Example

STORIES = 150
Responder = Callable[[Example, str | None, Random], str]


@cache
def questions() -> tuple[tuple[Example, str, str | None], ...]:
    """Return examples with true reasoning and what the rule of the earliest exit answers."""
    source = HiTomSource(
        kind="hi_tom_style", agents=5, structure="free", tell=True, trace="beliefs"
    )
    rows = [row for told in stories(source, "test", STORIES) for row in told]
    examples = [
        Example("hi_tom", "hi_tom", r["story"], r["question"], r["answer"], order=r["order"])
        for r in rows
    ]
    rule = RULES["earliest exit"]
    said = [rule(reading) for reading in read_all(examples)]
    traces = [row["trace"] for row in rows]
    return tuple(zip(examples, traces, said, strict=True))


def tagged(answer: str, reason: str = "reasoning process here") -> str:
    return f"{reason}</think><answer>{answer}</answer>"


def judged(respond: Responder, chosen: Sequence[int] | None = None) -> Verdict:
    random = Random(0)
    asked = questions() if chosen is None else [questions()[place] for place in chosen]
    return judge(items_of((ex, respond(ex, rule, random)) for ex, _, rule in asked))


def places(example: Example) -> list[str]:
    return sorted({word.strip(".") for word in example.story.split() if "_" in word})


def by_belief(example: Example, rule: str | None, random: Random) -> str:
    return tagged(example.answer)


def by_rule(example: Example, rule: str | None, random: Random) -> str:
    return tagged(rule or example.answer)


def by_dice(example: Example, rule: str | None, random: Random) -> str:
    return tagged(random.choice(places(example)))


def with_noise(respond: Responder, share: float) -> Responder:
    def answer(example: Example, rule: str | None, random: Random) -> str:
        noisy = random.random() < share
        return (by_dice if noisy else respond)(example, rule, random)

    return answer


@pytest.mark.parametrize(
    ("respond", "follow", "rule"),
    [
        (by_belief, "beliefs", None),
        (with_noise(by_belief, 0.2), "beliefs", None),
        (by_rule, "rule", "earliest exit"),
        (with_noise(by_rule, 0.2), "rule", "earliest exit"),
        (by_dice, "neither", None),
        (lambda *_: tagged("nowhere"), "neither", None),
        (lambda *_: "", "neither", None),
    ],
)
def test_what_answers_follow(respond: Responder, follow: str, rule: str | None) -> None:
    found = judged(respond)
    assert (found.answers.follow, found.answers.by) == (follow, rule), found.answers.because


def test_half_and_half_is_undecided() -> None:
    def mixed(example: Example, rule: str | None, random: Random) -> str:
        return (by_belief if random.random() < 0.5 else by_rule)(example, rule, random)

    assert judged(mixed).answers.follow == "undecided"


def test_few_items_are_undecided_however_clear() -> None:
    wrong = [p for p, (example, _, rule) in enumerate(questions()) if rule != example.answer]
    right = [p for p, (example, _, rule) in enumerate(questions()) if rule == example.answer]
    few = judged(by_belief, [*right[:200], *wrong[:8]])
    assert few.answers.follow == "undecided"
    assert "8 questions on which 'earliest exit'" in few.answers.because
    one_story = [p for p, (example, *_) in enumerate(questions())][:5] * 20
    assert judged(by_belief, one_story).answers.follow == "undecided"


def test_where_a_rule_is_right_and_answers_collapse_where_it_is_wrong() -> None:
    """Right on 55 % where the rule is wrong, on all where it is right: no verdict for beliefs."""

    def leaning(example: Example, rule: str | None, random: Random) -> str:
        right = rule == example.answer or random.random() < 0.6
        return tagged(example.answer if right else "nowhere")

    assert judged(leaning).answers.follow == "undecided"


@pytest.mark.parametrize(("both", "follow"), [(True, "beliefs"), (False, "undecided")])
def test_counterfactual_pairs_count(both: bool, follow: str) -> None:
    items = list(items_of((ex, by_belief(ex, rule, Random(0))) for ex, _, rule in questions()))
    pairs = [
        Item(
            Example("hi_tom", "hi_tom", e.story, e.question, e.answer, meta={"pair": str(n // 2)}),
            item.response,
            item.extracted if both or n % 2 else "nowhere",
            both or bool(n % 2),
        )
        for n, (item, (e, *_)) in enumerate(zip(items[:80], questions(), strict=False))
    ]
    # All other items are right, so that only the pairs can speak against beliefs.
    found = judge([*items, *pairs])
    assert found.answers.pairs is not None
    assert found.answers.pairs.accuracy.count == 40
    assert found.answers.follow == follow


def test_answers_that_never_move_do_not_follow_beliefs() -> None:
    """Most pairs want one answer for both stories and get it; the others do not get their two."""
    pairs = [
        Item(
            Example("hi_tom", "hi_tom", f"{pair} {member}", "?", gold, meta={"pair": str(pair)}),
            *("", "box", gold == "box"),
        )
        for pair in range(140)
        for member, gold in enumerate(("box", "box" if pair < 100 else "bin"))
    ]
    items = items_of((ex, by_belief(ex, rule, Random(0))) for ex, _, rule in questions())
    found = judge([*items, *pairs]).answers
    assert found.pairs is not None
    assert found.pairs.accuracy.low > 0.5 and found.pairs.sensitivity.count == 40
    assert found.follow == "undecided"
    assert found.because.endswith("pairs with two in 0.0% (0.0% to 9.3%)")


def with_reasons(answer: Callable[[Example, str], tuple[str, str]]) -> Verdict:
    told = [(ex, *answer(ex, trace)) for ex, trace, _ in questions()]
    return judge(items_of((ex, tagged(text, reason)) for ex, text, reason in told))


def test_true_reasoning_is_plausible_as_long_as_its_use_is_not_tried() -> None:
    found = with_reasons(lambda example, trace: (example.answer, trace)).reasoning
    assert found.is_ == "plausible"
    assert (found.true.value, found.consistent.value, found.wrong_trace.value) == (1, 1, 0)


def test_reasons_for_another_answer_are_unfaithful() -> None:
    """True reasons, and an answer that does not follow from them."""
    found = with_reasons(lambda example, trace: ("nowhere", trace)).reasoning
    assert (found.is_, found.true.value, found.consistent.value) == ("unfaithful", 1, 0)


def test_false_reasons_for_right_answers_are_unfaithful() -> None:
    def made_up(example: Example, trace: str) -> tuple[str, str]:
        elsewhere = next((p for p in places(example) if p != example.answer), "attic")
        return example.answer, trace.replace(example.answer, elsewhere)

    found = with_reasons(made_up).reasoning
    assert found.is_ == "unfaithful"
    assert found.wrong_trace.value > 0.9


def test_reasons_that_make_up_places_are_unfaithful() -> None:
    found = with_reasons(
        lambda example, trace: (example.answer, trace.replace(example.answer, "grey_shed"))
    )
    assert found.reasoning.is_ == "unfaithful"


@pytest.mark.parametrize("reason", ["", "reasoning process here", "Let us think step by step."])
def test_no_reasons_are_absent(reason: str) -> None:
    assert with_reasons(lambda example, trace: (example.answer, reason)).reasoning.is_ == "absent"


def test_copying_the_story_is_no_reasoning() -> None:
    found = with_reasons(lambda example, trace: (example.answer, example.story))
    assert found.reasoning.is_ == "absent"


def test_what_the_engine_cannot_read_is_unreadable() -> None:
    example = Example("explore_tom", "explore_tom", "It rained.", "Where is it?", "attic")
    found = judge(items_of([(example, tagged("attic", "Ann thinks it is in the attic."))] * 3))
    assert (found.reasoning.is_, found.answers.follow) == ("unreadable", "undecided")


def test_the_evidence_is_json_with_the_three_keys() -> None:
    found = judged(by_rule).as_json()
    assert (found["answers"], found["rule"], found["reasoning"]) == (
        "rule",
        "earliest exit",
        "absent",
    )
    rules = found["evidence"]["answers"]["rules"]
    assert rules[0]["where_wrong"]["value"] < 0.2
    assert found["evidence"]["reasoning"]["true"] is None


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("x</think><answer> jar </answer>", "jar"),
        ('{"thinking": "x", "answer": "jar"}', "jar"),
        ('```json\n{"answer": "jar"}\n```', "jar"),
        ("jar", "jar"),
        ("I think.\nNo answer.", None),
        ("long " * 100, None),
    ],
)
def test_where_an_answer_is_found(response: str, answer: str | None) -> None:
    assert find_answer(response) == answer


def test_what_answers_follow_begins_a_sentence() -> None:
    verdicts = [("beliefs", None), ("rule", "last"), ("neither", None), ("undecided", None)]
    assert [said_to_follow(*each) for each in verdicts] == [
        "answers follow beliefs",
        "answers follow the rule 'last'",
        "answers follow neither beliefs nor a rule",
        "what answers follow is undecided",
    ]
