"""Which stories and questions are retold as recounts, and which are not."""

from __future__ import annotations

import pytest

from pipeline.tom.retelling import retell

STORY = """1 Emma entered the hall.
2 Noah entered the hall.
3 The apple is in the red_box.
4 Noah moved the apple to the blue_box."""


def test_a_question_about_the_end_is_retold() -> None:
    found = retell("tomi", STORY, "Where will Emma look for the apple?")
    assert found is not None
    assert (found.chain, found.people) == (("Emma",), ("Emma", "Noah"))
    assert found.places == ("red_box", "blue_box")


@pytest.mark.parametrize(
    ("benchmark", "story", "question"),
    [
        ("tomi", STORY, "Where was the apple at the beginning?"),
        ("tomi", STORY, "What does Emma want?"),
        ("tomi", "", "Where will Emma look for the apple?"),
        ("tomi", "Nobody knows.", "Where will Emma look for the apple?"),
        ("fantom_list", STORY, "Where will Emma look for the apple?"),
    ],
)
def test_others_are_not(benchmark: str, story: str, question: str) -> None:
    assert retell(benchmark, story, question) is None
