"""Running a model over examples and grading what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pandas as pd

from pipeline.data.original import Frame
from pipeline.data.prompt import is_prefilled, maker
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Engine, Prompt, Response
from pipeline.evaluate.options import Scored
from pipeline.evaluate.programs import Program, Question, Steps, completed, plain
from pipeline.evaluate.records import OPTIONS, OPTIONS_BY_LENGTH
from pipeline.evaluate.samples import SAMPLE
from pipeline.formats.files import replacing
from pipeline.model.chat import EMPTY_THOUGHT, beginning
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import ANSWER_END, THINK_END, Grade
from pipeline.tasks.json_answer import extract_json

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Graded:
    """One example's response with its grade; ``sample`` numbers those of an example from 0.

    ``scored`` holds the options of the question, where the study asks for them and it has any.
    """

    response: Response
    grade: Grade
    prompt_digest: str
    sample: int = 0
    scored: Scored | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are put to a model.

    Attributes:
        prompt: Name of the prompt style.
        sampling: How tokens are chosen.
        frame: The published frame of the prompt, where it has one.
        think: Whether answers may reason, where the prompt asks for tags. An empty thought is part
            of the response then, which reads like any other.
        samples: Answers to each question.
        program: What is done for an answer.
    """

    prompt: str
    sampling: Sampling
    frame: Frame | None = None
    think: bool = True
    samples: int = 1
    program: Program = plain


@dataclass(frozen=True, slots=True)
class Asked:
    """Columns of questions that are put in the same way.

    Attributes:
        columns: The questions, by column.
        asking: How they are put.
    """

    columns: Mapping[str, Sequence[Example]]
    asking: Asking

    @property
    def examples(self) -> list[Example]:
        """The questions of all columns, one column after the other."""
        return [example for column in self.columns.values() for example in column]

    @property
    def names(self) -> list[str]:
        return [name for name, column in self.columns.items() for _ in column]


def evaluate(
    engine: Engine,
    asked: Sequence[Asked],
    *,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> list[list[Graded]]:
    """Put every question to the engine, all at once, and grade the responses.

    Args:
        engine: What runs the model.
        asked: Questions, and how they are put.
        seed: Start of every random stream; a response's stream depends on it, on the example's id
            and on the number of the sample only.
        report: Hears how many responses are done.

    Returns:
        For each that is asked, the responses to each example side by side.
    """
    most = asked[0].asking.sampling
    prompts = [prompts_of(each.examples, each.asking, seed=seed) for each in asked]
    runs = [
        run for each, shown in zip(asked, prompts, strict=True) for run in _runs(each, shown, most)
    ]
    responses = iter(completed(engine, runs, most, report))
    return [
        _graded(each.examples, each.asking, shown, list(islice(responses, len(shown))))
        for each, shown in zip(asked, prompts, strict=True)
    ]


def _runs(asked: Asked, prompts: Sequence[Prompt], most: Sampling) -> Iterator[Steps]:
    """Yield the program of each response."""
    asking, sampling = asked.asking, asked.asking.sampling
    make = maker(asking.prompt, asking.frame)
    examples = repeated(asked.examples, asking.samples)
    for example, prompt in zip(examples, prompts, strict=True):
        put = prompt if sampling == most else replace(prompt, sampling=sampling)

        def read(response: Response, example: Example = example) -> str | None:
            return grade_response(_reply(response, asking), example, asking.prompt).extracted

        yield asking.program(Question(example, put, make, sampling, read))


def _graded(
    examples: Sequence[Example],
    asking: Asking,
    prompts: Sequence[Prompt],
    responses: Sequence[Response],
) -> list[Graded]:
    if is_prefilled(asking.prompt) and not asking.think:
        responses = [replace(each, text=EMPTY_THOUGHT + each.text) for each in responses]
    answered = zip(repeated(examples, asking.samples), responses, prompts, strict=True)
    return [
        Graded(
            response,
            grade_response(_reply(response, asking), example, asking.prompt),
            shown.digest,
            place % asking.samples,
        )
        for place, (example, response, shown) in enumerate(answered)
    ]


def _reply(response: Response, asking: Asking) -> str:
    """What is graded of a response: of one that was cut off within its thought, nothing."""
    thinks = is_prefilled(asking.prompt) and asking.think and response.finish_reason == "length"
    ended = THINK_END in response.text or ANSWER_END in response.text
    return response.text if ended or not thinks else ""


def prompts_of(examples: Sequence[Example], asking: Asking, *, seed: int) -> list[Prompt]:
    """What a model is shown for each response; see :func:`evaluate`."""
    make = maker(asking.prompt, asking.frame)
    begun = beginning(think=asking.think) if is_prefilled(asking.prompt) else ""
    return [
        Prompt(make(example), _stream(seed, example, sample), begun, example.id, sample)
        for example in examples
        for sample in range(asking.samples)
    ]


def repeated(examples: Iterable[Thing], samples: int) -> list[Thing]:
    """What goes with each response: so many of each example, side by side."""
    return [example for example in examples for _ in range(samples)]


def _stream(seed: int, example: Example, sample: int) -> tuple[int, ...]:
    """The start of a response's random stream; the first sample is that of a single one."""
    first = (seed, int(example.id[:12], 16))
    return (*first, sample) if sample else first


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
    """Write responses as parquet, one row for each; ``sample`` where an example has several.

    Args:
        path: The file.
        examples: What each answers.
        graded: What was answered.
        columns: The suite column of each.
        identity: What all rows share: model, engine, seed.
    """
    frame = pd.DataFrame(
        {
            "id": [e.id for e in examples],
            "task": list(columns),
            **_samples(graded),
            "prompt_digest": [g.prompt_digest for g in graded],
            "response": [g.response.text for g in graded],
            "prompt_tokens": [g.response.prompt_tokens for g in graded],
            "completion_tokens": [g.response.completion_tokens for g in graded],
            "finish_reason": [g.response.finish_reason for g in graded],
            **_scored(graded, {"options": "options", "option_logprobs": "logprobs"}),
        }
    )
    _write(path, frame.assign(**identity))


def write_grades(
    path: Path, examples: Sequence[Example], graded: Sequence[Graded], columns: Sequence[str]
) -> None:
    """Write grades as parquet, one row per response; ``columns`` names its suite column."""
    frame = pd.DataFrame(
        {
            "id": [e.id for e in examples],
            "task": list(columns),
            **_samples(graded),
            "story": [e.story_id for e in examples],
            "correct": [g.grade.correct for g in graded],
            "strict": [g.grade.strict for g in graded],
            "format_ok": [g.grade.format_ok for g in graded],
            "extracted": [g.grade.extracted for g in graded],
            "tokens": [g.response.completion_tokens for g in graded],
            "words": [len(g.response.text.split()) for g in graded],
            **_scored(graded, {OPTIONS: "right", OPTIONS_BY_LENGTH: "right_by_length"}),
        }
    )
    _write(path, frame)


def _samples(graded: Sequence[Graded]) -> dict[str, list[int]]:
    numbers = [each.sample for each in graded]
    return {SAMPLE: numbers} if any(numbers) else {}


def _scored(graded: Sequence[Graded], columns: Mapping[str, str]) -> dict[str, list[object]]:
    """What is known of options, by column; nothing where none were scored."""
    scored = [each.scored for each in graded]
    if not any(scored):
        return {}
    return {name: [s and getattr(s, of) for s in scored] for name, of in columns.items()}


def _write(path: Path, frame: pd.DataFrame) -> None:
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)
