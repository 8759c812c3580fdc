"""Stage ``base@model``: the base model in the artifact store, named by a manifest."""

from __future__ import annotations

import time
from typing import Any

import pandas as pd

from pipeline.config import ApiModel, BaseEntry, HubModel, TinyModel, lookup
from pipeline.errors import UserError
from pipeline.files import remove, replacing, write_json, write_lines
from pipeline.stages.common import Stage, run, use_threads


def main(stage: Stage, key: str) -> None:
    """Make, or fetch, one base model."""
    entry = lookup(stage.params.base, key, "model")
    folder, logs = stage.runs / "base" / key, stage.logs / "base" / key
    match entry.model:
        case TinyModel():
            content, metrics, timing = _tiny(stage, key, entry)
        case ApiModel(model=name):
            content, metrics, timing = {"model": key, "api": name}, [], []
        case HubModel(repository=repository):
            raise UserError(
                f"model {key} ({repository}) is downloaded by the cluster trainer, which is not "
                "part of this installation; studies with tiny models run here: tomrl study list"
            )
    write_lines(folder / "metrics.jsonl", metrics)
    write_lines(logs / "timing.jsonl", timing)
    write_json(folder / "checkpoints.json", content)


def _tiny(
    stage: Stage, key: str, entry: BaseEntry
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Make a tiny model: tokenizer from the study's texts, weights, warm start."""
    from pipeline.model.tiny import SIZES, make_model, make_tokenizer
    from pipeline.model.weights import manifest, save_model
    from pipeline.progress import ProgressReport
    from pipeline.train import warm_start as warm

    model_entry = entry.model
    assert isinstance(model_entry, TinyModel)
    use_threads(stage.params.study.threads)
    recipe = model_entry.warm_start
    examples = list(warm.demonstrations(recipe, entry.stories, entry.sums))
    texts = [*warm.texts(examples, 4000), *_training_texts(stage)]
    tokenizer = make_tokenizer(texts, recipe.vocabulary)
    size = SIZES[model_entry.size]
    model = make_model(size, tokenizer, context=recipe.context, seed=entry.seed)
    timing: list[dict[str, Any]] = []
    with ProgressReport(f"warm start {key}", recipe.steps) as progress:

        def report(step: int, total: int, loss: float) -> None:
            timing.append({"step": step, "at": time.time()})
            progress.at(step, f"loss {loss:.3f}")

        losses = warm.warm_start(model, tokenizer, examples, recipe, report)
    folder = stage.work(key, "model")
    remove(folder)
    with replacing(folder) as temporary:
        save_model(temporary, model, tokenizer)
    digest = stage.store.put(folder)
    remove(folder)
    parameters = sum(tensor.numel() for tensor in model.parameters())
    print(f"base {key}: {parameters:,} parameters, {len(tokenizer)} tokens, loss {losses[-1]:.3f}")
    content = manifest(key, {"base": {"step": 0, "digest": digest}}, use="base")
    content["parameters"] = parameters
    metrics = [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)]
    return content, metrics, timing


def _training_texts(stage: Stage) -> list[str]:
    """Return the prompts of every training set, so that the tokenizer knows their words."""
    return [
        message["content"]
        for path in sorted((stage.data / "combos").glob("*/train.parquet"))
        for messages in pd.read_parquet(path, columns=["prompt"])["prompt"]
        for message in messages
    ]


if __name__ == "__main__":
    run("base", main)
