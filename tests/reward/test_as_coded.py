"""The preset ``tom-rl`` pays what Study 1's code pays, worked out here from its description."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pipeline.reward.presets import load_preset, reward
from pipeline.tasks.registry import get
from tests.corpus.answers import GOLDS

PRESETS = ("tom-rl", "tom-rl-strict", "tom-rl-text")
TRUTH = GOLDS["place"]
SAID = (
    *("red_box", "Red box", "red__box", "the red_box", "Ann thinks it is in the red_box"),
    *("either blue_jar or red_box", "red_box, not blue_jar", "blue_jar"),
)
DRESSES = (
    *("{}", " {} ", "{}.", "{}!", "{} .", "\n{}\n", '"{}"', "'{}'", "“{}”", "`{}`", "**{}**"),
    *("\\boxed{{{}}}", "\\text{{{}}}", "({})", "[{}]", "<b>{}</b>", "{}\u200b", "\u200b{}", "{}…"),
    *("B. {}", "- {}", "${}$", "{};", "{}\u00a0"),
)
FORMS = (
    *("Ann left.</think><answer>{}</answer>", "</think> so <answer>{}</answer> it is"),
    *("<answer>{}</answer>", "<think>Ann</think><answer>{}</answer>", "</think><answer>{}"),
    *("</think><answer></answer>{}", "</think><answer>x</answer><answer>{}</answer>"),
    *("<answer>{}</answer></think>", "</think></think><answer>{}</answer>"),
)


def normalised(text: str) -> str:
    """Lower case, white space collapsed, ``.,;:!?`` struck out, ``_`` a space."""
    text = re.sub(r"\s+", " ", text.lower()).strip()
    return re.sub("_", " ", re.sub(r"[.,;:!?]", "", text))


def paid(response: str, truth: str) -> float:
    """Form +1 or -1, answer +2 or -2; no answer is right in the wrong form."""
    whole = f"<think>{response}"
    tags = [whole.find(tag) for tag in ("<think>", "</think>", "<answer>", "</answer>")]
    once = all(whole.count(tag) == 1 for tag in ("<think>", "</think>", "<answer>", "</answer>"))
    if not once or tags != sorted(tags):
        return -3.0
    (answer,) = re.findall(r"<answer>(.*?)</answer>", whole, re.DOTALL)
    if not answer.strip():
        return -1.0
    said, right = normalised(answer.strip()), normalised(truth)
    ends = re.match(rf".*?{re.escape(right)}\s*\b$", said)
    return 3.0 if said == right or ends else -1.0


def test_every_answer_in_every_dress_earns_what_the_code_pays() -> None:
    preset = load_preset("tom-rl")
    answers = [dress.format(said) for said in SAID for dress in DRESSES]
    assert len(set(answers)) == 192
    seen: Counter[float] = Counter()
    lenient = 0
    for form in FORMS:
        for answer in answers:
            response = form.format(answer)
            given = reward(preset, response, TRUTH)
            assert given.score == paid(response, TRUTH.answer), response
            assert given.right or given.score < 0
            seen[given.score] += 1
            lenient += given.grade.format_ok and given.grade.correct and given.score < 0
    assert set(seen) == {3.0, -1.0, -3.0} and lenient > 20


@pytest.mark.parametrize("dress", ['"{}"', "**{}**", "\\boxed{{{}}}", "{}\u200b"])
def test_what_the_code_does_not_read_the_strict_presets_and_the_score_do(dress: str) -> None:
    response = f"Ann left.</think><answer>{dress.format('red_box')}</answer>"
    scores = {name: reward(load_preset(name), response, TRUTH).score for name in PRESETS}
    assert scores == {"tom-rl": -1.0, "tom-rl-strict": 3.0, "tom-rl-text": 3.0}
    grade = get("hi_tom").grade(response, TRUTH)
    assert grade.correct and grade.strict and not grade.published
