"""Phrasings of belief claims, kind by kind, and places that a story does not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.tom.claims.reader import ReadStory, read_claims, read_story
from pipeline.tom.claims.words import Vocabulary
from pipeline.tom.language import HI_TOM
from pipeline.tom.rules import HI_TOM as RULES

NAMES = Vocabulary(
    people=frozenset({"Mia", "Leo", "Zoe"}),
    objects=frozenset({"fig", "pen"}),
    containers=frozenset({"red_crate", "blue_vase", "green_vase", "red_pan"}),
    rooms=frozenset({"attic"}),
)
STORY = (
    "Mia, Leo and Zoe entered the attic.\nThe fig is in the red_crate.\nLeo exited the attic.\n"
    "Mia moved the fig to the blue_vase.\nMia exited the attic.\nZoe exited the attic."
)


def phrasings() -> Iterator[tuple[str, str]]:
    """Texts of ``claims/phrasings.txt``, each with the claims that it makes."""
    path = Path(__file__).parent / "claims" / "phrasings.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, claims = line.partition(" => ")
            yield text.replace("\\n", "\n"), claims


def read(text: str, names: Vocabulary = NAMES) -> str:
    """Claims as ``Mia Leo: not red_crate (earlier)``, those of nobody as of the world."""
    return ", ".join(
        f"{' '.join(claim.holders) or 'world'}: {'not ' * claim.negated}{claim.place}"
        f"{' (earlier)' * (claim.when != 'end')}"
        for claim in read_claims(text, names, "fig")
    )


def told() -> ReadStory:
    return read_story(HI_TOM, STORY, RULES)


@pytest.mark.parametrize(("text", "claims"), phrasings())
def test_phrasings(text: str, claims: str) -> None:
    assert read(text) == claims


def test_a_thing_or_a_word_of_the_reader_is_no_last_word() -> None:
    names = Vocabulary(
        frozenset({"Leo"}), frozenset({"fig", "box"}), frozenset({"red_box", "red_container"})
    )
    text = "Leo thinks it is in the box. He thinks it is in the container."
    assert read(text, names) == ""


def test_a_copied_sentence_makes_no_claim_but_tells_what_is_meant() -> None:
    copied = "1. The fig is in the red_crate.\n2. Leo exited the attic.\n"
    claims = told().claims(f"{copied}Leo thinks it is still there.", "fig")
    assert [(c.holders, c.place) for c in claims] == [(("Leo",), "red_crate")]


@pytest.mark.parametrize(
    "text",
    ["Leo thinks the fig is in the garage.", "Leo thinks that the fig is in the green_pan."],
)
def test_what_is_believed_of_a_place_that_is_not_there_is_false(text: str) -> None:
    (claim,) = told().claims(text, "fig")
    assert not told().holds(claim)


def test_options_are_places_too() -> None:
    """Read wherever a place of the story is; nothing is in them."""
    story = told().with_places(["green_pan", "red_crate", "Leo", "fig", "attic", "no"])
    assert story.vocabulary.options == {"green_pan"}
    claims = story.claims("So Leo's last known location of it is the green pan.", "fig")
    assert [(c.holders, c.place, story.holds(c)) for c in claims] == [
        (("Leo",), "green_pan", False)
    ]
    assert told().claims("So Leo's last known location of it is the green pan.", "fig") == []
    (crate,) = story.claims("Leo thinks it is in the crate.", "fig")
    assert story.holds(crate)
    assert told().with_places(["red_crate"]) == told()
