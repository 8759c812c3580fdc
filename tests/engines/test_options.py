"""Option scoring beside lm-evaluation-harness: the same model, questions and figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from transformers import AutoTokenizer

from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.option_scoring import choices_of, with_scores
from pipeline.evaluate.runner import Asked, Asking, Graded
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from tests.conftest import PROJECT

MODEL = PROJECT / "models" / "nano-0" / "model"
PACKAGES = sorted((PROJECT / ".venv-export" / "lib").glob("python*/site-packages"))
PLACES = ("box", "blue_treasure_chest", "bin", "basket", "green crate", "jar")


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Other tests here need the engine environment, this one the harness."""
    if not PACKAGES:
        pytest.skip(".venv-export does not exist; make it with: scripts/setup_export.sh")


def question(number: int) -> Example:
    """A question with two to six options of different lengths."""
    draw = Random(number)
    options = tuple(draw.sample(PLACES, 2 + number % 5))
    moves = (
        f"{draw.choice(('Ann', 'Bob'))} moved the pen to the {place}." for place in options[:2]
    )
    story = f"Ann entered the den. {' '.join(moves)}"
    asked = f"Where does Ann think the pen {number} is?"
    answer = draw.choice(options)
    return Example("hi_tom_style", "hi_tom_style", story, asked, answer, choices=options, order=1)


@pytest.mark.parametrize(
    "prompt", ["compact", pytest.param("tom-rl-json", marks=pytest.mark.nightly)]
)
def test_the_figures_are_those_of_the_harness(tmp_path: Path, prompt: str) -> None:
    examples = [question(number) for number in range(60)]
    asked = Asked({"places": examples}, Asking(prompt, Sampling(8)))
    choices = choices_of(asked)
    ours = TransformersEngine(MODEL, tmp_path / "work", batch=8, threads=1)
    found = ours.log_likelihoods(list(choices.values()), lambda _: None)
    unread = Graded(Response("", 0, "stop"), Grade(False, False, False, None), "")
    options = task_metrics(examples, with_scores(asked, [unread] * 60, choices, found)).options
    assert options is not None and options.likeliest.count == 60

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    rows = []
    for example, (shown, texts) in zip(examples, choices.values(), strict=True):
        context = tokenizer.apply_chat_template(
            shown.messages, tokenize=False, add_generation_prompt=True
        )
        place = texts.index(example.answer)
        rows.append({"context": context + shown.begun, "choices": texts, "answer": place})
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    script = Path(__file__).with_name("multiple_choice.py")
    done = subprocess.run(
        [sys.executable, str(script), str(PACKAGES[0]), str(MODEL), str(path)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert [list(each) for each in found] == [
        pytest.approx(each, abs=1e-3) for each in theirs["logprobs"]
    ]
    assert options.likeliest.accuracy == pytest.approx(theirs["acc"])
    assert options.by_length.accuracy == pytest.approx(theirs["acc_norm"])
    assert 0 < options.likeliest.accuracy != options.by_length.accuracy
