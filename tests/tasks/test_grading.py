"""The rules of extraction and matching, at their edges and under attack."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tasks.example import Example
from pipeline.tasks.grading import (
    Grade,
    TooLate,
    extract_tagged,
    extract_tagged_or_all,
    format_ok,
    grade,
    match_equal,
    match_suffix,
    match_verbatim,
    normalise,
    repeats_a_tag,
)
from pipeline.tasks.json_answer import extract_json
from pipeline.tasks.registry import get
from tests.corpus.answers import GOLDS

GOLD = Example("b", "t", "story", "Where?", "green_drawer")
MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    ("answer", "suffix", "equal"),
    [
        ("green_drawer", True, True),
        ("Green Drawer.", True, True),
        ("the green_drawer", True, True),
        ("It is in the green_drawer!", True, False),
        ("in the evergreen_drawer", True, False),
        ("green_drawer, I think", False, False),
        ("green_drawer .", False, True),
        ("drawer", False, False),
        ("", False, False),
    ],
)
def test_rules(answer: str, suffix: bool, equal: bool) -> None:
    assert match_suffix(answer, GOLD) is suffix
    assert match_equal(answer, GOLD) is equal


def test_normalise() -> None:
    assert normalise("  The  RED_box,\n now ") == "the red box now"
    assert normalise("box .") == "box "


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("</think><answer> box </answer>", "box"),
        ("<answer>a</answer><answer>b</answer>", "b"),
        ("<answer>a</answer> then <answer>b", "a"),
        ("<answer>a</answer></answer>", "a"),
        ("write <answer> first</think><answer>b</answer>", "b"),
        ("<answer></answer>", ""),
        ("<answer>a", None),
        ("a</answer>", None),
        ("</answer><answer>", None),
        ("", None),
    ],
)
def test_extract_tagged(response: str, answer: str | None) -> None:
    assert extract_tagged(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ('{"thinking": "x", "answer": "box"}', "box"),
        ('{"thinking": "x" "answer": "box', "box"),
        ('"answer": "a", "answer": "b"', "a"),
        ('"my answer": "a"', "a"),
        ('{"answer":"box"}', "box"),
        ('{"answer" : "box"}', "box"),
        ('```json\n{"why": "x", "Answer": "box",}\n```', "box"),
        ('{"wrong_answer": "bin", "answer": "the \\"box\\""}', 'the "box"'),
        ('{"why": "x"}\n{"answer": "box"}', "box"),
        ('{"answer": "a", "answer": "b"}', "a"),
        ('{"answer": ["Ann", "Tom"]}', "Ann, Tom"),
        ('{"answer": 18}', "18"),
        ('{"answer": null}', None),
        ('{"why": "a {", "answer": "box"}', "box"),
        ("{'answer': 'box'}", None),
        ("", None),
    ],
)
def test_extract_json(response: str, answer: str | None) -> None:
    assert extract_json(response) == answer


@pytest.mark.parametrize(
    ("response", "fine"),
    [
        ("x</think><answer>y</answer>", True),
        ("<think>x</think>\n<answer>y</answer>", False),
        ("x<answer>y</answer></think>", False),
        ("x</think><answer>y", False),
        ("x</think><answer>y</answer><answer>z</answer>", False),
        ("<think><think>x</think><answer>y</answer>", False),
        ("", False),
    ],
)
def test_format(response: str, fine: bool) -> None:
    assert format_ok(response) is fine


def test_blank_answer_is_never_graded() -> None:
    def always(answer: str, example: Example) -> bool:
        return True

    for response in ("", "<answer></answer>", "<answer>  </answer>"):
        assert not grade(response, GOLD, always, always).correct
    assert grade("<answer>x</answer>", GOLD, always, always).correct


@pytest.mark.parametrize("unit", ["{", 'answer": "'])
def test_a_hostile_megabyte_of_json_is_read_at_once(unit: str) -> None:
    response = unit * (MEGABYTE // len(unit))

    def seconds() -> float:
        start = time.process_time()
        assert not grade(response, GOLD, match_suffix, match_equal, extract_json).correct
        return time.process_time() - start

    assert min(seconds() for _ in range(3)) < 0.1


PLACES = {"original_place": "box", "move_to_place": "a bin", "suffix": "_fo"}
ASKED = [
    *GOLDS.values(),
    Example(
        *("fantom", "fantom_belief_free", "s", "q", "she knows"),
        meta={"wrong_answer": "she does not"},
    ),
    *(
        Example("opentom", "opentom", "s", "q", truth, meta=PLACES | {"kind": kind})
        for kind, truth in (
            ("location_fine", "box"),
            ("location_coarse", "Yes"),
            ("fullness", "more full"),
            ("accessibility", "more accessible"),
            ("attitude", "neutral"),
        )
    ),
]
"""A question for every rule."""


@given(st.text(), st.sampled_from(ASKED))
def test_no_text_breaks_a_rule(text: str, example: Example) -> None:
    task = get(example.task)
    for response in (text, f"</think><answer>{text}</answer>", f"\\boxed{{{text}}}"):
        task.grade(response, example, extract_tagged_or_all)
    task.grade(f'"answer": "{text}"', example, extract_json)


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("a green drawer", "Green_Drawer", True),
        ("an drawer", "the drawer", True),
        ("the a box", "box", False),  # one article only
        ("the", "the", True),
        ("the ", "box", False),
        ("?", "?", False),
        ("box" + " " * 9_996, "box", True),  # 9,999 characters
        ("box" + " " * 9_997, "box", False),
    ],
)
def test_the_strict_rule_leaves_out_one_article(answer: str, gold: str, same: bool) -> None:
    assert match_equal(answer, Example("b", "t", "s", "q", gold)) is same


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (" In the green_drawer.. ", "green_drawer", True),
        ("evergreen_drawer", "green_drawer", True),
        ("green drawer", "green_drawer", False),
        ("green_drawer!", "green_drawer", False),
        ("GREEN_drawer", "Green_Drawer", True),
        ("box", "", False),
    ],
)
def test_the_rule_before_it_was_expanded(answer: str, gold: str, right: bool) -> None:
    assert match_verbatim(answer, Example("b", "t", "s", "q", gold)) is right


def test_suffixes_of_empty_and_odd_truths() -> None:
    for answer, gold, right in (
        ("box", "", False),
        ("", "", False),
        ("a b)", "b)", False),
        ("b)", "b)", True),
        ("x 10_", "10_", False),  # its end is a space, once normalised
        ("x 10", "10", True),
        ("x é", "é", True),
    ):
        assert match_suffix(answer, Example("b", "t", "s", "q", gold)) is right, answer


def test_repeated_tags() -> None:
    assert not repeats_a_tag("x</think><answer>y</answer>") and not repeats_a_tag("")
    for tag in ("<think>", "</think></think>", "<answer><answer>", "</answer></answer>"):
        assert repeats_a_tag(f"x {tag} y"), tag


def test_a_grade_of_several_answers_and_of_one_that_comes_too_late() -> None:
    def late(answer: str, example: Example) -> bool:
        raise TooLate

    one, two = "x</think><answer>a</answer>", "x</think><answer>b</answer><answer>a</answer>"
    gold = Example("b", "t", "s", "q", "a")
    assert grade(one, gold, match_suffix, match_equal) == Grade(
        True, True, True, "a", published=True
    )
    assert grade(two, gold, match_suffix, match_equal) == Grade(
        True, False, False, "a", published=True
    )
    for tag in ("<answer>", "</answer>"):
        found = grade(f"x{tag} {one}", gold, match_suffix, match_equal)
        assert (found.correct, found.strict, found.extracted) == (True, False, "a")
    assert grade(one, gold, late, match_equal) == Grade(True, True, True, "a")
    late_one = grade("<answer>an a</answer>", replace(gold, answer="b"), late, match_equal)
    assert late_one == Grade(False, False, False, "an a", too_late=True)
    assert grade("a", gold, match_suffix, match_equal) == Grade(False, False, False, None)
    blank = "x</think><answer> </answer>"
    assert grade(blank, gold, match_suffix, match_equal) == Grade(False, False, True, "")
    assert grade("a", gold, match_suffix, match_equal, extract_tagged_or_all).strict
