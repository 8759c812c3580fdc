"""Stage ``base@model``: the base model in the artifact store, named by a manifest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pipeline.config.lookup import lookup
from pipeline.config.models import ApiModel, HubModel, TinyModel
from pipeline.config.params import BaseEntry
from pipeline.errors import UserError
from pipeline.files import remove, replacing, write_json, write_lines
from pipeline.stages.common import Stage, run, use_threads

if TYPE_CHECKING:
    from pipeline.train.base_cache import MadeModel
    from pipeline.train.warm_start import Demonstration


def main(stage: Stage, key: str) -> None:
    """Make, or fetch, one base model."""
    entry = lookup(stage.params.base, key, "model")
    folder, logs = stage.runs / "base" / key, stage.logs / "base" / key
    match entry.model:
        case TinyModel():
            content, metrics, timing = _tiny(stage, key, entry)
        case ApiModel(model=name):
            content, metrics, timing = {"model": key, "api": name}, [], []
        case HubModel() as model:
            content, metrics, timing = _hub(stage, key, model), [], []
    write_lines(folder / "metrics.jsonl", metrics)
    write_lines(logs / "timing.jsonl", timing)
    write_json(folder / "checkpoints.json", content)


def _tiny(
    stage: Stage, key: str, entry: BaseEntry
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Make a tiny model, or take the same one that was made before, for any study."""
    from pipeline.model.weights import manifest
    from pipeline.train import base_cache, warm_start

    assert isinstance(entry.model, TinyModel)
    threads = stage.params.study.threads
    use_threads(threads)
    examples = list(warm_start.demonstrations(entry.model.warm_start, entry.stories, entry.sums))
    texts = [*warm_start.texts(examples, 4000), *_training_texts(stage)]
    known = stage.work("made", base_cache.key_of(entry, threads, examples, texts))
    timing: list[dict[str, Any]] = []
    made, how = base_cache.recall(known, stage.store), "made before"
    if made is None:
        made, how = _make(stage, key, entry, examples, texts, timing), "made now"
        base_cache.remember(known, made)
    print(
        f"base {key}: {made.parameters:,} parameters, {made.tokens} tokens, loss "
        f"{made.losses[-1]:.3f}, {how}"
    )
    content = manifest(key, {"base": {"step": 0, "digest": made.digest}}, use="base")
    content["parameters"] = made.parameters
    metrics = [{"step": step, "loss": loss} for step, loss in enumerate(made.losses, 1)]
    return content, metrics, timing


def _make(
    stage: Stage,
    key: str,
    entry: BaseEntry,
    examples: Sequence[Demonstration],
    texts: Sequence[str],
    timing: list[dict[str, Any]],
) -> MadeModel:
    """Make a tiny model: tokenizer from the study's texts, weights, warm start."""
    from pipeline.model.tiny import SIZES, make_model, make_tokenizer
    from pipeline.model.weights import save_model
    from pipeline.progress import ProgressReport
    from pipeline.train.base_cache import MadeModel
    from pipeline.train.warm_start import warm_start

    assert isinstance(entry.model, TinyModel)
    recipe, size = entry.model.warm_start, SIZES[entry.model.size]
    tokenizer = make_tokenizer(texts, recipe.vocabulary)
    model = make_model(size, tokenizer, context=recipe.context, seed=entry.seed)
    with ProgressReport(f"warm start {key}", recipe.steps) as progress:

        def report(step: int, total: int, loss: float) -> None:
            timing.append({"step": step, "at": time.time()})
            progress.at(step, f"loss {loss:.3f}")

        losses = warm_start(model, tokenizer, examples, recipe, report)
    folder = stage.work(key, "model")
    remove(folder)
    with replacing(folder) as temporary:
        save_model(temporary, model, tokenizer)
    digest = stage.store.put(folder)
    remove(folder)
    parameters = sum(tensor.numel() for tensor in model.parameters())
    return MadeModel(digest, parameters, len(tokenizer), tuple(losses))


def _hub(stage: Stage, key: str, model: HubModel) -> dict[str, Any]:
    """Fetch a published model and put it into the store."""
    from pipeline.model.check import check_model
    from pipeline.model.hub import access_from, fetch
    from pipeline.model.weights import manifest

    store = stage.store

    def stored(digest: str) -> bool:
        return digest in store.digests() and store.verify(digest)

    work = stage.work(model.repository)
    snapshot, files = fetch(model.repository, model.revision, work, access_from(), stored=stored)
    digest = snapshot.stored_digest()
    assert digest is not None
    parameters = check_model(files or store.root / digest)
    if files:
        if store.put(files) != digest:
            raise UserError(f"{files}: files changed while they were stored; run it again")
        remove(files)
    print(f"base {key}: {model.repository} at {snapshot.revision}, {parameters:,} parameters")
    content = manifest(key, {"base": {"step": 0, "digest": digest}}, use="base")
    return content | {
        "parameters": parameters,
        "repository": snapshot.repository,
        "revision": snapshot.revision,
        "files": {file.name: file.sha256 for file in snapshot.files},
    }


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
