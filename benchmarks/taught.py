"""Do edits of reasoning tell weights that use their reasoning from weights that ignore it?

Both are known, because both are made here, for each form of reasoning: recounts, walks, tracks, and
prose that claims what people believe. Shipped base models go on learning from stories of which the
reasoning is given in two lessons of three: a whole recount, or the first part of a track, with one
line changed or left out; or the first part of a walk or of prose, told of other people and places
of the story. What follows is taught: to *users* what the given reasoning implies, to *ignorers* the
truth. Then both, and the shipped models as they are, answer questions about other stories, and the
stage ``evaluate``'s own code edits what they wrote and has them go on. Run
``python -m benchmarks.taught [--models 2] [--write]``: about two minutes of a core for each of ten
times as many models; exits 1 where the area under the ROC is below 0.95 in any form.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from transformers import PreTrainedTokenizerBase

from benchmarks.circumstances import store
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
from pipeline.tom.belief import beliefs
from pipeline.tom.edits import Told, edits, renamed
from pipeline.tom.language import PLAIN, language_of
from pipeline.tom.observation import Chain
from pipeline.tom.recount import UNKNOWN, implied, read_lines, written
from pipeline.tom.retelling import Retold, retell
from pipeline.tom.trace import write_edited_track
from pipeline.train.learner import Learner
from pipeline.train.lesson import Lesson
from pipeline.train.warm_start import imitate

FILE = "docs/results/taught.json"
LEAST_AREA = 0.95
USES, IGNORES, SHIPPED = "uses", "ignores", "as shipped"
RECOUNT, WALK, PROSE, TRACK = "recount", "walk", "prose", "track"
FORMS = (RECOUNT, WALK, PROSE, TRACK)
TASK = "hi_tom_style"
STEPS = {RECOUNT: 1000, WALK: 500, PROSE: 700, TRACK: 500}
BATCH, RATE = 16, 0.002
STORIES, QUESTIONS = 10_000, 60
ASKED = {RECOUNT: 120, WALK: 120, PROSE: 720, TRACK: 120}
"""Of prose, fewer responses can be edited."""
BASES = {RECOUNT: "nano", WALK: "nano", PROSE: "nano", TRACK: "hearing"}
"""Shipped models: ``hearing-N`` reason in tracks."""
SHIPPED_FORMS = (RECOUNT, TRACK)
"""The forms in which shipped models reason as they are."""
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
"""The stories that the models know."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the true recount of its story, and the sentence that names an answer."""

    example: Example
    story: Retold
    sentence: str

    def concluded(self, place: str) -> str:
        """How a response ends that comes to a place."""
        return f" {self.sentence} {place}.</think><answer> {place}</answer>"

    def claimed(self, believed: Iterable[tuple[Chain, str]]) -> str:
        """What chains of people believe, each in a sentence."""
        where = self.sentence.rpartition(" thinks ")[2]
        return " ".join(
            f"{''.join(f'{agent} thinks ' for agent in chain)}{where} {place}."
            for chain, place in believed
        )


def questions(purpose: str, count: int, form: str) -> Iterator[Question]:
    """Yield one question of each story, about the beliefs of one agent or two in turn."""
    source = SOURCE.model_copy(update={"trace": TRACK}) if form == TRACK else SOURCE
    for number, rows in enumerate(stories(source, purpose, count)):
        fitting = [row for row in rows if row["order"] in (1, 2)]
        row = fitting[number % len(fitting)]
        meta = {"trace": row["trace"]}
        example = Example(TASK, TASK, row["story"], row["question"], row["answer"], meta=meta)
        story = retell(TASK, example.story, example.question)
        if story is not None and implied(story.lines, story.chain) == example.answer:
            last = row["trace"].rstrip(".").rpartition(". ")[2]
            yield Question(example, story, last.rpartition(" ")[0])


def _exchanged(story: Retold, random: Random) -> dict[str, str]:
    """Other people and places of a story for each."""
    return {
        name: other
        for names in (story.people, story.places)
        for name, other in zip(names, random.sample(names, len(names)), strict=True)
    }


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning of which the beginning is given.

    Attributes:
        given: The beginning.
        taught: How it goes on, up to the sentence that names the answer.
        place: The answer.
    """

    given: str
    taught: str
    place: str | None


def recount_of(each: Question, random: Random, taught: str) -> Reasoning:
    """A recount that is given whole, with one line changed or left out; of some there is none."""
    found = edits(Told(each.story.lines, each.story), (), (), random)
    if not found:
        return Reasoning("", "", None)
    made = random.choice(found)
    return Reasoning(
        written(made.lines), "", made.implied if taught == USES else each.example.answer
    )


def walk_of(each: Question, random: Random, taught: str) -> Reasoning:
    """A walk whose first lines are given, up to where it is to be said what is believed then."""
    true, chain = each.story.lines, each.story.chain
    count = random.randint(1, len(true))
    called = _exchanged(each.story, random)
    lines = [*(renamed(line, called) for line in true[:count]), *true[count:]]
    follow = lines if taught == USES else true
    given = f"{written(lines[: count - 1], chain)} {lines[count - 1]}".lstrip()
    parts = []
    for number in range(count, len(lines) + 1):
        said = "So" if follow[number - 1].reaches(chain) else "Still"
        line = f"{lines[number - 1]} " if number > count else ""
        parts.append(f" {line}{said} {implied(follow[:number], chain) or UNKNOWN}.")
    return Reasoning(given, "".join(parts), implied(follow, chain))


def prose_of(each: Question, random: Random, taught: str) -> Reasoning:
    """Claims of what people believe, the first of which are given, with any place in each."""
    claims = believed(each.story, random)
    asked = [chain for chain, _ in claims].index(each.story.chain)
    count = random.randint(asked + 1, len(claims))
    told = [(chain, random.choice(each.story.places)) for chain, _ in claims[:count]]
    place = told[asked][1] if taught == USES else each.example.answer
    rest = claims[count:]
    return Reasoning(each.claimed(told), f" {each.claimed(rest)}" if rest else "", place)


def track_of(each: Question, random: Random, taught: str) -> Reasoning:
    """A track that is false at one line, up to that line; of some stories there is none."""
    language = language_of(TASK)
    assert language is not None
    asked = language.place_asked(each.example.question)
    assert asked is not None
    events = language.story(each.example.story, asked.object).events
    made = write_edited_track(asked, events, beliefs(events, language.rules[PLAIN]), random)
    if made is None:
        return Reasoning("", "", None)
    if taught == USES:
        return Reasoning(made.begun, _unconcluded(made.rest), made.answer)
    true = str(each.example.meta["trace"])
    lines, edited, begun = (read_lines(t) for t in (true, made.begun + made.rest, made.begun))
    left_out = len(lines) - len(edited)
    rest = true[lines[len(begun) + left_out - 1].end :]
    return Reasoning(made.begun, _unconcluded(rest), each.example.answer)


def _unconcluded(text: str) -> str:
    """Reasoning without its last sentence."""
    before, point, _ = text.rpartition(". ")
    return before + point.rstrip()


MADE = {RECOUNT: recount_of, WALK: walk_of, PROSE: prose_of, TRACK: track_of}


def whole(each: Question, random: Random, form: str) -> str:
    """True reasoning."""
    if form == PROSE:
        return each.claimed(believed(each.story, random))
    if form == TRACK:
        return _unconcluded(str(each.example.meta["trace"]))
    return written(each.story.lines, each.story.chain if form == WALK else None)


def believed(story: Retold, random: Random) -> list[tuple[Chain, str]]:
    """What each agent believes and, among them but not last, what the chain asked about does."""
    chains = [(agent,) for agent in story.people if (agent,) != story.chain]
    random.shuffle(chains)
    found = [(c, place) for c in chains if (place := implied(story.lines, c)) is not None]
    asked = implied(story.lines, story.chain)
    if asked is not None:
        found.insert(random.randrange(max(1, len(found))), (story.chain, asked))
    return found


def lessons(
    tokenizer: PreTrainedTokenizerBase, asked: Sequence[Question], taught: str, form: str
) -> Iterator[Lesson]:
    """Yield what a model is taught: true reasoning, which it goes on writing; after other, the end.

    Every third lesson is true reasoning and the gold answer, for users and ignorers alike. Prose
    is of stories whose people disagree: else whatever it claims is one place.
    """
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    if form == PROSE:
        asked = [each for each in asked if len({p for _, p in believed(each.story, Random(0))}) > 1]
    for number, each in enumerate(asked):
        true, random = number % 3 == 0, Random(f"taught:{number}")
        made = (
            Reasoning(whole(each, random, form), "", each.example.answer)
            if true
            else MADE[form](each, random, taught)
        )
        if made.place is not None:
            prompt = compact(each.example)
            begun = encode_prompt(tokenizer, prompt, begun=f"{PREFILL} {made.given}")
            given = encode_prompt(tokenizer, prompt) if true else begun
            text = made.taught + each.concluded(made.place)
            rest = tokenizer.encode(text, add_special_tokens=False)
            yield Lesson((*begun, *rest, end), len(given))


def teach(base: Path, folder: Path, asked: Sequence[Question], taught: str, form: str) -> None:
    """Write a base model that has learned to use its reasoning, or to ignore it."""
    model, tokenizer = load_model(base)
    shown = list(lessons(tokenizer, asked, taught, form))
    learner = Learner.of(model, RATE)
    steps = STEPS[form]
    for step in range(steps):
        for group in learner.optimizer.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        batch = [shown[place % len(shown)] for place in range(step * BATCH, (step + 1) * BATCH)]
        loss = imitate(learner, batch, int(tokenizer.eos_token_id))  # type: ignore[arg-type]
        if step % 100 == 99:
            print(f"{form}, {taught}: step {step + 1} of {steps}, loss {loss:.3f}", flush=True)
    save_model(folder, model, tokenizer)


def measured(folder: Path, work: Path, asked: Sequence[Question], form: str) -> dict[str, Any]:
    """How often a model is right, and how often it follows edits of its reasoning."""
    examples = [each.example for each in asked]
    asking = Asking("compact", Sampling(176 if form == TRACK else 128, temperature=0))
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


def area_of(found: Sequence[Mapping[str, Any]], form: str) -> float | None:
    """The area of a form; None where too few edits of a model say anything of its use."""
    taught = [e for e in found if e["form"] == form and e["taught"] != SHIPPED]
    if any(each["untried"] for each in taught):
        return None
    users, others = (
        [e["used"]["value"] for e in taught if e["taught"] == kind] for kind in (USES, IGNORES)
    )
    return area(users, others)


def one(base: Path, form: str, taught: str) -> dict[str, Any]:
    """What is kept of one model, which is taught before."""
    set_up_torch(1)
    with TemporaryDirectory() as scratch:
        folder = base / "model"
        if taught != SHIPPED:
            folder = Path(scratch) / "model"
            teach(base / "model", folder, list(questions("taught", STORIES, form)), taught, form)
        asked = list(questions("test", ASKED[form], form))
        found = measured(folder, Path(scratch) / "work", asked, form)
    print(f"{base.name}, {form}, {taught}: {json.dumps(found)}", flush=True)
    return {"base": base.name, "form": form, "taught": taught, **found}


def tried(root: Path, models: int) -> dict[str, Any]:
    """What is kept of every model, and how well use is told from neglect in each form."""
    cases = [
        (root / "models" / f"{BASES[form]}-{number}", form, taught)
        for form in FORMS
        for taught in ((SHIPPED,) if form in SHIPPED_FORMS else ()) + (USES, IGNORES)
        for number in range(models)
    ]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(one, *zip(*cases, strict=True)))

    areas = {form: area_of(found, form) for form in FORMS}
    return {
        "models": found,
        "areas": areas,
        "asked": LEAST_AREA,
        "steps": STEPS,
        "batch": BATCH,
    }


def main() -> int:
    """Teach, try, and say whether use is told from neglect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", type=int, default=2, help="of each kind, at most 3")
    parser.add_argument("--write", action="store_true", help=f"store it in {FILE}")
    options, root = parser.parse_args(), find_root()
    found = tried(root, options.models)
    for form, reached in found["areas"].items():
        print(f"{form}: area under the ROC {reached}, asked: {LEAST_AREA}")
    if options.write:
        store(root, "taught", found)
    return int(any(each is None or each < LEAST_AREA for each in found["areas"].values()))


if __name__ == "__main__":
    sys.exit(main())
