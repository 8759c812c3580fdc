"""Option scoring: which options a question has, and how likely a model finds each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from pipeline.config.mistakes import mistakes_of
from pipeline.config.models import TinySize
from pipeline.config.study import Study
from pipeline.config.study_files import find_study
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.option_scoring import SCORED_AT_ONCE, batches, choices_of, with_scores
from pipeline.evaluate.options import Scored, options_of
from pipeline.evaluate.runner import Asked, Asking, Graded
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import load_model, save_model
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from tests.conftest import TINY

STORY = (
    "Noah entered the attic.\nThe apple is in the red_box.\nNoah exited the attic.\n"
    "Emma entered the attic.\nEmma moved the apple to the blue_bin."
)
PLACE = Example("tomi", "tomi", STORY, "Where will Noah look for the apple?", "red_box", order=1)
CHOICE = Example("hi_tom", "hi_tom", "s", "q", "bin", choices=("box", "bin", "big jar"), order=1)
YES = Example("fantom_style", "fantom_style", "s", "Does Ann know?", "no", "yes_no", order=1)
SPAN = Example("gsm8k", "gsm8k", "", "How many are there?", "5", "number")


def test_the_options_of_a_question() -> None:
    foreign = replace(CHOICE, answer="elsewhere")
    assert options_of([PLACE, CHOICE, YES, replace(YES, answer="No"), SPAN, foreign]) == [
        ("red_box", "blue_bin"),
        ("box", "bin", "big jar"),
        ("yes", "no"),
        ("Yes", "No"),
        None,
        None,
    ]


def test_options_follow_an_opened_answer_and_stand_at_the_first_sample() -> None:
    asked = Asked({"a": [SPAN, CHOICE], "b": [PLACE]}, Asking("compact", Sampling(8), samples=2))
    choices = choices_of(asked)
    assert list(choices) == [1, 2] and choices[1][1] == CHOICE.choices
    assert {prompt.begun for prompt, _ in choices.values()} == {"<think></think><answer>"}
    in_json = replace(asked, asking=replace(asked.asking, prompt="tom-rl-json"))
    assert {prompt.begun for prompt, _ in choices_of(in_json).values()} == {""}
    answer = Graded(Response("", 1, "stop"), Grade(False, False, False, None), "digest")
    found = with_scores(asked, [answer] * 6, choices, [(-3.0, -2.0, -4.0), (-1.0, -2.0)])
    assert [place for place, each in enumerate(found) if each.scored] == [2, 4]
    of_a = task_metrics([SPAN, CHOICE], found[:4], samples=2).options
    assert of_a is not None and of_a.chance == pytest.approx(1 / 3)
    # -2 is the highest sum; once divided by 3, 3 and 7 characters it is -4.
    assert (of_a.likeliest.count, of_a.likeliest.correct, of_a.by_length.correct) == (1, 1, 0)
    assert task_metrics([SPAN], found[:1]).options is None
    assert not Scored(("x", "y"), (), "x").right, "there was no room for the prompt"


def test_the_engine_says_how_likely_options_are(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(["a b c"], 300)
    save_model(tmp_path, make_model(TinySize(16, 2, 2), tokenizer, context=48, seed=0), tokenizer)
    texts = ["a", "a b c a", "b" * 100, *("c " * n for n in range(SCORED_AT_ONCE))]
    choices = [
        (Prompt([{"role": "user", "content": text}], (), begun), options)
        for text in texts
        for begun, options in (("<answer>", ("a", "b c", "ccc")), ("", ("a b c", "b")))
    ]
    assert sorted(map(len, batches(choices))) == [3, 3, SCORED_AT_ONCE, SCORED_AT_ONCE]
    counts: list[int] = []
    engine = TransformersEngine(tmp_path, tmp_path / "work", batch=2)
    found = engine.log_likelihoods(choices, counts.append)
    assert counts[-1] == len(choices) and found[4] == found[5] == ()
    model, _ = load_model(tmp_path)
    for (prompt, options), values in zip(choices, found, strict=True):
        start = tokenizer.apply_chat_template(
            prompt.messages, tokenize=False, add_generation_prompt=True
        )
        for option, value in zip(options, values, strict=False):
            ids = tokenizer.encode(start + prompt.begun + option)
            new = len(ids) - len(tokenizer.encode((start + prompt.begun).rstrip()))
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
            told = logits.gather(-1, torch.tensor(ids[1:])[:, None])[-new:].sum().item()
            assert value == pytest.approx(told, abs=1e-4)
    (kept,) = (tmp_path / "work").glob("*.options.jsonl")
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:2]) + lines[2][:40])  # killed while it wrote
    again = TransformersEngine(tmp_path, tmp_path / "work", batch=2)
    assert again.log_likelihoods(choices, counts.append) == found
    whole = TransformersEngine(tmp_path, tmp_path / "work", batch=2)
    assert whole.log_likelihoods(choices, counts.append) == found
    assert "_loaded" not in vars(whole)
    half = TransformersEngine(tmp_path, tmp_path / "work", batch=2, precision="bfloat16")
    rounded = half.log_likelihoods(choices, counts.append)
    assert rounded != found
    assert rounded == [pytest.approx(values, rel=0.02) for values in found]


def test_models_without_weights_are_not_asked_for_options() -> None:
    content = find_study(TINY, "mini").model_dump(mode="json")
    content["base"]["models"] |= {
        "gpt": {"kind": "api", "title": "GPT", "model": "gpt"},
        "told": {"kind": "recorded", "title": "told", "answers": "told.csv"},
    }
    content["grid"]["evaluate_only"] = ["gpt", "nano", "told"]
    Study.model_validate(content)
    content["evaluate"]["scoring"] = "options"
    with pytest.raises(ValidationError) as refused:
        Study.model_validate(content)
    found = {mistake.place: mistake.text for mistake in mistakes_of(refused.value, content)}
    assert list(found) == [("grid", "evaluate_only", 0), ("grid", "evaluate_only", 2)]
    text = "'gpt', a model of kind api, which does not say how likely an option is"
    assert text in found["grid", "evaluate_only", 0]
