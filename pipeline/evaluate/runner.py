"""Running a model over examples and grading what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from pipeline.data.original import Frame
from pipeline.data.prompt import is_prefilled, maker
from pipeline.evaluate.engine import Engine, Prompt, Response
from pipeline.files import digest_of, replacing
from pipeline.model.chat import EMPTY_THOUGHT, beginning
from pipeline.model.decode import Sampling
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade, extract_json


@dataclass(frozen=True, slots=True)
class Graded:
    """One example's response with its grade."""

    response: Response
    grade: Grade
    prompt_digest: str


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are put to a model.

    Attributes:
        prompt: Name of the prompt style.
        sampling: How tokens are chosen.
        frame: The published frame of the prompt, where it has one.
        think: Whether answers may reason, where the prompt asks for tags. An empty thought is part
            of the response then, which reads like any other.
    """

    prompt: str
    sampling: Sampling
    frame: Frame | None = None
    think: bool = True


def evaluate(
    engine: Engine,
    examples: Sequence[Example],
    asking: Asking,
    *,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> list[Graded]:
    """Put every example to the engine and grade the responses.

    Args:
        engine: What runs the model.
        examples: Questions.
        asking: How they are put.
        seed: Start of every random stream; an example's stream depends on it and on its id only.
        report: Hears how many examples are done.
    """
    prompts = prompts_of(examples, asking, seed=seed)
    responses = engine.complete(prompts, asking.sampling, report)
    if is_prefilled(asking.prompt) and not asking.think:
        responses = [replace(each, text=EMPTY_THOUGHT + each.text) for each in responses]
    return [
        Graded(
            response, grade_response(response.text, example, asking.prompt), prompt_digest(shown)
        )
        for example, response, shown in zip(examples, responses, prompts, strict=True)
    ]


def prompts_of(examples: Sequence[Example], asking: Asking, *, seed: int) -> list[Prompt]:
    """Return what a model is shown for each example; see :func:`evaluate`."""
    make = maker(asking.prompt, asking.frame)
    begun = beginning(think=asking.think) if is_prefilled(asking.prompt) else ""
    return [Prompt(make(example), (seed, int(example.id[:12], 16)), begun) for example in examples]


def prompt_digest(prompt: Prompt) -> str:
    """Return a digest of what a model is shown."""
    return digest_of([prompt.messages, prompt.begun])[:16]


def grade_response(text: str, example: Example, prompt: str) -> Grade:
    """Grade a response by its task's published rule; JSON prompts have their own extraction."""
    extract = extract_json if prompt.endswith("-json") else None
    return registry.get(example.task).grade(text, example, extract)


def write_responses(
    path: Path,
    examples: Sequence[Example],
    graded: Sequence[Graded],
    columns: Sequence[str],
    identity: Mapping[str, str | int],
) -> None:
    """Write responses as parquet, one row per example.

    Args:
        path: The file.
        examples: What was asked.
        graded: What was answered.
        columns: The suite column of each example.
        identity: What all rows share: model, engine, seed.
    """
    frame = pd.DataFrame(
        {
            "id": [e.id for e in examples],
            "task": list(columns),
            "prompt_digest": [g.prompt_digest for g in graded],
            "response": [g.response.text for g in graded],
            "completion_tokens": [g.response.completion_tokens for g in graded],
            "finish_reason": [g.response.finish_reason for g in graded],
        }
    )
    _write(path, frame.assign(**identity))


def write_grades(
    path: Path, examples: Sequence[Example], graded: Sequence[Graded], columns: Sequence[str]
) -> None:
    """Write grades as parquet, one row per example; ``columns`` names its suite column."""
    frame = pd.DataFrame(
        {
            "id": [e.id for e in examples],
            "task": list(columns),
            "story": [e.story_id for e in examples],
            "correct": [g.grade.correct for g in graded],
            "strict": [g.grade.strict for g in graded],
            "format_ok": [g.grade.format_ok for g in graded],
            "extracted": [g.grade.extracted for g in graded],
            "tokens": [g.response.completion_tokens for g in graded],
        }
    )
    _write(path, frame)


def _write(path: Path, frame: pd.DataFrame) -> None:
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)
