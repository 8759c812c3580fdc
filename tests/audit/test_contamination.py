"""Overlaps between sets, and the refusal of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from pipeline.audit.contamination import Fingerprints, Overlap
from pipeline.tasks.example import Example

STORY = "Ann entered the hall. The hat is in the red_box. Bob moved the hat to the jar."


def example(story: str = STORY, question: str = "Where is the hat?") -> Example:
    return Example("b", "t", story, question, "jar")


def overlap(training: Example, test: Example, length: int = 5) -> Overlap:
    return Fingerprints.of([training], length).overlap([test])


def kinds(found: Overlap) -> set[str]:
    return {kind for kind, ids in found.found.items() if ids}


def test_the_same_example_overlaps_in_every_way() -> None:
    found = overlap(example(), example())
    assert kinds(found) == {"story", "normalised_story", "question", "item", "ngram"}
    assert found.ngram_share == 1


def test_case_punctuation_and_spacing_do_not_hide_a_story() -> None:
    found = overlap(example(), example(STORY.upper().replace(". ", ",\n\n")))
    assert kinds(found) == {"normalised_story", "question", "item", "ngram"}


def test_the_question_alone_is_no_item() -> None:
    assert kinds(overlap(example(), example("Somebody else went elsewhere, alone."))) == {
        "question"
    }
    assert "item" not in kinds(overlap(example(), example(question="Why is that so?")))


def test_arithmetic_has_no_story_but_its_question() -> None:
    one, other = example("", "How many are 2 and 3?"), example("", "How many are 3 and 4?")
    assert "normalised_story" in kinds(overlap(one, one))
    assert "normalised_story" not in kinds(overlap(one, other))


def test_short_texts_and_empty_sets() -> None:
    assert kinds(overlap(example("Ann.", "Who?"), example("Ann.", "Who?"), 13)) >= {"item"}
    empty = Fingerprints.of([]).overlap([])
    assert (empty.rows, empty.ngram_share, empty.leaked) == (0, 0, 0)


TEXTS = some.lists(some.text("ab ,.\n", min_size=1, max_size=12), max_size=6)


@given(TEXTS, TEXTS, some.integers(1, 4))
def test_what_is_found_stands_in_both_sets(one: list[str], two: list[str], length: int) -> None:
    training, test = [example(text) for text in one], [example(text) for text in two]
    found = Fingerprints.of(training, length).overlap(test)
    assert set(found.found["story"]) == {e.id for e in test if e.story in one}
    assert set(found.found["story"]) <= set(found.found["normalised_story"])
    assert set(found.found["item"]) <= set(found.found["normalised_story"])
    assert 0 <= found.ngram_share <= 1
