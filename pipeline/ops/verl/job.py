"""The job: trains one cell with verl on the cluster, and keeps what came of it.

``python -m pipeline.ops.verl.job`` runs in the folder that the stage uploaded. It may be killed
at any time and started again: its state folder says how far it came. It speaks to the stage in
lines, see :mod:`pipeline.ops.verl.spec`.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Sft
from pipeline.formats.files import AppendedLines, read_json, remove, replacing, write_json
from pipeline.formats.provenance import GRADING, MODEL, installed
from pipeline.formats.records import Figures
from pipeline.model.manifest import StoredModel
from pipeline.ops.cluster.attempts import train_once
from pipeline.ops.cluster.job import NODE_DISK, NOTE, SAVED, STEP
from pipeline.ops.cluster.job_lines import SPEC, say, work_off
from pipeline.ops.cluster.reserve import reserved
from pipeline.ops.verl import checkpoints
from pipeline.ops.verl.attention import described, flash_is_installed
from pipeline.ops.verl.collect import CHECKED_LOSS, step_row, validation_answered
from pipeline.ops.verl.journal import LoggedStep, StepJournal
from pipeline.ops.verl.layout import PROBE, State
from pipeline.ops.verl.overrides import JobPaths, Overrides, as_arguments, planned
from pipeline.ops.verl.prompt import write_tokenizer
from pipeline.ops.verl.sft_data import lessons
from pipeline.ops.verl.spec import RANK_CPUS, JobSpec
from pipeline.ops.verl.trainers import IMITATION, RL, Trainer, trainer_of
from pipeline.train.checks import check_answers
from pipeline.train.contract import Outcome, Step
from pipeline.train.data import TokenisedRow, load_rows
from pipeline.train.kept_rollouts import RolloutLog

VERL = "0.9.1"
"""The version of verl."""
_POLL_SECONDS = 0.5
_PROBES = 4
_REWARD = "pipeline.reward.verl_entry"
_MUST_BE_FINITE = ("loss", "gradient_norm", "value_loss", "value_gradient_norm", "reward_mean")
_WORKERS = "ray_kwargs.ray_init.runtime_env.env_vars"
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, linux/prctl.h


def main() -> None:
    """Run the job of the current folder."""
    signal.signal(signal.SIGTERM, _leave)
    work_off(lambda: run(JobSpec.read(Path.cwd() / SPEC, "train"), Path.cwd()))


def run(spec: JobSpec, folder: Path) -> str:
    """Train as the only attempt, and return the digest of the result.

    Args:
        spec: What to do.
        folder: The uploaded folder, with the datasets.

    Raises:
        Overtaken: If another attempt took over.
        UserError: If something fails that its user must fix.
    """
    return train_once(
        spec, lambda attempt: VerlAttempt(spec, folder, State(attempt.root, attempt.name)).run()
    )


class VerlAttempt:
    """One attempt at a training run.

    Args:
        spec: What to do.
        folder: The uploaded folder, with the datasets.
        state: The state folder, taken over from the last attempt.
    """

    def __init__(self, spec: JobSpec, folder: Path, state: State) -> None:
        recipe = spec.cell.train
        self.algorithm = spec.cell.algorithm
        self.trainer = trainer_of(spec.cell.algorithm)
        self.spec, self.folder, self.recipe = spec, folder, recipe
        self.state = state
        self.journal = StepJournal(self.state.steps)
        self.total, _ = planned(recipe, spec.rows)
        self.unlogged: Figures = {}  # of the step to go on from, if verl had not logged it
        self.tried = False  # whether a checkpoint of this attempt was seen to be one to keep
        self.seen = 0  # the last saved step that was looked at

    def run(self) -> Outcome:
        """Train to the planned last step, keep the best and the last weights, and say all of it.

        Raises:
            Overtaken: If another attempt took over.
            UserError: If something fails that its user must fix.
        """
        say(NOTE, described(self.recipe, flash=flash_is_installed()))
        check_engine()
        self.base = self.spec.start()
        done = self._resume()
        if done < self.total:
            self._train(self.base, done)
        return self._outcome(self.base)

    def _resume(self) -> int:
        """The step to go on from; what lies after it is forgotten."""
        logged = [each.step for each in self.journal.history.steps]
        unlogged = checkpoints.unlogged(self.state, {*logged, self.total})
        # One step at most: of one before it, which was not saved, no figures would be left.
        following = max(logged, default=0) + 1
        known = [*logged, *(step for step in unlogged if step == following)]
        done = checkpoints.prepare_resume(self.state, known, self.spec.placement.ranks)
        self.journal.keep_until(done if done else -1)
        RolloutLog(self.state.folder).keep_until(done)
        self.unlogged = unlogged.get(done, {})
        if done:
            say(SAVED, str(done))
            for step in checkpoints.whole_steps(self.state):  # killed before it was kept
                self._keep_if_asked(step)
            say(NOTE, f"goes on after step {done} of {self.total}")
        return done

    def _train(self, base: Path, done: int) -> None:
        check_reward()
        self.state.checkpoints.mkdir(parents=True, exist_ok=True)
        write_tokenizer(base, self.state.tokenizer, think=self.recipe.think)
        self._write_probe(base)
        remove(self.state.log)
        self.seen = done
        if self.trainer is IMITATION and not self.journal.history.steps:
            self._note(LoggedStep(step=0, data={}))  # it measures nothing of the base model
        gpus, settings = self.spec.placement.gpus, self._overrides(base, done)
        shared, disk = (self.spec.weights, self.spec.state), os.environ.get(NODE_DISK)
        nodes = self.spec.placement.nodes
        with reserved(nodes, gpus, RANK_CPUS * gpus, shared, disk) as variables:
            if self.trainer is RL:  # its ranks are started by a process on any node
                settings |= {f"+{_WORKERS}.{name}": value for name, value in variables.items()}
            with running(self.trainer.module, settings, variables) as verl:
                self._follow(verl, done)

    def _overrides(self, base: Path, done: int) -> Overrides:
        spec, state = self.spec, self.state
        paths = JobPaths(
            train=str(self.folder / "train.parquet"),
            validation=str(self.folder / "validation.parquet"),
            model=str(base),
            tokenizer=str(state.tokenizer),
            package=str(self.folder / "pipeline"),
            checkpoints=str(state.checkpoints),
            state=str(state.folder),
        )
        flash = flash_is_installed()
        again = bool(done) and self.trainer is RL  # the other one sees for itself
        return {
            **self.trainer.overrides(spec.cell, spec.placement, paths, spec.rows, flash),
            # By these verl names its log, below VERL_FILE_LOGGER_ROOT.
            "trainer.project_name": state.name,
            "trainer.experiment_name": state.log.stem,
            **_architecture(base, self.trainer, critic=self.algorithm.critic is not None),
            **({"trainer.val_before_train": False} if again and not self.unlogged else {}),
        }

    def _write_probe(self, base: Path) -> None:
        """Write the completions that every checkpoint is verified with.

        They are some gold answers or, of imitation, a batch of what is imitated. All prompts are
        read first: verl, which encodes them itself, refuses no control tokens.
        """
        tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
        limit, think = self.recipe.max_prompt_tokens, self.recipe.think
        train, validation = (self.folder / f"{name}.parquet" for name in ("train", "validation"))
        if isinstance(self.algorithm, Sft):
            taught = lessons(train, tokenizer, self.algorithm.imitates, limit, think=think)
            sequences = [
                {
                    "prompt": [*each.tokens[: each.given]],
                    "response": [*each.tokens[each.given :]],
                }
                for each in taught[: self.recipe.prompts_per_step]
            ]
        else:
            load_rows(train, tokenizer, limit, think=think)
            found = load_rows(validation, tokenizer, limit, think=think)
            sequences = [_answered(row, tokenizer) for row in found.rows[:_PROBES]]
        write_json(self.state.checkpoints / PROBE, sequences)

    def _follow(self, verl: subprocess.Popen[bytes], done: int) -> None:
        """Note each step that verl logs, until it ends.

        Raises:
            Overtaken: If another attempt took over.
            RuntimeError: If it failed; the stage reads in the log why.
        """
        log, losses = AppendedLines(self.state.log), dict[int, float]()
        while verl.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                verl.wait(_POLL_SECONDS)
            for logged in map(LoggedStep.model_validate, log.new()):
                if CHECKED_LOSS in logged.data:  # of imitation, after its step's own row
                    losses[logged.step] = logged.figures.get(CHECKED_LOSS, math.nan)
                elif logged.step == done and self.unlogged:
                    logged.data = {**self.unlogged, **logged.data}
                    self._note(logged)
                elif logged.step > done or not self.journal.history.steps:
                    self._note(logged)
            checkpoints.complete(self.state, losses)
            self._look_at_saved()
        self.state.check()  # a job that was overtaken says that, not how its verl ended
        steps = self.journal.history.steps
        reached = steps[-1].step if steps else 0
        if verl.returncode == 0 and reached == self.total:
            return
        raise RuntimeError(f"verl ended with status {verl.returncode} after step {reached}")

    def _note(self, logged: LoggedStep) -> None:
        validation = self.spec.validation
        if logged.step == 0 and self.trainer is RL:  # the other one rewards nothing
            answered = validation_answered(logged.figures, validation)
            check_answers(answered, sum(validation.values()), self.recipe, self.algorithm)
        step = step_row(logged.step, logged.figures, validation, time.time())
        check_finite(step)
        self.state.check()
        self.journal.add(step)
        say(STEP, step.line)

    def _look_at_saved(self) -> None:
        """Say which more steps are saved and logged, and keep of their checkpoints what is needed.

        Raises:
            UserError: If one cannot be kept.
        """
        last = self.journal.history.last.step if self.journal.history.steps else 0
        for step in checkpoints.whole_steps(self.state):
            if self.seen < step <= last:
                say(SAVED, str(step))
                self._keep_if_asked(step)
                self._try_first(step)
                self.seen = step
        checkpoints.thin(self.state, self.journal.history)

    def _keep_if_asked(self, step: int) -> None:
        """Keep the model of a saved step where all are asked for, unless it is there already.

        Raises:
            UserError: If it cannot be kept.
        """
        kept = self._kept_steps()
        if self.spec.cell.keeps and step not in kept:
            kept[step] = self._keep(self.base, step)
            write_json(self.state.kept, kept)
            self.tried = True

    def _kept_steps(self) -> dict[int, str]:
        """The digests of the models that are kept, by step, up to the last one logged."""
        if not self.state.kept.is_file():
            return {}
        last = self.journal.history.steps[-1].step if self.journal.history.steps else 0
        found = {int(step): digest for step, digest in read_json(self.state.kept).items()}
        return {step: found[step] for step in sorted(found) if step <= last}

    def _try_first(self, step: int) -> None:
        """Merge and verify the first checkpoint: what cannot be kept must not train to its end.

        Raises:
            UserError: If it cannot be kept.
        """
        if self.tried or step == self.total:  # the last is verified anyway
            return
        self.tried = True
        folder = self._merged(self.base, step)
        say(NOTE, f"step {step} can be kept: {self._verified(folder, step)}")
        remove(folder)

    def _outcome(self, base: Path) -> Outcome:
        """Keep the best and the last weights, and return them with all figures."""
        history = self.journal.history
        last = history.last
        best = checkpoints.best_saved(self.state, history) or last  # imitation is not validated
        kept = self._kept_steps()
        digests = {
            step: kept.get(step) or self._keep(base, step)
            for step in {best.step: None, last.step: None}
        }
        return Outcome(
            history=history,
            checkpoints={
                "best": StoredModel(
                    step=best.step, digest=digests[best.step], validation_accuracy=best.accuracy
                ),
                "last": StoredModel(step=last.step, digest=digests[last.step]),
            },
            libraries=installed(*MODEL, *GRADING, "verl", "vllm"),
            kept=tuple(StoredModel(step=step, digest=digest) for step, digest in kept.items()),
        )

    def _keep(self, base: Path, step: int) -> str:
        """Keep the model of one step, after it was verified."""
        folder = self._merged(base, step)
        found = self._verified(folder, step)
        self.state.check()
        digest = self.spec.kept.take(folder)
        say(NOTE, f"step {step} merged and kept: {found}")
        return digest

    def _merged(self, base: Path, step: int) -> Path:
        folder = self.state.folder / f"model-{step}"
        remove(folder)
        with replacing(folder) as temporary:
            shards = checkpoints.policy_folder(self.state.step(step))
            weights = checkpoints.merge(shards, self.recipe.precision)
            checkpoints.export(weights, base, temporary)
        return folder

    def _verified(self, folder: Path, step: int) -> checkpoints.LogprobDifference:
        return checkpoints.verify(folder, self.state, step, self.recipe.precision)


@contextmanager
def running(
    module: str, settings: Overrides, variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a trainer of verl as a child process, which prints where this one does."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *as_arguments(settings)],
        env={**os.environ, **variables},
        stderr=subprocess.STDOUT,
        preexec_fn=_die_with_parent,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def check_engine() -> None:
    """Check that verl is installed here, in the version that its settings are written for.

    Raises:
        UserError: If it is not.
    """
    lacks = [name for name in ("verl", "transfer_queue") if find_spec(name) is None]
    found = f"lacks {' and '.join(lacks)}" if lacks else f"has verl {version('verl')}"
    if found != f"has verl {VERL}":
        raise UserError(
            f"the environment of the job on {platform.node()} {found}; it needs verl {VERL} with "
            "transfer_queue: use the trainer image on the cluster's nodes, or run `make "
            "test-engines` for the environment of a private head"
        )


def check_reward() -> None:
    """Check that verl will be able to load the reward, which it does late and says badly.

    Raises:
        UserError: If it does not import.
    """
    try:
        importlib.import_module(_REWARD)
    except Exception as error:
        raise UserError(
            f"the reward module {_REWARD.replace('.', '/')}.py does not import "
            f"({type(error).__name__}: {error}); fix it, or restore it with git"
        ) from error


def check_finite(step: Step) -> None:
    """Check that a step is one to learn from, as the local trainer does.

    verl leaves out an update whose gradient is not finite, and trains on.

    Raises:
        RuntimeError: If it is not; the stage reads in the log why.
    """
    for name in _MUST_BE_FINITE:
        if not math.isfinite(value := step.metrics.get(name, 0.0)):
            raise RuntimeError(f"step {step.step}: {name} is {value}, not a finite number")


def _architecture(base: Path, trainer: Trainer, *, critic: bool) -> Overrides:
    """Name the model's class where its configuration does not, as verl wants it to."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    config = AutoConfig.from_pretrained(base, local_files_only=True)
    if config.architectures:
        return {}
    name = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[config.model_type]
    models = [*trainer.models, *(["critic.model"] if critic else [])]
    return {f"+{model}.override_config.architectures": [name] for model in models}


def _answered(row: TokenisedRow, tokenizer: PreTrainedTokenizerBase) -> dict[str, list[int]]:
    text = f"</think><answer> {row.example.answer}</answer>"
    answer = tokenizer.encode(text, add_special_tokens=False)
    return {"prompt": list(row.prompt), "response": [*answer, int(tokenizer.eos_token_id)]}  # type: ignore[arg-type]


def _die_with_parent() -> None:
    """Let the kernel end the child when this process is killed: its driver would train on."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _leave(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
