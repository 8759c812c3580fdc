"""Base models of kind ``tiny``: made on the spot and warm-started on generated stories."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pandas as pd

from pipeline.closure import closure
from pipeline.config.models import SIZES, TinyModel
from pipeline.config.params import BaseEntry
from pipeline.files import remove, replacing
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.plugins import BASES
from pipeline.progress import ProgressReport
from pipeline.provenance import MODEL, installed
from pipeline.records import Figures
from pipeline.stages.base import Made
from pipeline.stages.code import CARRIERS, package_root
from pipeline.stages.common import Stage, use_threads
from pipeline.train import base_cache, warm_start
from pipeline.train.base_cache import MadeModel
from pipeline.train.warm_start import Demonstration


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Make a tiny model, or take the same one that was made before, for any study."""
    assert isinstance(entry.model, TinyModel)
    threads = stage.params.study.threads
    use_threads(threads)
    examples = list(warm_start.demonstrations(entry.model.warm_start, entry.stories, entry.sums))
    texts = [*warm_start.texts(examples, 4000), *_training_texts(stage)]
    code = closure(package_root(), BASES["tiny"].modules, CARRIERS)
    known = stage.work("made", base_cache.key_of(entry, threads, examples, texts, code))
    timing: list[Figures] = []
    made, how = base_cache.recall(known, stage.store), "made before"
    if made is None:
        made, how = _make(stage, key, entry, examples, texts, timing), "made now"
        base_cache.remember(known, made)
    print(
        f"base {key}: {made.parameters:,} parameters, {made.tokens} tokens, loss "
        f"{made.losses[-1]:.3f}, {how}"
    )
    manifest = Manifest(
        model=key,
        use="base",
        checkpoints={"base": StoredModel(step=0, digest=made.digest)},
        parameters=made.parameters,
        libraries=installed(*MODEL),
    )
    metrics: list[Figures] = [{"step": n, "loss": loss} for n, loss in enumerate(made.losses, 1)]
    return Made(manifest, metrics, timing)


def _make(
    stage: Stage,
    key: str,
    entry: BaseEntry,
    examples: Sequence[Demonstration],
    texts: Sequence[str],
    timing: list[Figures],
) -> MadeModel:
    """Make a tiny model: tokenizer from the study's texts, weights, warm start."""
    assert isinstance(entry.model, TinyModel)
    recipe, size = entry.model.warm_start, SIZES[entry.model.size]
    tokenizer = make_tokenizer(texts, recipe.vocabulary)
    model = make_model(size, tokenizer, context=recipe.context, seed=entry.seed)
    with ProgressReport(f"warm start {key}", recipe.steps) as progress:

        def report(step: int, total: int, loss: float) -> None:
            timing.append({"step": step, "at": time.time()})
            progress.at(step, f"loss {loss:.3f}")

        losses = warm_start.warm_start(model, tokenizer, examples, recipe, report)
    folder = stage.work(key, "model")
    remove(folder)
    with replacing(folder) as temporary:
        save_model(temporary, model, tokenizer)
    digest = stage.store.put(folder)
    remove(folder)
    parameters = sum(tensor.numel() for tensor in model.parameters())
    return MadeModel(
        digest=digest, parameters=parameters, tokens=len(tokenizer), losses=tuple(losses)
    )


def _training_texts(stage: Stage) -> list[str]:
    """Return the prompts of every training set, so that the tokenizer knows their words."""
    return [
        message["content"]
        for path in sorted((stage.data / "combos").glob("*/train.parquet"))
        for messages in pd.read_parquet(path, columns=["prompt"])["prompt"]
        for message in messages
    ]
