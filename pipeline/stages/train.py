"""Stage ``train@cell``: reinforcement learning from the base model; best and last checkpoints."""

from __future__ import annotations

import copy
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import Cell
from pipeline.errors import UserError
from pipeline.files import read_json, remove, remove_leftovers, replacing, write_json, write_lines
from pipeline.stages.common import Stage, cell_folder, input_digest, run, use_threads
from pipeline.tracking import cell_tracker

if TYPE_CHECKING:
    from pipeline.train.local import LocalTrainer, TrainingResult


def main(stage: Stage, key: str) -> None:
    """Train one cell; base and API cells train nothing and pass their manifest on."""
    cell, folder, logs = cell_folder(stage, key)
    remove_leftovers(folder)
    base = stage.root / cell.base
    metrics: list[dict[str, Any]]
    timing: list[dict[str, Any]]
    if cell.train is None:
        content, metrics, timing, tracking = read_json(base), [], [], None
    else:
        content, metrics, timing, tracking = _train(stage, key, cell, base)
    write_json(folder / "config.json", cell.model_dump(mode="json"))
    write_lines(folder / "metrics.jsonl", metrics)
    write_lines(logs / "timing.jsonl", timing)
    write_json(logs / "tracking.json", tracking)
    write_json(folder / "checkpoints.json", content)


def _train(
    stage: Stage, key: str, cell: Cell, base: Path
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]], Any]:
    from pipeline.model.weights import load_model, manifest, resolve
    from pipeline.progress import ProgressReport
    from pipeline.train.data import load_rows
    from pipeline.train.local import LocalTrainer, StepReport

    recipe = cell.train
    assert recipe is not None and cell.algorithm is not None
    if recipe.backend != "local":
        raise UserError(
            f"cell {key}: backend {recipe.backend!r} is not part of this installation; "
            f"allowed: local. Set cells.{key}.train.backend"
        )
    use_threads(stage.params.study.threads)
    policy, tokenizer = load_model(resolve(base, stage.store, f"base@{cell.model}"))
    inputs = stage.root / cell.inputs
    train = load_rows(inputs / "train.parquet", tokenizer, recipe.max_prompt_tokens)
    validation = load_rows(inputs / "validation.parquet", tokenizer, recipe.max_prompt_tokens)
    if train.skipped or validation.skipped:
        print(
            f"train {key}: skipped {train.skipped} training and {validation.skipped} validation "
            f"prompts longer than {recipe.max_prompt_tokens} tokens"
        )
    settings = cell.model_dump(mode="json", include={"algorithm", "seed", "train"})
    work = stage.work(
        settings, stage.params.study.threads, input_digest(base), input_digest(inputs)
    )
    tracker = cell_tracker(stage.params, key, stage.root)
    stop = _StopRequest()
    with ProgressReport(f"train {key}", recipe.total_steps(len(train.rows))) as progress:

        def report(step: StepReport) -> None:
            progress.at(step.step, _note(step))
            tracker.step("train", step.step, {**step.metrics, **step.timing}, step.at)

        trainer = LocalTrainer(
            policy=policy,
            reference=copy.deepcopy(policy).requires_grad_(False),
            tokenizer=tokenizer,
            train=train.rows,
            validation=validation.rows,
            recipe=recipe,
            algorithm=cell.algorithm,
            seed=cell.seed,
            work=work,
            report=report,
            should_stop=stop.requested,
        )
        outcome = trainer.run()
    checkpoints = _store_checkpoints(stage, trainer, outcome)
    content = manifest(cell.model, checkpoints, recipe.checkpoint)
    content["skipped_prompts"] = train.skipped
    tracker.dataset("train", inputs / "train.parquet")
    tracker.replay("train", outcome.metrics, outcome.timing)
    tracker.tags({"best_step": outcome.best_step, "checkpoint": checkpoints["best"]["digest"]})
    tracker.tags({"last_step": outcome.last_step})
    if outcome.collapse:
        tracker.tags({"collapse_step": outcome.collapse.step})
    tracker.finish()
    print(
        f"train {key}: best validation accuracy {outcome.best_accuracy:.1%} at step "
        f"{outcome.best_step}, {outcome.metrics[0]['validation_accuracy']:.1%} before"
    )
    remove(work)
    return content, outcome.metrics, outcome.timing, tracker.ids()


def _store_checkpoints(
    stage: Stage, trainer: LocalTrainer, outcome: TrainingResult
) -> dict[str, dict[str, Any]]:
    """Put the best and the last weights into the store; return their entries in the manifest."""
    from pipeline.model.weights import save_model

    digests = {}
    for role, weights in (("best", trainer.best_weights()), ("last", None)):
        folder = trainer.work / role / "model"
        remove(folder)
        with replacing(folder) as temporary:
            save_model(temporary, trainer.policy, trainer.tokenizer, weights)
        digests[role] = stage.store.put(folder)
    best = {"validation_accuracy": outcome.best_accuracy}
    return {
        "best": {"step": outcome.best_step, "digest": digests["best"], **best},
        "last": {"step": outcome.last_step, "digest": digests["last"]},
    }


def _note(step: Any) -> str:
    metrics = step.metrics
    if "reward_mean" not in metrics:
        return f"validation {metrics['validation_accuracy']:.0%}"
    note = (
        f"reward {metrics['reward_mean']:.2f}  accuracy {metrics['accuracy']:.0%}  "
        f"length {metrics['length_mean']:.1f}"
    )
    if "validation_accuracy" in metrics:
        note += f"  validation {metrics['validation_accuracy']:.0%}"
    return note


class _StopRequest:
    """Turns SIGTERM and Ctrl-C into a question the trainer asks after every step."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        if self._asked:  # a second request does not wait for the step
            raise KeyboardInterrupt
        self._asked = True

    def requested(self) -> bool:
        return self._asked


if __name__ == "__main__":
    run("train", main)
