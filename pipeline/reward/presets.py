"""Reward presets: how the grader's verdict becomes a number.

Reward and evaluation cannot disagree about what is correct: both ask the one grader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.errors import UserError
from pipeline.reward.fidelity import Fidelity, fidelity, has_own_words
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

FIDELITY = "fidelity"
_NOTHING = Grade(correct=False, strict=False, format_ok=False, extracted=None)


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of one response: ``score`` is the sum of its parts.

    Attributes:
        score: The number that training sees.
        format_part: What the format earned.
        answer_part: What the answer earned.
        grade: The grader's verdict.
        fidelity_part: What the reasoning earned.
        fidelity: The belief claims found in it, where the preset checks them and the engine can
            read the story.
        error: What the grader raised on this response, if it did.
    """

    score: float
    format_part: float
    answer_part: float
    grade: Grade
    fidelity_part: float = 0.0
    fidelity: Fidelity | None = None
    error: str | None = None


def _tom_rl(grade: Grade) -> tuple[float, float]:
    """Study 1 as coded: format +1/-1, answer +2/-2, a format failure also fails the answer."""
    if not grade.format_ok:
        return -1.0, -2.0
    return 1.0, 2.0 if grade.correct else -2.0


def _tom_rl_text(grade: Grade) -> tuple[float, float]:
    """Study 1 as written in the paper: format reward plus answer reward, graded separately."""
    return (1.0 if grade.format_ok else -1.0), (2.0 if grade.correct else -2.0)


def _rlvr(grade: Grade) -> tuple[float, float]:
    """Study 2: 0.1 for the format plus 1.0 for a correct answer."""
    return 0.1 * grade.format_ok, 1.0 * (grade.format_ok and grade.correct)


PRESETS: dict[str, Callable[[Grade], tuple[float, float]]] = {
    "tom-rl": _tom_rl,
    "tom-rl-text": _tom_rl_text,
    "rlvr": _rlvr,
    FIDELITY: _rlvr,
}
"""Format and answer part by preset; ``fidelity`` divides the answer's among answer and reasoning"""


def reward(preset: str, response: str, example: Example, *, fidelity_weight: float = 0.5) -> Reward:
    """Grade a response (the text after the pre-filled ``<think>``) and return its reward.

    Args:
        preset: One of ``PRESETS``.
        response: The response.
        example: The question with its answer; ``fidelity`` also reads its story.
        fidelity_weight: Of the preset ``fidelity``: the share of the answer's reward that the
            reasoning earns instead. Where the engine cannot read the story, the answer earns all,
            unless the reasoning is empty or only repeats the story and the question.

    Raises:
        UserError: If the preset or the example's task is unknown.
    """
    check_preset(preset)
    verdict = registry.get(example.task).grade(response, example)
    format_part, answer_part = PRESETS[preset](verdict)
    if preset != FIDELITY:
        return Reward(format_part + answer_part, format_part, answer_part, verdict)
    checked = fidelity(response, example)
    reasoning_part = 0.0
    if checked is not None or not has_own_words(response, example):
        answer_part *= 1 - fidelity_weight
    if checked is not None:
        reasoning_part = fidelity_weight * checked.score * verdict.format_ok
    score = format_part + answer_part + reasoning_part
    return Reward(score, format_part, answer_part, verdict, reasoning_part, checked)


def safe_reward(
    preset: str, response: str, example: Example, *, fidelity_weight: float = 0.5
) -> Reward:
    """Return the reward; a response on which grading raises has failed.

    Such a response is data, not a crash: it earns what an empty response earns and says why.

    Raises:
        UserError: If the preset or the example's task is unknown.
    """
    try:
        return reward(preset, response, example, fidelity_weight=fidelity_weight)
    except UserError:
        raise
    except Exception as error:
        format_part, answer_part = PRESETS[preset](_NOTHING)
        why = f"{type(error).__name__}: {error}"
        return Reward(format_part + answer_part, format_part, answer_part, _NOTHING, error=why)


def check_preset(preset: str) -> None:
    """Check that a preset exists.

    Raises:
        UserError: If it does not; lists those there are.
    """
    if preset not in PRESETS:
        raise UserError(f"unknown reward preset {preset!r}; there are: {', '.join(PRESETS)}")
