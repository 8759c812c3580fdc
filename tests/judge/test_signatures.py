"""Each signature on made-up responders that have it, and on others that lack it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from pipeline.evaluate.statistics import Estimate
from pipeline.judge.signatures import (
    Reason,
    checkpoint_noise,
    copied_template,
    diversity_collapse,
    fall,
    flat_outside,
    format_collapse,
    inverted_difficulty,
    language_drift,
    reasoning_of,
    response_collapse,
)

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
    assert response_collapse(reasons(texts(90)), reasons(texts(after))).present == present


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
    ],
)
def test_inverted_difficulty(chances: tuple[float, ...], present: bool) -> None:
    found = inverted_difficulty(answers(*chances), ORDERS, CLUSTERS)
    assert found is not None and found.present == present
    assert found.low <= found.value <= found.high


def test_one_order_cannot_be_inverted() -> None:
    assert inverted_difficulty([True] * 3, [0, 1, None], [0, 1, 2]) is None


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


def test_in_distribution_up_and_out_of_distribution_flat() -> None:
    assert flat_outside(rising(0.1, 0.2), rising(-0.03, 0.03)).present
    assert not flat_outside(rising(0.1, 0.2), rising(0.05, 0.15)).present
    assert not flat_outside(rising(-0.1, 0.1), rising(-0.03, 0.03)).present
    assert not flat_outside(rising(0.1, 0.2), rising(-0.2, 0.2)).present  # not known to be flat


def test_format_collapse() -> None:
    assert format_collapse(rising(0.3, 0.4), rising(-0.1, 0.05)).present
    assert not format_collapse(rising(0.3, 0.4), rising(0.2, 0.35)).present
    assert not format_collapse(rising(-0.1, 0.1), rising(-0.2, -0.1)).present


@pytest.mark.parametrize(("low", "high", "present"), [(-0.2, -0.1, True), (-0.2, 0.1, False)])
def test_falls(low: float, high: float, present: bool) -> None:
    assert fall("forgetting", rising(low, high), "change of sums").present == present


def test_checkpoint_noise() -> None:
    """Study 1's 7B-1M at steps 700, 750 and 800: 75.2, 79.8, 84.5 % of 600."""
    found = checkpoint_noise([0.752, 0.798, 0.845], 600)
    assert found is not None and found.present and found.value == pytest.approx(0.093)
    calm = checkpoint_noise([0.80, 0.81, 0.79], 600)
    assert calm is not None and not calm.present
    assert checkpoint_noise([0.5, 0.9], 600) is None
    perfect = checkpoint_noise([1.0, 1.0, 1.0], 600)
    assert perfect is not None and not perfect.present


def test_diversity_collapse() -> None:
    random = Random(0)
    early = [random.uniform(0.8, 1.0) for _ in range(50)]
    late = [random.uniform(0.1, 0.3) for _ in range(50)]
    assert diversity_collapse(early, late).present
    assert not diversity_collapse(early, early).present
