"""Evaluation: intervals, grouping, and an engine that keeps order."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.models import TinySize
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.metrics import task_metrics, wilson_interval
from pipeline.evaluate.runner import evaluate, grade_response
from pipeline.model.decode import Sampling
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.tasks.example import Example


def examples(count: int) -> list[Example]:
    return [
        Example("hi_tom_style", "hi_tom_style", f"story {i}", "q", f"box_{i}", order=i % 3)
        for i in range(count)
    ]


class Parrot:
    """An engine that answers from a list."""

    name = "parrot"

    def __init__(self, answers: list[str]) -> None:
        self.answers = answers

    def complete(self, prompts: list[Prompt], sampling: Sampling, report: object) -> list[Response]:
        return [Response(f"</think><answer>{a}</answer>", 3, "stop") for a in self.answers]


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval(correct: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(correct, total) == pytest.approx((low, high), abs=1e-4)


def test_metrics_by_order() -> None:
    questions = examples(6)
    answers = [e.answer for e in questions[:4]] + ["elsewhere", "box_5"]
    graded = evaluate(
        Parrot(answers),  # type: ignore[arg-type]
        questions,
        prompt="compact",
        sampling=Sampling(8),
        seed=0,
    )
    metrics = task_metrics(questions, graded)
    assert metrics.accuracy == 5 / 6 and metrics.format_rate == 1
    assert metrics.by_order["1"].correct == 1
    assert metrics.by_order["0"].accuracy == 1


def test_json_prompts_have_their_own_extraction() -> None:
    example = examples(1)[0]
    reply = '{"thinking": "hm", "answer": "box_0"}'
    assert grade_response(reply, example, "tom-rl-json").correct
    assert not grade_response(reply, example, "tom-rl").correct


def test_the_engine_keeps_order_and_refuses_prompts_that_do_not_fit(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(["a b c"], 300)
    save_model(tmp_path, make_model(TinySize(16, 1, 1), tokenizer, context=40, seed=0), tokenizer)
    texts = ["a", "a b c a b c", "b" * 100, "c c"]
    prompts = [Prompt([{"role": "user", "content": t}], (i,)) for i, t in enumerate(texts)]
    counts: list[int] = []
    engine = TransformersEngine(tmp_path, batch=2)
    together = engine.complete(prompts, Sampling(6, temperature=0), counts.append)
    assert together[2] == Response("", 0, "prompt_too_long")
    assert counts[-1] == len(prompts)
    for index in (0, 1, 3):
        alone = engine.complete([prompts[index]], Sampling(6, temperature=0), counts.append)[0]
        assert together[index] == alone
