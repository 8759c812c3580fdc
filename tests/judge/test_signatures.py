"""Each signature on made-up responders that have it, and on others that lack it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from pipeline.evaluate.statistics import Estimate
from pipeline.judge.items import Item
from pipeline.judge.signatures import (
    Reason,
    Signature,
    checkpoint_noise,
    copied_template,
    diversity_collapse,
    entropy_collapse,
    fall,
    flat_outside,
    format_collapse,
    inverted_difficulty,
    language_drift,
    reasoning_of,
    response_collapse,
    shrunk_responses,
    single_signatures,
)
from pipeline.tasks.example import Example

STORIES = 100
ORDERS = [order for _ in range(STORIES) for order in range(5)]
CLUSTERS = [story for story in range(STORIES) for _ in range(5)]


def texts(words: int, spread: int = 5, count: int = 200) -> list[str]:
    random = Random(words)
    return [
        f"{'so ' * random.randint(words - spread, words + spread)}</think><answer>box</answer>"
        for _ in range(count)
    ]


def answers(*chances: float) -> list[bool]:
    """Draw answers with a chance to be right for each order from 0 to 4."""
    random = Random(0)
    return [random.random() < chances[order] for order in ORDERS]


def reasons(responses: Sequence[str]) -> list[Reason]:
    return [Reason.of(response) for response in responses]


def rising(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 400, 100)


@pytest.mark.parametrize(("after", "present"), [(20, True), (45, False), (90, False), (100, False)])
def test_response_collapse(after: int, present: bool) -> None:
    found = response_collapse(reasons(texts(90)), reasons(texts(after)))
    assert found.present == present and found.low < found.high
    assert after / 90 - 0.05 < found.low <= found.value <= found.high < after / 90 + 0.05


def test_the_answer_is_no_reasoning() -> None:
    assert reasoning_of("why </think>\n<answer> a long answer </answer>") == "why"
    assert reasoning_of('{"thinking": "why", "answer": "a"}') == '{"thinking": "why", }'
    assert reasoning_of("<answer> never closed") == ""


@pytest.mark.parametrize(
    ("chances", "present"),
    [
        ((0.5, 0.5, 0.5, 0.9, 0.9), True),
        ((1.0, 0.9, 0.8, 0.7, 0.6), False),
        ((0.1, 0.7, 0.7, 0.7, 0.7), False),
        ((1, 1, 1, 1, 1), False),
    ],
)
def test_inverted_difficulty(chances: tuple[float, ...], present: bool) -> None:
    found = inverted_difficulty(answers(*chances), ORDERS, CLUSTERS)
    assert found is not None and found.present == present
    assert found.low <= found.value <= found.high


def test_one_order_cannot_be_inverted() -> None:
    assert inverted_difficulty([True] * 3, [0, 1, None], [0, 1, 2]) is None


def test_what_one_set_of_responses_can_show() -> None:
    assert single_signatures([]) == []
    shown = [
        [
            each.name
            for each in single_signatures([Item(example, "so", None, True) for example in of])
        ]
        for of in ([asked(1)], [asked(order, story) for order in (1, 2) for story in "ab"])
    ]
    assert shown[0] == ["copied template", "language drift"]
    assert shown[1] == ["inverted difficulty", *shown[0]]


def asked(order: int, story: str = "a") -> Example:
    return Example("hi_tom", "hi_tom", story, "Where?", "here", order=order)


def test_copied_template() -> None:
    reason = "reasoning process here, of more than the sixty characters that are shown of it"
    found = copied_template(reasons([f"{reason} </think>"] * 95), range(95))
    assert f"is {reason[:60]!r}" in found.what and found.value == 1.0
    other = reasons([f"{reason} {n}" for n in range(95)])  # that begins alike is not the same
    assert not copied_template(other, range(95)).present
    same = ["reasoning process here </think><answer>box</answer>"] * 95 + texts(30, count=5)
    assert copied_template(reasons(same), range(100)).present
    assert not copied_template(reasons(texts(30, spread=20, count=100)), range(100)).present
    empty = ["</think><answer>box</answer>"] * 100
    assert not copied_template(reasons(empty), range(100)).present  # no reasoning is no template


def test_language_drift() -> None:
    drifted = ["他认为 it is in the box"] * 30 + ["it is in the box"] * 70
    assert language_drift(reasons(drifted), range(100)).present
    plain = ["naïve café, α and β: it is in the box"] * 100
    assert not language_drift(reasons(plain), range(100)).present


@pytest.mark.parametrize(("low", "high", "present"), [(-0.2, -0.1, True), (-0.2, 0.1, False)])
def test_falls(low: float, high: float, present: bool) -> None:
    assert fall("forgetting", rising(low, high), "change of sums").present == present


def test_checkpoint_noise() -> None:
    assert checkpoint_noise([0.5, 0.9], 600) is None
    perfect = checkpoint_noise([1.0, 1.0, 1.0], 600)
    assert perfect is not None and not perfect.present


# --- effects, counted by hand ---------------------------------------------------------------------


def ends(found: Signature | None) -> tuple[float, ...]:
    assert found is not None
    return found.value, found.low, found.high


def test_effects_between_two_changes() -> None:
    flat = flat_outside(rising(0.1, 0.2), rising(-0.03, 0.04))
    assert ends(flat) == pytest.approx((0.145, 0.06, 0.23)) and flat.present
    for edge in (rising(-0.05, 0.03), rising(-0.03, 0.05)):
        inside = flat_outside(rising(0.1, 0.2), edge)
        assert not inside.present, "its interval must lie within the margin"
    assert not flat_outside(rising(0.0, 0.2), rising(-0.03, 0.03)).present
    format_ = format_collapse(rising(0.3, 0.4), rising(-0.1, 0.05))
    assert ends(format_) == pytest.approx((0.375, 0.25, 0.5))
    assert not format_collapse(rising(0.3, 0.4), rising(0.01, 0.05)).present, "lists rise too"
    assert format_collapse(rising(0.3, 0.4), rising(0.0, 0.05)).present
    assert not format_collapse(rising(0.05, 0.4), rising(-0.1, 0.05)).present
    assert not fall("forgetting", rising(-0.2, 0.0), "").present


@pytest.mark.parametrize(("after", "present"), [(4, True), (5, False)])
def test_ratios_of_what_is_always_the_same(after: int, present: bool) -> None:
    """Below half, not half, and the interval has no width."""
    first, last = [0.5] * 9, [after / 20] * 9
    found = [
        response_collapse(reasons(["so " * 10] * 9), reasons(["so " * after] * 9)),
        diversity_collapse(first, last),
        entropy_collapse(first, last),
        shrunk_responses([10] * 9, [after] * 9, rising(after / 10, after / 10)),
    ]
    for each in found:
        assert ends(each) == pytest.approx((after / 10,) * 3) and each.present == present
    said = [f"10 -> {after}; ratio", f"0.50 -> {after / 20:.2f}", f"0.50 -> {after / 20:.2f}"]
    assert all(part in each.what for part, each in zip(said, found[:3], strict=True))
    assert f"10 -> {after}" in found[3].what


def test_of_nothing_nothing_is_lost() -> None:
    for found in (
        response_collapse(reasons([""] * 9), reasons([""] * 9)),
        entropy_collapse([0], [1]),
    ):
        assert (ends(found), found.present) == ((1, 1, 1), False)


@pytest.mark.parametrize(("spread", "present"), [(0.0285, True), (0.028, False)])
def test_checkpoints_beside_the_chi_square_of_two_degrees(spread: float, present: bool) -> None:
    """5.99 = 2 d^2 over 0.8 x 0.2 / 600 at d = 0.0283; 1.96 standard errors are 0.0453."""
    found = checkpoint_noise([0.8 - spread, 0.8, 0.8 + spread], 600)
    assert found is not None and found.present == present
    assert ends(found) == pytest.approx(
        (2 * spread, 2 * spread - 0.0453, 2 * spread + 0.0453), abs=1e-4
    )
    calm = checkpoint_noise([0.8, 0.8, 0.8], 600)
    assert ends(calm) == pytest.approx((0, 0, 0.0453), abs=1e-4)


@pytest.mark.parametrize(
    ("orders", "right", "lower", "upper"),
    [
        ((0, 1, 2, 3, 4), {3, 4}, "1, 2", "3, 4"),
        ((0, 1, 2, 3), {3}, "1", "3"),
        ((1, 2), {2}, "1", "2"),
    ],
)
def test_halves_of_the_orders(
    orders: tuple[int, ...], right: set[int], lower: str, upper: str
) -> None:
    asked = [(order, story) for story in range(2) for order in orders]
    found = inverted_difficulty(
        [order in right for order, _ in asked], [o for o, _ in asked], [s for _, s in asked]
    )
    assert found is not None and found.present and ends(found) == (1, 1, 1)
    assert found.what == f"accuracy of orders {upper} less that of orders {lower}"


@pytest.mark.parametrize(("share", "template", "drift"), [(1.0, True, True), (0.5, False, True)])
def test_shares_of_responses(share: float, template: bool, drift: bool) -> None:
    count = round(400 * share)
    texts = ["他认为 here it is"] * count + [f"here it is {n}" for n in range(400 - count)]
    same, foreign = (
        copied_template(reasons(texts), range(400)),
        language_drift(reasons(texts), range(400)),
    )
    assert (same.value, same.present) == (share, template)
    assert (foreign.value, foreign.present) == (share, drift)
