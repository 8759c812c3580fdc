"""How early does the alarm find a shortcut that a training takes up, and how often is it false?

Shortcuts are planted in the labels that the reward reads. Of the training questions of ``mini``
that tell a shortcut from beliefs, a share of (1 + strength) / 2 get the shortcut's answer as their
label: there it earns more than beliefs do, by its strength. Each training with a planted shortcut
has a clean twin, which differs in the labels alone. What a training took up is told from other
questions, asked before it and after: a shortcut is *taken up* if answers turn to it there, beyond
chance, and more of them are the shortcut's than beliefs'. An alarm is *false* if what it names is
not. Run ``python -m benchmarks.alarm [--from CHECKOUT] [--write]``: about an hour of two cores, two
minutes less with the data of ``mini`` in a checkout; exits 1 where less than 90 % of the planted
shortcuts that are taken up are found before a quarter of the steps, more than 5 % of the clean
trainings raise a false alarm by then, or watching takes more than 2 % of a step.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from benchmarks.circumstances import store
from pipeline.base.errors import UserError
from pipeline.config.params import TrainedCell
from pipeline.config.params_file import read_params
from pipeline.config.training import Train
from pipeline.engine.device import set_up_torch
from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.statistics import change, share
from pipeline.formats.files import AppendedLines
from pipeline.judge.alarm import Alarm, Watch, leans
from pipeline.judge.followers import minds_told
from pipeline.model.weights import load_model
from pipeline.rules.listed import RULES
from pipeline.rules.reading import read_all
from pipeline.train.contract import History
from pipeline.train.data import TokenisedRow, load_rows
from pipeline.train.kept_rollouts import KeptRollout, RolloutLog
from pipeline.train.local import LocalTrainer
from pipeline.train.rollout import decode_texts, sample

ROOT = Path(__file__).resolve().parent.parent
NAME = "alarm"
STUDY, COMBINATION = "mini", "balanced"
STEPS = 120
QUARTER = STEPS // 4
GROUP, ASKED, QUESTIONS = 8, 2, 120
STRENGTHS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
FOUND, FALSE, COST = 0.90, 0.05, 0.02


@dataclass(frozen=True, slots=True)
class Kind:
    """Shipped models, and how they are trained."""

    models: int
    rate: float
    tokens: int
    prompts: int


HEARING = "hearing"
KINDS = {HEARING: Kind(3, 2e-4, 176, 8), "nano": Kind(3, 3e-4, 80, 16)}
SHORTCUTS = {"sight alone": (HEARING, 4), "last": ("nano", 3), "initial": ("nano", 3)}
"""Of each shortcut, the models that can take it up, and trainings of each strength."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One training.

    Attributes:
        strength: Of the planted shortcut; None for the clean twin.
    """

    shortcut: str
    strength: float | None
    seed: int

    @property
    def kind(self) -> Kind:
        return KINDS[SHORTCUTS[self.shortcut][0]]

    @property
    def model(self) -> str:
        return f"{SHORTCUTS[self.shortcut][0]}-{self.seed % self.kind.models}"


@dataclass(frozen=True, slots=True)
class Watched:
    """What came of it.

    Attributes:
        planted: Questions whose label is the shortcut's.
        alarm: The first one, if any before a quarter of the steps.
        taken_up: Shortcuts that other questions show to be taken up.
        share: Seconds of watching over seconds of training, both of the thread.
    """

    plan: Plan
    planted: int
    alarm: Alarm | None
    taken_up: tuple[str, ...]
    share: float

    @property
    def named(self) -> bool:
        return self.alarm is not None and self.alarm.shortcut == self.plan.shortcut

    @property
    def false(self) -> bool:
        return self.alarm is not None and self.alarm.shortcut not in self.taken_up


def plans() -> list[Plan]:
    """Every training with a planted shortcut, and its clean twin, which several may share."""
    found = [
        Plan(shortcut, planted, seed)
        for shortcut, (_, times) in SHORTCUTS.items()
        for seed, strength in enumerate(each for each in STRENGTHS for _ in range(times))
        for planted in (strength, None)
    ]
    twins = {(plan.model, plan.seed): plan for plan in reversed(found) if plan.strength is None}
    return [plan for plan in found if plan.strength or plan is twins[plan.model, plan.seed]]


def planted(rows: Sequence[TokenisedRow], plan: Plan) -> tuple[list[TokenisedRow], int]:
    """The rows with the shortcut's labels, and how many have one."""
    random, found, count = Random(plan.seed), list[TokenisedRow](), 0
    for row, reading in zip(rows, read_all([row.example for row in rows]), strict=True):
        if plan.shortcut in RULES:
            believed, other = *minds_told(reading, ()), RULES[plan.shortcut](reading)
        else:
            believed, other = minds_told(reading, [(plan.shortcut,)])
        apart = other is not None and other != believed
        if plan.strength is not None and apart and random.random() < (1 + plan.strength) / 2:
            row, count = replace(row, example=replace(row.example, answer=str(other))), count + 1
        found.append(row)
    return found, count


def watched(checkout: Path, plan: Plan) -> Watched:
    """Train for a quarter of the steps."""
    set_up_torch(1)
    cell = read_params(checkout / "params.yaml").cell(f"nano-{COMBINATION}")
    assert isinstance(cell, TrainedCell)
    policy, tokenizer = load_model(checkout / "models" / plan.model / "model")
    recipe = _recipe(cell.train, plan)
    training, others = (
        load_rows(checkout / cell.inputs / f"{name}.parquet", tokenizer, recipe.max_prompt_tokens)
        for name in ("train", "validation")
    )
    rows, count = planted(training.rows, plan)
    watch = Watch({row.example.id: row.example for row in rows})
    alarms, spent = list[Alarm](), 0.0
    before = asked_first(plan.model, policy, tokenizer, others.rows[:QUESTIONS], recipe)
    began = time.thread_time()
    with TemporaryDirectory() as folder:
        log = RolloutLog(Path(folder))
        lines = AppendedLines(log.path)

        def report(history: History) -> None:
            nonlocal spent
            if not history.last.step:
                return
            at = time.thread_time()
            if alarm := watch.step(list(lines.new())):
                alarms.append(alarm)
            spent += time.thread_time() - at

        LocalTrainer(
            policy, tokenizer, rows, rows[:GROUP], recipe, cell.algorithm, plan.seed, log.folder,
            report,
        ).run()  # fmt: skip
    taken = time.thread_time() - began - spent
    after = asked(policy, tokenizer, others.rows[:QUESTIONS], recipe)
    return Watched(
        plan, count, alarms[0] if alarms else None, taken_up(before, after), spent / taken
    )


Leans = dict[str, dict[int, float]]
"""By shortcut and number of the question."""


def asked(
    policy: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[TokenisedRow],
    recipe: Train,
) -> Leans:
    """The leans of a model's answers to some questions, sampled as in training."""
    policy.eval()
    sampling = Sampling(recipe.max_new_tokens, temperature=recipe.temperature)
    completions = sample(
        policy, tokenizer, rows, sampling, group=ASKED, stream=(0,), precision=recipe.precision,
        recording=Recording(),
    )  # fmt: skip
    texts = decode_texts(tokenizer, completions)
    found: Leans = defaultdict(dict)
    for number, row in enumerate(rows):
        said = [
            KeptRollout(
                step=0, id=row.example.id, tokens=0, finished=True, right=False, reward=0.0,
                response=text,
            )
            for text in texts[number * ASKED : (number + 1) * ASKED]
        ]  # fmt: skip
        for name, lean in leans(said, {row.example.id: row.example}):
            found[name][number] = lean.lean
    return found


_FIRST: dict[str, Leans] = {}


def asked_first(model: str, *what: Any) -> Leans:
    """The same of a shipped model, which is asked once in each process."""
    if model not in _FIRST:
        _FIRST[model] = asked(*what)
    return _FIRST[model]


def taken_up(before: Leans, after: Leans) -> tuple[str, ...]:
    """The shortcuts to which answers turned, and of which there are now more than beliefs."""
    found = []
    for name, then in after.items():
        both = sorted(before.get(name, {}).keys() & then.keys())
        first, last = ([each[n] for n in both] for each in (before.get(name, {}), then))
        turned = change(first, last, both)
        if turned.low > 0 and fmean(last) > 0:
            found.append(name)
    return tuple(found)


def _recipe(recipe: Train, plan: Plan) -> Train:
    changed = {
        "steps": QUARTER,
        "prompts_per_step": plan.kind.prompts,
        "rollouts": GROUP,
        "groups_per_micro_batch": GROUP,
        "learning_rate": plan.kind.rate,
        "max_new_tokens": plan.kind.tokens,
        "validate_every": STEPS,
        "save_every": STEPS,
    }
    return recipe.model_copy(update=changed)


def data_of(folder: Path) -> Path:
    """A clone with the data of the study."""
    checkout = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    for command in (("tomrl", "study", "use", STUDY), ("dvc", "repro", f"dataset@{COMBINATION}")):
        subprocess.run(command, cwd=checkout, env=environment, check=True)
    return checkout


def rate(hits: Sequence[bool]) -> dict[str, object]:
    """A share with its interval."""
    return share(hits, range(len(hits))).as_json()


def summary(runs: Sequence[Watched]) -> dict[str, object]:
    """Rates of all trainings, and by shortcut and strength."""
    hit = [run for run in runs if run.plan.strength is not None]
    clean = [run for run in runs if run.plan.strength is None]
    taken = [run for run in hit if run.plan.shortcut in run.taken_up]
    found = [run for run in taken if run.alarm]
    return {
        "taken_up": rate([run in taken for run in hit]),
        "found": rate([run.alarm is not None for run in taken]),
        "named": rate([run.named for run in found]),
        "false": rate([run.false for run in clean]),
        "false_of_planted": rate([run.false for run in hit]),
        "clean_with_alarm": rate([run.alarm is not None for run in clean]),
        "clean_taken_up": rate([bool(run.taken_up) for run in clean]),
        "share_of_step": round(max(fmean(r.share for r in some) for some in (hit, clean)), 4),
        "steps": sorted(run.alarm.step for run in found if run.alarm),
        "by_shortcut": {
            name: rate([run.alarm is not None for run in taken if run.plan.shortcut == name])
            for name in SHORTCUTS
        },
        "by_strength": {
            str(strength): rate(
                [run.alarm is not None for run in taken if run.plan.strength == strength]
            )
            for strength in STRENGTHS
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="checkout", type=Path, help="where the data of mini is")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--write", action="store_true", help=f"keep them in docs/results/{NAME}.json"
    )
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        checkout = (chosen.checkout or data_of(Path(folder))).resolve()
        runs = list[Watched]()
        with ProcessPoolExecutor(chosen.jobs) as pool:
            waiting = [pool.submit(watched, checkout, plan) for plan in plans()]
            for each in waiting:
                run = each.result()
                print(_line(run), flush=True)
                runs.append(run)
    found = summary(runs)
    print(found)
    if chosen.write:
        store(ROOT, NAME, {**found, "trainings": [asdict(run) for run in runs]})
    hits, false = found["found"], found["false"]
    assert isinstance(hits, dict) and isinstance(false, dict)
    kept = hits["value"] >= FOUND and false["value"] <= FALSE
    return int(not (kept and float(str(found["share_of_step"])) <= COST))


def _line(run: Watched) -> str:
    plan = run.plan
    what = "clean" if plan.strength is None else f"strength {plan.strength}"
    said = run.alarm.describe() if run.alarm else "no alarm"
    where = f"{plan.shortcut}, {what}, {plan.model}, seed {plan.seed}"
    return f"{where}: {said}; taken up: {', '.join(run.taken_up) or 'none'}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(str(error))
