"""Making a tiny base model: its tokenizer, its weights, its warm start."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from pipeline.config.models import SIZES, TinyModel
from pipeline.config.params import BaseEntry
from pipeline.engine.linear import made_by_intel
from pipeline.formats.files import digest_of, folder_digests, replacing
from pipeline.formats.records import Record
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.train import warm_start
from pipeline.train.warm_start import Demonstration

_TOKENIZER_DEMONSTRATIONS = 4000


class MadeModel(Record):
    """A tiny model: digest, numbers of weights and tokens, losses of its warm start."""

    digest: str
    parameters: int
    tokens: int
    losses: tuple[float, ...]


def demonstrations_of(entry: BaseEntry) -> list[Demonstration]:
    assert isinstance(entry.model, TinyModel)
    return list(warm_start.demonstrations(entry.model.warm_start, entry.stories, entry.sums))


def processor() -> list[str]:
    """Properties of the processor that affect the bytes of a model."""
    found = [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    return [*found, "Intel"] if made_by_intel() else found


def make(
    entry: BaseEntry,
    examples: Sequence[Demonstration],
    words: Sequence[str],
    folder: Path,
    state: Path,
    report: Callable[[int, float], None] = lambda step, loss: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> MadeModel:
    """Make a tiny model and write it in Hugging Face layout.

    Args:
        words: Further texts for its tokenizer.
        state: Folder of the resumable state.
        should_stop: Polled after every step; if true, Interrupted is raised.
    """
    assert isinstance(entry.model, TinyModel)
    recipe = entry.model.warm_start
    texts = [*warm_start.texts(examples, _TOKENIZER_DEMONSTRATIONS), *words]
    tokenizer = make_tokenizer(texts, recipe.vocabulary)
    model = make_model(
        SIZES[entry.model.size],
        tokenizer,
        context=recipe.context,
        seed=entry.seed,
        look_back=recipe.look_back,
    )
    run = warm_start.WarmStartRun(model, tokenizer, recipe, state, report, should_stop)
    losses = run.train(examples)
    with replacing(folder) as temporary:
        save_model(temporary, model, tokenizer)
    return MadeModel(
        digest=digest_of(folder_digests(folder)),
        parameters=sum(tensor.numel() for tensor in model.parameters()),
        tokens=len(tokenizer),
        losses=tuple(losses),
    )
