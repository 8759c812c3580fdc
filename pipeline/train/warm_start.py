"""Warm start: supervised training of a tiny model on the belief engine's reasoning traces.

Reinforcement learning then starts from a model that knows the format, states beliefs before it
answers, and is often wrong about the harder ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from statistics import mean

import torch
from pydantic import TypeAdapter
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import Imitated
from pipeline.config.models import WarmStart
from pipeline.config.sources import ArithmeticSource, GeneratedSource, source_name
from pipeline.data.generated import Problem, StoryRow, arithmetic, stories
from pipeline.data.imitation import response_of
from pipeline.data.prompt import compact
from pipeline.engine.decode import generate
from pipeline.engine.sampling import Sampling
from pipeline.model.chat import PREFILL, encode_prompt
from pipeline.tasks.example import OF_NO_TASK, Example, generated_kind
from pipeline.tasks.grading import extract_tagged
from pipeline.train import checkpoint as checkpoints
from pipeline.train.checkpoint import Checkpoint
from pipeline.train.learner import Learner
from pipeline.train.lesson import Lesson, collate, said_twice
from pipeline.train.stopping import Interrupted

_PURPOSE = "warm-start"
_WARM_UP_STEPS = 30
_HELD_OUT = 200  # demonstrations that the target accuracy is measured on
_CHECK_EVERY = 20  # steps
_SAVE_EVERY = 50  # steps; seconds on a laptop
_FINAL_SHARE = 0.05  # of the peak learning rate, reached linearly
_Losses = TypeAdapter(list[float])


@dataclass(frozen=True)
class Demonstration:
    """A question with what is shown of it, which is written when it is asked for.

    Attributes:
        shown: The kind of response to imitate; true reasoning where there is none of that kind.
    """

    example: Example
    shown: Imitated = "traces"

    @cached_property
    def messages(self) -> list[dict[str, str]]:
        return compact(self.example)

    @property
    def given(self) -> str:
        """A beginning of the response that is not taught."""
        return self._written[0]

    @property
    def response(self) -> str:
        return self._written[1]

    @cached_property
    def _written(self) -> tuple[str, str]:
        made = response_of(self.example, self.shown) or response_of(self.example, "traces")
        assert made is not None, "what is shown has a trace"
        return made


def demonstrations(
    recipe: WarmStart, sources: Sequence[GeneratedSource], sums: ArithmeticSource | None
) -> Iterator[Demonstration]:
    """Yield demonstrations: the sources and their questions in turn, mixed with arithmetic.

    Stories and problems are drawn for this purpose alone, apart from the study's sets.
    """
    problems = arithmetic(sums, _PURPOSE, recipe.stories) if sums else None
    random = Random(f"{_PURPOSE}:mix")
    count = recipe.stories // len(sources)
    for index, told in enumerate(zip(*(stories(s, _PURPOSE, count) for s in sources), strict=True)):
        for source, questions in zip(sources, told, strict=True):
            if problems and random.random() < recipe.arithmetic_share:
                yield _arithmetic(next(problems))
                continue
            apart = Random(f"{_PURPOSE}:{index}")
            row = _asked(questions, recipe, index, apart)
            direct = random.random() < recipe.direct_share
            yield _story(source, row, "answers" if direct else _kind(recipe, apart))


def _asked(
    questions: Sequence[StoryRow], recipe: WarmStart, index: int, random: Random
) -> StoryRow:
    orders = recipe.orders
    rows = [row for row in questions if row["trace"] and (not orders or row["order"] in orders)]
    if recipe.heeded_share is not None and random.random() < recipe.heeded_share:
        rows = [row for row in rows if row["heeds_claim"]] or rows
    return rows[index % len(rows)]


def _kind(recipe: WarmStart, random: Random) -> Imitated:
    if random.random() < recipe.sight_share:
        return "sight"
    return "edited" if recipe.taught == "edited" else "traces"


def _story(source: GeneratedSource, row: StoryRow, kind: Imitated) -> Demonstration:
    example = Example(
        source_name(source.kind, source.telling),
        OF_NO_TASK,
        row["story"],
        row["question"],
        row["answer"],
        answer_kind=generated_kind(row["question_type"], row["answer"]),
        order=row["order"],
        question_type=row["question_type"],
        meta={"structure": row["structure"], "trace": row["trace"]},
    )
    return Demonstration(example, kind)


def _arithmetic(row: Problem) -> Demonstration:
    meta = {"trace": row["solution"]}
    example = Example("arithmetic", OF_NO_TASK, "", row["question"], row["answer"], "number")
    return Demonstration(replace(example, meta=meta))


def shown(
    examples: Sequence[Demonstration], recipe: WarmStart, steps: int
) -> Sequence[Demonstration]:
    """The demonstrations used by a warm start of so many steps, without held-out ones."""
    held_out = 0 if recipe.target_accuracy is None else _HELD_OUT
    return examples[: min(len(examples) - held_out, steps * recipe.batch)]


@dataclass(frozen=True)
class WarmStartRun:
    """A resumable warm start.

    Attributes:
        model: Trained in place.
        should_stop: Polled after every step; if true, the run saves it and raises Interrupted.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    recipe: WarmStart
    work: Path
    report: Callable[[int, float], None] = lambda step, loss: None
    should_stop: Callable[[], bool] = lambda: False

    def train(self, examples: Sequence[Demonstration]) -> list[float]:
        """Train on demonstrations, and on drills at first; return the loss of each step.

        The last examples are held out if the recipe has a target accuracy. A killed and resumed run
        ends in the same bytes as any other.

        Raises:
            Interrupted: If ``should_stop`` is true; running again resumes.
            OSError: If a checkpoint cannot be written; the one before stays.
        """
        held_out = examples[-_HELD_OUT:] if self.recipe.target_accuracy is not None else ()
        shown = examples[: len(examples) - len(held_out)]
        end = int(self.tokenizer.eos_token_id)  # type: ignore[arg-type]
        whole = self.recipe.taught == "everything"
        lessons = [_encode(self.tokenizer, example, end, whole) for example in shown]
        words = sorted({token for lesson in lessons for token in lesson.tokens})
        learner = self._learner()
        losses = self._restore(learner)
        while not self._is_over(len(losses), held_out):
            step = len(losses) + 1
            for group in learner.optimizer.param_groups:
                group["lr"] = self.recipe.learning_rate * _schedule(step, self.recipe)
            batch = _batch(lessons, words, step, self.recipe)
            losses.append(imitate(learner, batch, end))
            self.report(step, losses[-1])
            self._save_if_due(learner, losses)
        return losses

    def _learner(self) -> Learner:
        optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=self.recipe.learning_rate,
            weight_decay=0.01,
            betas=(0.9, 0.99),
        )
        return Learner(self.model, optimizer)

    def _restore(self, learner: Learner) -> list[float]:
        """Set the model to its newest intact checkpoint; return the losses up to it."""
        found = checkpoints.load_latest(self.work)
        if found is None:
            return []
        learner.load(found.tensors, "")
        return _Losses.validate_python(found.state)

    def _is_over(self, step: int, held_out: Sequence[Demonstration]) -> bool:
        target = self.recipe.target_accuracy
        if step == self.recipe.steps or target is None:
            return step == self.recipe.steps
        due = step > 0 and step % _CHECK_EVERY == 0
        return due and accuracy(self.model, self.tokenizer, held_out) >= target

    def _save_if_due(self, learner: Learner, losses: list[float]) -> None:
        step, stopping = len(losses), self.should_stop()
        if stopping or step % _SAVE_EVERY == 0:
            checkpoints.save(self.work, Checkpoint(step, learner.tensors(""), losses))
        if stopping:
            raise Interrupted(f"stopped after step {step} of {self.recipe.steps}")


def _batch(
    lessons: Sequence[Lesson], words: Sequence[int], step: int, recipe: WarmStart
) -> list[Lesson]:
    """The lessons of one step, cyclically; in a drill, lists of words replace some."""
    first = (step - 1) * recipe.batch
    batch = [lessons[index % len(lessons)] for index in range(first, first + recipe.batch)]
    if step <= recipe.drill_steps:
        random = Random(f"{_PURPOSE}:drill:{step}")
        for index in range(round(recipe.drill_share * recipe.batch)):
            batch[index] = said_twice(words, random)
    return batch


def imitate(learner: Learner, batch: Sequence[Lesson], end: int) -> float:
    model = learner.model
    model.train()
    ids, taught = collate(batch, end, model.device)
    logits = model(input_ids=ids).logits[:, :-1]
    loss = torch.nn.functional.cross_entropy(logits[taught[:, 1:]], ids[:, 1:][taught[:, 1:]])
    loss.backward()  # type: ignore[no-untyped-call]
    learner.step(gradient_clip=1.0)
    return loss.item()


def accuracy(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    examples: Sequence[Demonstration],
) -> float:
    """Greedy accuracy on demonstrations."""
    model.eval()
    prompts = [_prompt(tokenizer, example) for example in examples]
    longest = max(len(tokenizer.encode(example.response)) for example in examples)
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    keys = [(index,) for index in range(len(prompts))]
    completions = generate(model, prompts, keys, Sampling(longest + 1, temperature=0), (end,))
    given = [extract_tagged(tokenizer.decode(list(c.tokens))) for c in completions]
    wanted = [extract_tagged(example.response) for example in examples]
    return mean(float(one == other) for one, other in zip(given, wanted, strict=True))


def _prompt(tokenizer: PreTrainedTokenizerBase, example: Demonstration) -> tuple[int, ...]:
    return encode_prompt(tokenizer, example.messages, begun=f"{PREFILL}{example.given}")


def _encode(
    tokenizer: PreTrainedTokenizerBase, example: Demonstration, end: int, whole: bool
) -> Lesson:
    prompt = _prompt(tokenizer, example)
    response = tokenizer.encode(example.response, add_special_tokens=False)
    return Lesson((*prompt, *response, end), 0 if whole else len(prompt))


def _schedule(step: int, recipe: WarmStart) -> float:
    """The share of the peak learning rate: linear warm-up, then linear decay.

    With a target accuracy the end is not known beforehand, so the rate stays at its peak.
    """
    rise = min(1.0, step / _WARM_UP_STEPS)
    if recipe.target_accuracy is not None:
        return rise
    return rise * max(_FINAL_SHARE, 1 - step / recipe.steps)


def texts(examples: Sequence[Demonstration], count: int) -> Iterator[str]:
    for example in islice(examples, count):
        yield from (message["content"] for message in example.messages)
        yield example.response
