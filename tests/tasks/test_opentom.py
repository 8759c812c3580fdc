"""OpenToM's classes of replies, its figures, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.tasks import opentom_rules as rules
from pipeline.tasks.example import Example
from pipeline.tasks.opentom import load

PLACES = {"original_place": "the blue basket", "move_to_place": "a donation bin"}


def ask(kind: str, answer: str, **places: str) -> Example:
    meta = {"kind": kind, "suffix": "_fo", **(places or PLACES)}
    return Example("opentom", "t", "story", "question?", answer, meta=meta)


@pytest.mark.parametrize(
    ("kind", "truth", "reply", "expected"),
    [
        ("location_fine", "a donation bin", "In the donation bin.", 2),
        ("location_fine", "a donation bin", "blue basket", 1),
        ("location_fine", "a donation bin", "a bin or a basket", 3),
        ("location_fine", "a donation bin", "nowhere", 3),
        ("location_fine", "the blue basket", "Ann's blue_basket", 1),
        ("location_coarse", "Yes", "Yes.", 1),
        ("location_coarse", "No", "No, it was moved.", 0),
        ("location_coarse", "Yes", "yes and no", -1),
        ("location_coarse", "No", "I do not know", 0),
        ("location_coarse", "No", "maybe", -1),
        ("fullness", "less full", "It gets emptier.", 1),
        ("fullness", "more full", "fuller", 2),
        ("fullness", "more full", "more full than less full", 1),
        ("fullness", "equally full", "equally full", 3),
        ("fullness", "equally full", "the same", -1),
        ("accessibility", "more accessible", "less accessible, not more accessible", 1),
        ("accessibility", "less accessible", "Less accessible", 2),
        ("accessibility", "equally accessible", "equally accessible", 3),
        ("accessibility", "equally accessible", "equal", -1),
        ("attitude", "positive", "Positive", 1),
        ("attitude", "neutral", "negative at first.\n\nAnswer: b", 3),
        ("attitude", "negative", "Attitude: negative. Not positive.", 2),
        ("attitude", "negative", "positive or negative", -1),
        ("attitude", "negative", "sad", -1),
    ],
)
def test_classes(kind: str, truth: str, reply: str, expected: int) -> None:
    example = ask(kind, truth)
    assert rules.reply_class(reply, example) == expected
    assert rules.match(reply, example) is (expected == rules.gold_class(example))


def test_places_that_the_published_rule_confuses() -> None:
    drawers = {"original_place": "drawer", "move_to_place": "another drawer"}
    truth = ask("location_fine", "drawer", **drawers)
    assert rules.reply_class("drawer", truth) == 1
    other = ask("location_fine", "another drawer", **drawers)
    # Upstream takes the letters "an" for an article, so "other drawer" is never found whole.
    assert rules.reply_class("another drawer", other) != rules.gold_class(other)
    assert rules.match("another drawer", other)
    assert not rules.match("drawer", other)


def test_a_truth_that_is_neither_place_is_left_out_of_the_figures() -> None:
    odd = ask("location_fine", "center of dining table")
    assert rules.gold_class(odd) is None
    assert rules.match("Center of dining table", odd)
    assert not rules.match("blue basket", odd)
    assert rules.scores([(odd, "basket")])["location_fine_fo:macro-f1"] == 0.0


def test_scores() -> None:
    replies = [
        ("location_coarse", "Yes", "yes"),
        ("location_coarse", "Yes", "no"),
        ("location_coarse", "No", "no"),
        ("location_coarse", "No", None),
        ("fullness", "more full", "fuller"),
        ("accessibility", "more accessible", "dunno"),
    ]
    report = rules.scores([(ask(kind, truth), reply) for kind, truth, reply in replies])
    assert report["location_coarse_fo:accuracy"] == 0.5
    assert report["location_coarse_fo:corrupt"] == 0.25
    assert report["location_coarse_fo:macro-f1"] == pytest.approx(2 / 3)
    assert report["fullness_fo:macro-f1"] == 1.0
    assert report["accessibility_fo:corrupt"] == 1.0
    assert report["multihop_fo:accuracy"] == 0.5
    assert rules.scores([]) == {}


STORY = {
    "plot": "Ann moved the hat.",
    "plot_info": {
        "mover": "Ann",
        "eoi": "hat",
        "original_place": "basket",
        "move_to_place": "a bin",
        "observer": "Bob",
    },
    "observed": True,
    "narrative": "Ann and Bob share a flat.",
    "long_narrative": "Ann and Bob share a flat, and much besides.",
}
QUESTIONS = {
    "attitude": ("As Bob, what is your attitude towards Ann's action?", "negative", "attitude"),
    "location_cg_fo": ("From Ann's perspective, is it there?", "No", "location-fo"),
    "location_cg_so": ("From Bob's perspective, does Ann think so?", "Yes", "location-so"),
    "location_fg_fo_new": ("From narrator's perspective, where is it?", "basket", "location-fo"),
    "location_fg_so_new": ("From Ann's perspective, where does Bob?", "a bin", "location-so"),
    "multihop_fo": ("From Ann's perspective, its fullness?", "less full", "multihop-fo"),
    "multihop_so": ("From Ann's perspective, accessibility?", "more accessible", "multihop-so"),
}


def write(folder: Path, **changes: Any) -> Path:
    """Write one story with one question of each file; a change replaces a file's content."""
    files: dict[str, Any] = {"meta_data": {"s1": STORY}, "meta_data_long": {"s1": STORY}}
    for name, (question, answer, kind) in QUESTIONS.items():
        files[name] = {"s1": [{"question": question, "answer": answer, "type": kind}]}
    (folder / "opentom").mkdir()
    for name, content in (files | changes).items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / "opentom" / f"{name}.json").write_text(text, "utf-8")
    return folder


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    examples = list(load(write(tmp_path), "t"))
    assert [(ex.question_type, ex.order, ex.meta["perspective"]) for ex in examples] == [
        ("attitude", None, "observer"),
        ("location_coarse_fo", 1, "mover"),
        ("location_coarse_so", 2, "observer"),
        ("location_fine_fo", 0, "narrator"),
        ("location_fine_so", 2, "mover"),
        ("fullness_fo", 1, "mover"),
        ("accessibility_so", 2, "mover"),
    ]
    assert {ex.story for ex in examples} == {STORY["narrative"]}
    long = list(load(tmp_path, "t", long=True))
    assert {ex.story for ex in long} == {STORY["long_narrative"]}
    assert len(list(load(tmp_path, "t", question_type="fullness_fo"))) == 1
