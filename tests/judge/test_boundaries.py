"""What decides a verdict at its very thresholds, on evidence that is made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.evaluate.statistics import Estimate
from pipeline.evaluate.tried import RESTATED, Attempt, Tried
from pipeline.judge import answers
from pipeline.judge.columns import judged_together
from pipeline.judge.decision import Decision, Evidence, decide
from pipeline.judge.evidence import AgainstRule, OrderEvidence, PairEvidence, simplest
from pipeline.judge.followers import Kind
from pipeline.judge.found import Found, could_be_found, least
from pipeline.judge.found import Test as Needed
from pipeline.judge.items import Item
from pipeline.judge.profile import Faculty
from pipeline.judge.reasoning import Statements, judge_reasoning
from pipeline.judge.systematic import ByHeart, Part
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
        (Estimate(0.5, 0.4, 0.6, 9, 9), about(0.2), about(0.9), False),  # no majority
        (Estimate(0.6, 0.51, 0.7, 9, 9), about(0.1), about(0.9), False),  # nor more than the rule's
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


# --- the decision -------------------------------------------------------------------------------


def faculty(mind: str = "moves unseen", whole: float = 0.9, count: int = 100) -> Faculty:
    lesser = 1 - whole
    shares = (about(whole, 0.05, count), about(lesser, 0.05, count))
    return Faculty(mind, None, *shares, about(whole - lesser, 0.1, count))


SEEN = faculty()
NO_HEART = ByHeart(0, 0.0, -1.0, 0.0)
ENOUGH = PairEvidence(about(0.6), about(0.9), 0.2)


RIGHT = about(0.8)


def evidence(
    *rules: AgainstRule,
    order: int | None = None,
    accuracy: Estimate = RIGHT,
    profile: tuple[Faculty, ...] = (SEEN,),
) -> OrderEvidence:
    return OrderEvidence(order, accuracy, rules, profile)


def decided(
    everything: OrderEvidence,
    orders: Sequence[OrderEvidence] = (),
    pairs: PairEvidence | None = None,
    part: Part | None = None,
    heart: ByHeart = NO_HEART,
) -> Decision:
    return decide(Evidence(everything, tuple(orders), pairs, part, heart))


def test_a_rule_is_named_before_beliefs_are_looked_for() -> None:
    found = decided(evidence(COPIED, BELIEVED))
    assert (found.follow, found.by) == ("rule", "last")
    mind = replace(COPIED, kind=Kind.MIND, rule="sight alone")
    found = decided(evidence(BELIEVED, mind))
    assert (found.follow, found.by) == ("simpler mind", "sight alone")
    assert decided(evidence(BELIEVED)).follow == "beliefs"


def test_a_rule_that_is_seldom_wrong_is_not_named() -> None:
    seldom = replace(COPIED, where_wrong=about(0.1, count=29))
    assert decided(evidence(seldom)).follow == "undecided"
    assert decided(evidence(BELIEVED, seldom)).follow == "beliefs"
    found = decided(evidence(replace(seldom, accuracy=0.9), BELIEVED))
    assert found.follow == "undecided" and "on only 29 questions" in found.because


def test_few_answers_decide_nothing() -> None:
    for accuracy in (about(0.9, count=29), about(0.9, clusters=9)):
        assert decided(evidence(BELIEVED, accuracy=accuracy)).follow == "undecided"
    assert decided(evidence()).because.startswith("every rule and lesser mind is right on nearly")


def test_beliefs_need_something_that_asks_for_them() -> None:
    assert decided(evidence(BELIEVED, profile=())).follow == "undecided"
    assert decided(evidence(BELIEVED, profile=()), pairs=ENOUGH).follow == "beliefs"
    seems = faculty("two orders", 0.4, 9)
    assert decided(evidence(BELIEVED, profile=(SEEN, seems))).follow == "undecided"
    few = faculty(count=29)
    assert decided(evidence(BELIEVED, profile=(few,))).follow == "undecided"
    found = decided(evidence(BELIEVED, profile=(SEEN, few)))
    assert found.follow == "beliefs"
    assert found.because.endswith("not asked: sees what happens: 26 of 29, where 30 are needed")


def test_a_faculty_that_lacks_or_is_unclear_speaks_against_beliefs() -> None:
    lost = faculty("sight alone", 0.0, 22)
    assert lost.state == "lacking" and faculty("sight alone", 0.0, 9).state == "not asked"
    assert faculty(whole=0.54).state == "unclear" and SEEN.state == "there"
    for each in (lost, faculty(whole=0.5)):
        found = decided(evidence(BELIEVED, profile=(SEEN, each)))
        assert (found.follow, found.because) == ("undecided", each.text())
    order = evidence(BELIEVED, order=2, profile=(lost,))
    assert decided(evidence(BELIEVED), [order]).because == f"in order 2 {lost.text()}"


def test_orders_that_answer_otherwise_make_a_mixture() -> None:
    """A rule that is right on nearly all of an order is followed there too."""
    one, two = evidence(BELIEVED, order=1), evidence(COPIED, order=2, accuracy=about(0.4))
    found = decided(evidence(replace(BELIEVED, where_wrong=about(0.5))), [one, two])
    assert (found.follow, found.by) == ("mixture", "beliefs in order 1, last in order 2")
    same = replace(BELIEVED, where_wrong=about(0.8, count=9))
    seldom = evidence(same, order=1)
    assert decided(evidence(COPIED), [one, two]).follow == "mixture"
    assert decided(evidence(COPIED), [seldom, two]).follow == "rule"
    lost = evidence(BELIEVED, order=3, accuracy=about(0.3))
    found = decided(evidence(replace(BELIEVED, where_wrong=about(0.5))), [one, lost])
    assert found.by == "beliefs in order 1, neither in order 3"


def test_systematic_errors_come_before_beliefs() -> None:
    part = Part("last", about(0.4), 1.0)
    found = decided(evidence(BELIEVED), part=part)
    assert (found.follow, found.by) == ("mixture", "beliefs and last")
    assert decided(evidence(COPIED), part=part).follow == "rule"
    told = Part("guesses", None, 0.8)
    assert decided(evidence(BELIEVED), part=told).follow == "mixture"
    lost = evidence(BELIEVED, profile=(SEEN, faculty("sight alone", 0.0)))
    assert decided(lost, part=told).follow == "undecided"
    assert decided(lost, part=part).follow == "mixture"
    heart = ByHeart(100, 0.5, 0.35, 0.4)
    assert decided(evidence(BELIEVED), heart=heart).follow == "by heart"
    few = replace(heart, pairs=29)
    assert decided(evidence(BELIEVED), heart=few).follow == "undecided"
    assert decided(evidence(BELIEVED), heart=replace(few, guessed=0.15)).follow == "beliefs"
    wide = replace(heart, low=0.29)
    assert not wide.asked and decided(evidence(BELIEVED), heart=wide).follow == "undecided"
    unlike = replace(heart, alike=0.3, low=0.15)
    assert decided(evidence(BELIEVED), heart=unlike).follow == "beliefs"
    assert decided(evidence(BELIEVED), heart=replace(heart, guessed=0.15)).follow == "beliefs"


def test_what_nothing_predicts_is_unexplained() -> None:
    low = replace(BELIEVED, where_wrong=about(0.3), copied=about(0.3), preference=about(0.0))
    assert decided(evidence(low, accuracy=about(0.3))).follow == "unexplained"
    assert decided(evidence(low, accuracy=about(0.4))).follow == "undecided"
    near = replace(low, agreement=0.51)
    assert decided(evidence(near, accuracy=about(0.3))).follow == "undecided"


@pytest.mark.parametrize(
    ("pairs", "follow"),
    [
        (PairEvidence(Estimate(0.2, 0.1, 0.25, 30, 30), about(0.9), 0.2), "undecided"),
        (PairEvidence(Estimate(0.2, 0.1, 0.26, 30, 30), about(0.9), 0.2), "beliefs"),
        (PairEvidence(Estimate(0.2, 0.1, 0.25, 29, 29), about(0.9), 0.2), "beliefs"),
        (PairEvidence(about(0.6), Estimate(0.3, 0.1, 0.5, 30, 30), 0.2), "undecided"),
        (PairEvidence(about(0.6), Estimate(0.3, 0.1, 0.5, 29, 30), 0.2), "beliefs"),
    ],
)
def test_pairs_that_surely_fail_speak_against_beliefs(pairs: PairEvidence, follow: str) -> None:
    assert decided(evidence(BELIEVED), pairs=pairs).follow == follow


def test_a_mind_is_never_the_best_rule() -> None:
    mind = replace(BELIEVED, kind=Kind.MIND, where_wrong=about(0.8, count=3))
    assert evidence(mind, BELIEVED).best is BELIEVED
    assert evidence(mind).best is None


# --- which rule is named ------------------------------------------------------------------------


def named(*rules: tuple[Kind, float]) -> Kind | None:
    made = [replace(COPIED, kind=kind, agreement=agreement) for kind, agreement in rules]
    found = simplest(made)
    return found.kind if found else None


def test_the_simplest_of_those_that_explain_nearly_as_many_is_named() -> None:
    assert named() is None
    assert named((Kind.LISTED, 0.7), (Kind.MIND, 0.7)) is Kind.LISTED
    assert named((Kind.LISTED, 0.7), (Kind.MIND, 0.71)) is Kind.MIND
    assert named((Kind.MIND, 0.75), (Kind.MINDS, 0.77)) is Kind.MIND
    assert named((Kind.LISTED, 0.75), (Kind.LIST, 0.78)) is Kind.LISTED
    assert named((Kind.LISTED, 0.75), (Kind.LIST, 0.79)) is Kind.LIST
    assert named((Kind.LIST, 0.75), (Kind.LEARNED, 0.77)) is Kind.LIST
    assert named((Kind.LIST, 0.75), (Kind.LEARNED, 0.79)) is Kind.LEARNED


# --- what could have been found -----------------------------------------------------------------


def test_a_test_passes_with_the_power_of_the_score_test() -> None:
    assert Needed(100, 0.5).passes(0.598) == pytest.approx(0.5, abs=0.01)
    assert Needed(100, 0.5).passes(0.64) == pytest.approx(0.81, abs=0.01)
    assert Needed(100, 0.5, surely=False).passes(0.5) == 0.5
    assert Needed(100, 0.5, surely=False).passes(0.55) == pytest.approx(0.84, abs=0.01)
    assert Needed(100, 0.5).passes(1.0) == 1.0


def test_all_tests_must_pass_together() -> None:
    one, two = least([Needed(100, 0.5)]), least([Needed(100, 0.5)] * 2)
    assert one is not None and two is not None
    assert one == pytest.approx(0.64, abs=0.002)
    assert two == pytest.approx(0.658, abs=0.004)
    assert Needed(100, 0.5).passes(one) >= 0.8 > Needed(100, 0.5).passes(one - 0.001)


def found_on(everything: OrderEvidence, *orders: OrderEvidence) -> Found:
    told = ByHeart(300, 0.0, -0.1, 0.3)
    return answers._found(Evidence(everything, orders, None, None, told))


def test_what_could_be_found_is_of_the_scarcest_questions() -> None:
    scarce = replace(BELIEVED, where_wrong=about(0.8, count=40))
    found = found_on(evidence(BELIEVED, scarce))
    beside = [Needed(100, 0.5, surely=False), Needed(40, 0.5, surely=False)]
    assert found == Found(least([Needed(100, 0.5), *beside]), least([Needed(40, 0.5)]))
    few = found_on(evidence(BELIEVED), evidence(BELIEVED, order=1, accuracy=about(0.8, count=40)))
    assert few.beliefs is not None and found.beliefs is not None
    assert few.beliefs > found.beliefs
    shut = Evidence(evidence(BELIEVED), (), None, None, NO_HEART)
    assert answers._found(shut).beliefs == answers.FROM_HEART
    assert found_on(evidence(BELIEVED, profile=())).beliefs is None
    assert found_on(evidence()) == Found(None, None)


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


def test_pairs_are_judged_with_the_questions_of_their_task() -> None:
    from pipeline.config.data import SuiteTask

    columns = {
        "one": SuiteTask.model_construct(task="hi_tom_style"),
        "two": SuiteTask.model_construct(task="hi_tom_style_pairs"),
        "three": SuiteTask.model_construct(task="tomi"),
    }
    assert judged_together(columns) == {"hi_tom_style": ["one", "two"], "tomi": ["three"]}
