"""The answer in a reply of any form: every form that models give is read as the same answer."""

from __future__ import annotations

import pytest

from pipeline.tasks.example import Example
from pipeline.tasks.replies import LONGEST_PLAIN_ANSWER, find_answer

CHOICES = ("blue_jar", "red_box", "green_bag")
ASKED = Example("hi_tom", "hi_tom", "A story.", "Where is it?", "red_box", choices=CHOICES)
FREE = Example("hi_tom", "hi_tom", "A story.", "Where is it?", "red_box")
LETTERED = ("B", "(b)", "B.", "**B**", "B. red_box", "(B) red_box", "b: red box", "B) **red_box**")
NAMED = ("red_box", "the red_box", "`red_box`", "Red Box.", "It is in the red_box.")
AROUND = (
    "{}",
    "<answer>{}</answer>",
    "<think>Blue_jar at first.</think>\n<answer>{}</answer>",
    "<think>The answer is blue_jar.</think>{}",
    "Answer: {}\n\nExplanation: it was in the blue_jar before.",
    "First the blue_jar.\nNo, a green_bag.\n\nSo the answer is {}",
    "The blue_jar is empty. Therefore, the **answer** is:\r\n\r\n{}",
    "From the blue_jar it was moved. \\boxed{{{}}} follows.",
    'After the blue_jar: {{"answer": "{}"}}',
)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("said", LETTERED + NAMED)
def test_every_form_is_the_same_answer(around: str, said: str) -> None:
    from pipeline.judge.items import items_of

    [item] = items_of([(ASKED, around.format(said))])
    assert item.right
    assert item.says("red_box")
    assert not item.says("blue_jar")
    assert said not in LETTERED or item.extracted == "red_box"


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("B. red_box\n\nThe blue_jar was left alone.", "red_box"),
        ("1. The blue_jar was left.\n2. So:\nB. red_box", "red_box"),
        ("The answer is B. red_box, since nobody saw. Does that help?", "red_box"),
        ("So Ann thinks it is really in B. red_box, not in the blue_jar.\n\nI hope so.", "red_box"),
        ("I say <answer>blue_jar</answer>, no, <answer>red_box</answer>.", "red_box"),
        ("A. red_box", "A. red_box"),
        ("It is in the red_box or the blue_jar.", "It is in the red_box or the blue_jar."),
        ("It may be in A. blue_jar.\nOr in B. red_box.\nWho knows?", None),
        ("content_filter", None),
        ("I think.\nNo answer.", None),
        ("", None),
        ("<think>So <answer>blue_jar</answer>, but wait", None),
        ("<think>x</think><think>The answer is B. red_box", None),
    ],
)
def test_what_is_the_answer_and_what_is_none(response: str, answer: str | None) -> None:
    assert find_answer(response, ASKED) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("x</think><answer> jar </answer>", "jar"),
        ('```json\n{"answer": "jar"}\n```', "jar"),
        ("\njar\n", "jar"),
        ("The answer is jar. It was left there.", "jar"),
        ("x" * LONGEST_PLAIN_ANSWER, "x" * LONGEST_PLAIN_ANSWER),
        ("x" * (LONGEST_PLAIN_ANSWER + 1), None),
        ("long " * 100, None),
    ],
)
def test_without_options_a_short_line_is_an_answer(response: str, answer: str | None) -> None:
    assert find_answer(response, FREE) == answer
