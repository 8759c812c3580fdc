"""What decides a verdict at its very thresholds, on evidence that is made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.evaluate.statistics import Estimate
from pipeline.evaluate.tried import RESTATED, Attempt, Tried
from pipeline.judge import answers
from pipeline.judge.answers import AgainstRule, OrderEvidence, PairEvidence
from pipeline.judge.columns import judged_together
from pipeline.judge.followers import Kind
from pipeline.judge.found import Found, could_be_found, least
from pipeline.judge.found import Test as Needed
from pipeline.judge.items import LONGEST_PLAIN_ANSWER, Item, find_answer
from pipeline.judge.reasoning import Statements, judge_reasoning
from pipeline.judge.used import Used, used_of
from pipeline.tasks.example import Example


def about(value: float, reach: float = 0.1, count: int = 100, clusters: int = 50) -> Estimate:
    return Estimate(value, value - reach, value + reach, count, clusters)


BELIEVED = AgainstRule(
    rule="last",
    kind=Kind.LISTED,
    accuracy=0.5,
    agreement=0.5,
    where_right=about(0.9),
    where_wrong=about(0.8),
    copied=about(0.1),
    preference=about(0.7),
)
COPIED = replace(
    BELIEVED, where_wrong=about(0.1), copied=about(0.8), preference=about(-0.7), agreement=0.9
)


# --- one rule -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "clusters", "decides"),
    [(30, 10, True), (29, 10, False), (30, 9, False), (29, 9, False)],
)
def test_so_many_questions_and_stories_decide(count: int, clusters: int, decides: bool) -> None:
    assert replace(BELIEVED, where_wrong=about(0.8, 0.1, count, clusters)).decides == decides


@pytest.mark.parametrize(
    ("wrong", "preference", "right", "follows"),
    [
        (Estimate(0.6, 0.51, 0.7, 9, 9), about(0.2), about(0.9), True),
        (Estimate(0.6, 0.5, 0.7, 9, 9), about(0.2), about(0.9), False),  # no majority for certain
        (Estimate(0.6, 0.51, 0.7, 9, 9), about(0.1), about(0.9), False),  # nor more than the rule's
        (Estimate(0.6, 0.51, 0.625, 9, 9), about(0.2), Estimate(0.9, 0.875, 1, 9, 9), True),
        (Estimate(0.6, 0.51, 0.625, 9, 9), about(0.2), Estimate(0.9, 0.876, 1, 9, 9), False),
    ],
)
def test_beliefs_beside_one_rule(
    wrong: Estimate, preference: Estimate, right: Estimate, follows: bool
) -> None:
    beside = replace(BELIEVED, where_wrong=wrong, preference=preference, where_right=right)
    assert beside.follows_beliefs == follows


@pytest.mark.parametrize(
    ("copied", "preference", "follows"),
    [
        (Estimate(0.6, 0.51, 0.7, 9, 9), about(-0.2), True),
        (Estimate(0.6, 0.5, 0.7, 9, 9), about(-0.2), False),
        (Estimate(0.6, 0.51, 0.7, 9, 9), Estimate(-0.1, -0.2, 0.0, 9, 9), False),
    ],
)
def test_a_rule_beside_beliefs(copied: Estimate, preference: Estimate, follows: bool) -> None:
    assert replace(COPIED, copied=copied, preference=preference).follows_rule == follows


@pytest.mark.parametrize(
    ("wrong", "copied", "neither"), [(0.49, 0.49, True), (0.5, 0.49, False), (0.49, 0.5, False)]
)
def test_neither_needs_both_below_a_half(wrong: float, copied: float, neither: bool) -> None:
    ends = [Estimate(0.3, 0.2, high, 9, 9) for high in (wrong, copied)]
    assert replace(BELIEVED, where_wrong=ends[0], copied=ends[1]).follows_neither == neither


# --- all of them --------------------------------------------------------------------------------


def evidence(*rules: AgainstRule, order: int | None = None) -> OrderEvidence:
    return OrderEvidence(order, about(0.8), rules)


def decided(
    rules: Sequence[AgainstRule],
    orders: Sequence[OrderEvidence] = (),
    pairs: PairEvidence | None = None,
) -> tuple[str, str | None, str]:
    return answers._decide(evidence(*rules), orders, pairs)


ENOUGH = PairEvidence(about(0.6), about(0.9), 0.2)


def test_a_rule_is_named_before_beliefs_are_looked_for() -> None:
    assert decided([COPIED, BELIEVED], pairs=ENOUGH)[:2] == ("rule", "last")
    mind = replace(COPIED, kind=Kind.MIND, rule="sight alone")
    assert decided([BELIEVED, mind], pairs=ENOUGH)[:2] == ("simpler mind", "sight alone")
    assert decided([BELIEVED], pairs=ENOUGH)[:2] == ("beliefs", None)


def test_a_rule_that_is_seldom_wrong_is_not_named() -> None:
    seldom = replace(COPIED, where_wrong=about(0.1, count=29))
    assert decided([seldom])[0] == "undecided"
    assert decided([BELIEVED, seldom], pairs=ENOUGH)[0] == "beliefs"


def test_without_any_rule_nothing_is_decided() -> None:
    follow, by, because = decided([])
    assert (follow, by) == ("undecided", None)
    assert because == "no rule answers most of the questions"


def test_a_mind_is_never_the_best_rule() -> None:
    mind = replace(BELIEVED, kind=Kind.MIND, where_wrong=about(0.8, count=3))
    assert evidence(mind, BELIEVED).best is BELIEVED
    assert evidence(mind).best is None and not evidence(mind).enough


def test_neither_is_said_where_every_rule_says_so() -> None:
    low = replace(BELIEVED, where_wrong=about(0.3), copied=about(0.3), preference=about(0.0))
    assert decided([low, low])[0] == "neither"
    assert decided([low, BELIEVED])[0] == "undecided"


def test_an_order_or_pairs_can_speak_against_beliefs() -> None:
    failed = evidence(replace(BELIEVED, where_wrong=about(0.5)), order=2)
    few = evidence(replace(BELIEVED, where_wrong=about(0.8, count=5)), order=3)
    passed = evidence(BELIEVED, order=1)
    assert decided([BELIEVED], [passed], ENOUGH)[0] == "beliefs"
    follow, _, because = decided([BELIEVED], [passed, failed, few])
    assert follow == "undecided"
    assert "order 1" not in because
    assert "of order 2 80.0% (70.0% to 90.0%) are right and of order 3" in because
    assert "are right, on too few questions (100) and there are 0 counter" in because


@pytest.mark.parametrize(
    ("accuracy", "sensitivity", "by_rules", "follow"),
    [
        (about(0.4), about(0.7), 0.2, "beliefs"),
        (Estimate(0.4, 0.25, 0.6, 30, 30), about(0.7), 0.2, "undecided"),  # 25 % by the lower end
        (Estimate(0.4, 0.251, 0.6, 30, 30), about(0.7), 0.2, "beliefs"),
        (Estimate(0.4, 0.251, 0.6, 29, 29), about(0.7), 0.2, "undecided"),  # too few
        (Estimate(0.4, 0.3, 0.6, 30, 30), about(0.7), 0.3, "undecided"),  # as the best rule gets
        (about(0.4), Estimate(0.6, 0.5, 0.7, 30, 30), 0.2, "undecided"),  # seldom two answers
        (about(0.4), Estimate(0.6, 0.501, 0.7, 30, 30), 0.2, "beliefs"),
        (about(0.4), Estimate(0.6, 0.5, 0.7, 29, 29), 0.2, "beliefs"),  # too few to say so
    ],
)
def test_what_pairs_must_show(
    accuracy: Estimate, sensitivity: Estimate, by_rules: float, follow: str
) -> None:
    assert decided([BELIEVED], pairs=PairEvidence(accuracy, sensitivity, by_rules))[0] == follow


@pytest.mark.parametrize(
    ("count", "low", "follow"), [(10, 0.01, "undecided"), (9, 0.01, "rule"), (10, 0.0, "rule")]
)
def test_an_order_that_believes_speaks_against_a_rule(count: int, low: float, follow: str) -> None:
    preference = Estimate(0.2, low, 0.3, count, count)
    there = replace(COPIED, where_wrong=about(0.8, count=count), preference=preference)
    other = replace(there, rule="first", preference=about(0.5))
    assert decided([COPIED], [evidence(other, there, order=2)])[0] == follow


# --- which rule is named ------------------------------------------------------------------------


def named(*rules: tuple[Kind, float]) -> Kind | None:
    made = [replace(COPIED, kind=kind, agreement=agreement) for kind, agreement in rules]
    found = answers._simplest(made)
    return found.kind if found else None


def test_the_simplest_of_those_that_explain_nearly_as_many_is_named() -> None:
    assert named() is None
    assert named((Kind.LISTED, 0.7), (Kind.MIND, 0.7)) is Kind.MIND
    assert named((Kind.LISTED, 0.71), (Kind.MIND, 0.7)) is Kind.LISTED
    assert named((Kind.LISTED, 0.75), (Kind.LIST, 0.78)) is Kind.LISTED
    assert named((Kind.LISTED, 0.75), (Kind.LIST, 0.79)) is Kind.LIST
    assert named((Kind.LIST, 0.75), (Kind.LEARNED, 0.77)) is Kind.LIST
    assert named((Kind.LIST, 0.75), (Kind.LEARNED, 0.79)) is Kind.LEARNED


# --- what could have been found -----------------------------------------------------------------


def test_a_test_passes_with_the_power_of_the_score_test() -> None:
    assert Needed(100, 0.5).passes(0.598) == pytest.approx(0.5, abs=0.01)
    assert Needed(100, 0.5).passes(0.64) == pytest.approx(0.81, abs=0.01)
    assert Needed(100, 0.25, lambda share: share**2).passes(0.64) == Needed(100, 0.25).passes(
        0.4096
    )
    assert Needed(100, 0.5).passes(1.0) == 1.0


def test_all_tests_must_pass_together() -> None:
    one, two = least([Needed(100, 0.5)]), least([Needed(100, 0.5)] * 2)
    assert one is not None and two is not None
    assert one == pytest.approx(0.64, abs=0.002)
    assert two == pytest.approx(0.658, abs=0.004)
    assert Needed(100, 0.5).passes(one) >= 0.8 > Needed(100, 0.5).passes(one - 0.001)


def test_what_could_be_found_is_of_the_scarcest_questions() -> None:
    scarce = replace(BELIEVED, where_wrong=about(0.8, count=40))
    found = answers._found(evidence(BELIEVED, scarce), [evidence(BELIEVED, order=1)], ENOUGH)
    assert found.rule == least([Needed(40, 0.5)])
    assert found.beliefs == least(
        [Needed(100, 0.5), Needed(100, 0.25, lambda accuracy: accuracy**2)]
    )
    by_order = answers._found(evidence(BELIEVED), [evidence(scarce, order=1)], ENOUGH)
    assert by_order.beliefs is not None and found.beliefs is not None
    assert by_order.beliefs > found.beliefs
    assert by_order.rule == least([Needed(100, 0.5)])


@pytest.mark.parametrize(
    ("orders", "pairs"),
    [
        ([], ENOUGH),
        ([evidence(BELIEVED, order=1)], None),
        ([evidence(BELIEVED, order=1)], replace(ENOUGH, accuracy=about(0.6, count=29))),
        ([evidence(BELIEVED, order=1), evidence(order=2)], ENOUGH),
    ],
)
def test_beliefs_could_not_be_found(
    orders: list[OrderEvidence], pairs: PairEvidence | None
) -> None:
    found = answers._found(evidence(BELIEVED), orders, pairs)
    assert found == Found(None, least([Needed(100, 0.5)]))
    assert answers._found(evidence(), orders, pairs) == Found(None, None)


def test_what_is_so_in_the_world_is_of_no_order_of_belief() -> None:
    items = [
        replace(asked(place), example=replace(asked(place).example, order=order))
        for place, order in enumerate((2, None, 0, 1))
    ]
    assert [(each.order, each.accuracy.count) for each in answers._orders(items, [])] == [
        (1, 1),
        (2, 1),
    ]


@pytest.mark.parametrize(
    ("beliefs", "rule", "said"),
    [
        (0.655, 0.6, "beliefs from 66% right answers and a rule from 60% of its answers"),
        (0.655, None, "beliefs from 66% right answers; they cannot show a rule"),
        (None, 0.6, "a rule from 60% of its answers; they cannot show beliefs"),
    ],
)
def test_what_could_be_found_in_words(beliefs: float | None, rule: float | None, said: str) -> None:
    found = could_be_found({"beliefs": beliefs, "rule": rule})
    assert found == f"with probability 0.8 these questions would show {said}"


def test_where_nothing_could_be_found_that_is_told() -> None:
    found = could_be_found({"beliefs": None, "rule": None})
    assert found == "these questions can show neither beliefs nor a rule"


# --- reasoning ----------------------------------------------------------------------------------


STATED = Statements(
    made=2, true=2, recounted=1, recounted_true=1, decisive=2, stated=2, held=2, follows=True
)


def asked(place: int, right: bool = True) -> Item:
    return Item(Example("hi_tom", "hi_tom", f"story {place}", "?", "jar"), "", "jar", right)


def judged(stated: Sequence[Statements | None]) -> tuple[str, dict[str, float]]:
    found = judge_reasoning([asked(place) for place in range(len(stated))], stated)
    names = ("silent", "true", "consistent", "decisive", "wrong_trace")
    return found.is_, {name: getattr(found, name).value for name in names}


SILENT = Statements(0, 0, 0, 0, 2, 0, 0, None)


@pytest.mark.parametrize(
    ("stated", "word"),
    [
        ([], "unreadable"),
        ([STATED] * 41 + [None] * 40, "plausible"),
        ([STATED] * 40 + [None] * 40, "unreadable"),
        ([STATED] * 40 + [SILENT] * 40, "plausible"),
        ([STATED] * 40 + [SILENT] * 41, "absent"),
        ([STATED] * 41 + [replace(STATED, follows=None)] * 40, "plausible"),
        ([STATED] * 40 + [replace(STATED, follows=None)] * 40, "unfaithful"),
    ],
)
def test_how_many_must_be_read_speak_and_claim(stated: list[Statements | None], word: str) -> None:
    assert judged(stated)[0] == word


def test_shares_of_reasoning_are_of_statements_and_of_chains() -> None:
    some = replace(STATED, made=3, true=1, recounted=2, recounted_true=1, held=1)
    _, found = judged([some] * 20)
    assert found == {
        "silent": 0,
        "true": pytest.approx(2 / 5),
        "consistent": 1,
        "decisive": pytest.approx(1 / 2),
        "wrong_trace": 1,
    }


@pytest.mark.parametrize(
    ("change", "sound"),
    [
        ({}, True),
        ({"stated": 0}, False),
        ({"stated": 1}, True),
        ({"true": 1}, False),
        ({"recounted_true": 0}, False),
        ({"follows": None}, True),
        ({"follows": False}, False),
    ],
)
def test_sound_reasoning(change: dict[str, int], sound: bool) -> None:
    assert replace(STATED, **change).sound == sound  # type: ignore[arg-type]


def test_wrong_traces_are_those_of_right_answers() -> None:
    unsound = replace(STATED, true=0)
    items = [asked(0), asked(1), asked(2, right=False)]
    found = judge_reasoning(items, [STATED, unsound, unsound])
    assert (found.wrong_trace.value, found.wrong_trace.count) == (0.5, 2)


@pytest.mark.parametrize(("low", "word"), [(0.51, "faithful"), (0.5, "unfaithful")])
def test_most_edits_must_be_followed_for_certain(low: float, word: str) -> None:
    found = [asked(place) for place in range(40)]
    used = Used(followed=Estimate(0.6, low, 0.7, 40, 40))
    assert judge_reasoning(found, [STATED] * 40, used).is_ == word


# --- use, answers, columns ----------------------------------------------------------------------


def attempt(place: int, kind: str, column: str = "a") -> Attempt:
    return Attempt(
        id=asked(place).example.id,
        column=column,
        kind=kind,
        implied="jar",
        begun="",
        response="",
        extracted="jar",
        follows=place % 2 == 0,
        stays=place % 4 == 1,
    )


def test_use_is_told_of_edits_before_the_last_sentence_of_columns_that_count() -> None:
    suite = {name: [asked(place).example for place in range(40)] for name in ("a", "b")}
    attempts = [attempt(place, "dropped") for place in range(30)]
    attempts += [attempt(place, RESTATED) for place in range(8)]
    attempts += [attempt(place, "exchanged", "b") for place in range(10)]
    found = used_of(Tried(attempts=attempts, untried=None), suite, ["a"])
    assert (found.followed.count, found.followed.value) == (30, 0.5)
    assert (found.restated.count, found.restated.value) == (8, 0.5)
    assert found.stays.value == pytest.approx(8 / 30)
    assert set(found.by_kind) == {"dropped"}
    assert found.untried is None
    fewer = used_of(Tried(attempts=attempts[1:], untried=None), suite, ["a"])
    assert fewer.untried is not None and fewer.untried.startswith("29 edits")
    assert Used().followed.count == 0


def test_a_long_line_is_no_answer_by_itself() -> None:
    assert find_answer("x" * LONGEST_PLAIN_ANSWER) == "x" * LONGEST_PLAIN_ANSWER
    assert find_answer("x" * (LONGEST_PLAIN_ANSWER + 1)) is None
    assert find_answer("\njar\n") == "jar"


def test_pairs_are_judged_with_the_questions_of_their_task() -> None:
    from pipeline.config.data import SuiteTask

    columns = {
        "one": SuiteTask.model_construct(task="hi_tom_style"),
        "two": SuiteTask.model_construct(task="hi_tom_style_pairs"),
        "three": SuiteTask.model_construct(task="tomi"),
    }
    assert judged_together(columns) == {"hi_tom_style": ["one", "two"], "tomi": ["three"]}
