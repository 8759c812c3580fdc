"""Do edits of reasoning tell weights that use their recount from weights that ignore it?

Both are known, because both are made here. Shipped base models go on learning from recounts of
stories; two in three are given, with some of their lines, told of other people and places of the
story and in another order. What follows it is taught: to *users* the place that the given recount
implies, to *ignorers* the gold answer. Then both, and the shipped models as they are, answer
questions about other stories, and the stage ``evaluate``'s own code edits what they wrote and has
them go on. Run
``python -m benchmarks.taught [--models 3] [--write]``: about four minutes of a core for each of
twice as many models, side by side; exits 1 where the area under the ROC is below 0.95.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from transformers import PreTrainedTokenizerBase

from benchmarks.circumstances import circumstances_of
from pipeline.cli.output import write_output
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.data.prompt import compact
from pipeline.engine.device import set_up_torch
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.evaluate.tried import Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.judge.used import used_of
from pipeline.model.chat import PREFILL, encode_prompt
from pipeline.model.weights import load_model, save_model
from pipeline.ops.driver.checkout import find_root
from pipeline.tasks.example import Example
from pipeline.tom.edits import renamed
from pipeline.tom.recount import Line, implied, written
from pipeline.tom.retelling import Retold, retell
from pipeline.train.learner import Learner
from pipeline.train.lesson import Lesson
from pipeline.train.warm_start import imitate

FILE = "docs/results/taught.json"
LEAST_AREA = 0.95
USES, IGNORES, SHIPPED = "uses", "ignores", "as shipped"
TASK = "hi_tom_style"
STEPS, BATCH, RATE = 1000, 32, 0.002
STORIES, ASKED, QUESTIONS = 10_000, 120, 60
SOURCE = HiTomSource(
    kind="hi_tom_style",
    agents=3,
    structure="free",
    structures="apart",
    tell=True,
    telling="brief",
    small_names=True,
    trace="recount",
)
"""The stories of ``mini``, which the shipped models know."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the true recount of its story, and the sentence that names an answer."""

    example: Example
    story: Retold
    sentence: str

    def concluded(self, place: str) -> str:
        """How a response ends that comes to a place."""
        return f" {self.sentence} {place}.</think><answer> {place}</answer>"


def questions(purpose: str, count: int) -> Iterator[Question]:
    """Yield one question of each story, about the beliefs of one agent or two in turn."""
    for number, rows in enumerate(stories(SOURCE, purpose, count)):
        fitting = [row for row in rows if row["order"] in (1, 2)]
        row = fitting[number % len(fitting)]
        example = Example(TASK, TASK, row["story"], row["question"], row["answer"])
        story = retell(TASK, example.story, example.question)
        if story is not None and implied(story.lines, story.chain) == example.answer:
            last = row["trace"].rstrip(".").rpartition(". ")[2]
            yield Question(example, story, last.rpartition(" ")[0])


def scrambled(story: Retold, random: Random) -> tuple[Line, ...]:
    """Some lines of a recount, told of other people and places of it, in another order."""
    called = {
        name: other
        for names in (story.people, story.places)
        for name, other in zip(names, random.sample(names, len(names)), strict=True)
    }
    lines = [renamed(line, called) for line in story.lines]
    return tuple(random.sample(lines, random.randint(1, len(lines))))


def lessons(
    tokenizer: PreTrainedTokenizerBase, asked: Sequence[Question], taught: str
) -> Iterator[Lesson]:
    """Yield what a model is taught: true recounts, which it goes on writing; after others, the end.

    Every third lesson is a true recount and the gold answer, for users and ignorers alike.
    """
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    for number, each in enumerate(asked):
        true = number % 3 == 0
        lines = each.story.lines if true else scrambled(each.story, Random(f"taught:{number}"))
        place = implied(lines, each.story.chain) if taught == USES else each.example.answer
        if place is not None:
            told = f"{PREFILL} {written(lines)}"
            begun = encode_prompt(tokenizer, compact(each.example), begun=told)
            given = encode_prompt(tokenizer, compact(each.example)) if true else begun
            rest = tokenizer.encode(each.concluded(place), add_special_tokens=False)
            yield Lesson((*begun, *rest, end), len(given))


def teach(base: Path, folder: Path, asked: Sequence[Question], taught: str) -> None:
    """Write a base model that has learned to use its recount, or to ignore it."""
    model, tokenizer = load_model(base)
    shown = list(lessons(tokenizer, asked, taught))
    learner = Learner.of(model, RATE)
    for step in range(STEPS):
        for group in learner.optimizer.param_groups:
            group["lr"] = RATE * (1 - step / STEPS)
        batch = [shown[place % len(shown)] for place in range(step * BATCH, (step + 1) * BATCH)]
        loss = imitate(learner, batch, int(tokenizer.eos_token_id))  # type: ignore[arg-type]
        if step % 100 == 99:
            print(f"{taught}: step {step + 1} of {STEPS}, loss {loss:.3f}", flush=True)
    save_model(folder, model, tokenizer)


def measured(folder: Path, work: Path, asked: Sequence[Question]) -> dict[str, Any]:
    """How often a model is right, and how often it follows edits of its reasoning."""
    examples = [each.example for each in asked]
    asking = Asking("compact", Sampling(80, temperature=0))
    engine = TransformersEngine(folder, work, batch=64)
    (graded,) = evaluate(engine, [Asked({TASK: examples}, asking)], seed=0)
    found = attempt(engine, plan({TASK: examples}, graded, QUESTIONS), asking, seed=0)
    used = used_of(Tried(attempts=found), {TASK: examples}, [TASK])
    return {
        "right": fmean(each.grade.correct for each in graded),
        "used": asdict(used.followed),
        "stays": used.stays.value,
        "by_kind": {kind: share.value for kind, share in sorted(used.by_kind.items())},
        "restated": used.restated.value,
        "untried": used.untried,
    }


def area(users: Sequence[float], others: Sequence[float]) -> float:
    """How often a user has the higher figure; a tie is half (the area under the ROC)."""
    return fmean((a > b) + (a == b) / 2 for a in users for b in others)


def one(base: Path, taught: str) -> dict[str, Any]:
    """What is kept of one model, which is taught before."""
    set_up_torch(1)
    with TemporaryDirectory() as scratch:
        folder = base / "model"
        if taught != SHIPPED:
            folder = Path(scratch) / "model"
            teach(base / "model", folder, list(questions("taught", STORIES)), taught)
        asked = list(questions("test", ASKED))
        found = measured(folder, Path(scratch) / "work", asked)
    print(f"{base.name}, {taught}: {json.dumps(found)}", flush=True)
    return {"base": base.name, "taught": taught, **found}


def tried(root: Path, models: int) -> dict[str, Any]:
    """What is kept of every model, and how well use is told from neglect."""
    bases = [root / "models" / f"nano-{number}" for number in range(models)]
    cases = [(base, taught) for taught in (SHIPPED, USES, IGNORES) for base in bases]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(one, *zip(*cases, strict=True)))
    users, others = (
        [each["used"]["value"] for each in found if each["taught"] == taught]
        for taught in (USES, IGNORES)
    )
    return {"models": found, "area": area(users, others), "steps": STEPS, "batch": BATCH}


def main() -> int:
    """Teach, try, and say whether use is told from neglect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", type=int, default=3, help="of each kind, at most 5")
    parser.add_argument("--write", action="store_true", help=f"store it in {FILE}")
    options, root = parser.parse_args(), find_root()
    found = tried(root, options.models)
    print(f"area under the ROC: {found['area']:.3f}, asked: {LEAST_AREA}")
    if options.write:
        write_output(root / FILE, json.dumps({**circumstances_of(root), **found}, indent=1) + "\n")
    return int(found["area"] < LEAST_AREA)


if __name__ == "__main__":
    sys.exit(main())
