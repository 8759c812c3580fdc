"""Shapes of the studies' models, known without their weights."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from pipeline.base.errors import UserError
from pipeline.config.models import (
    SIZES,
    ApiModel,
    FolderModel,
    GgufModel,
    HubModel,
    Model,
    RecordedModel,
    TinyModel,
    WheelModel,
)
from pipeline.formats.files import read_json
from pipeline.train.shape import Shape

# From the config.json of the repositories on the Hugging Face hub.
QWEN25 = {
    "0.5B": Shape(896, 4864, 24, 14, 2, 151_936, True),
    "1.5B": Shape(1536, 8960, 28, 12, 2, 151_936, True),
    "3B": Shape(2048, 11_008, 36, 16, 2, 151_936, True),
    "7B": Shape(3584, 18_944, 28, 28, 4, 152_064, False),
    "14B": Shape(5120, 13_824, 48, 40, 8, 152_064, False),
    "32B": Shape(5120, 27_648, 64, 40, 8, 152_064, False),
}
PUBLISHED = {f"Qwen/Qwen2.5-{size}": shape for size, shape in QWEN25.items()} | {
    "HuggingFaceTB/SmolLM2-135M": Shape(576, 1536, 30, 9, 3, 49_152, True),
}
"""Shapes by repository; a name covers its variants, such as ``-Instruct``."""


def shape_of(model: Model, root: Path | None = None) -> Shape:
    """The shape of a study's model; UserError if it is unknown, as behind an API.

    ``root`` is the checkout, whose shipped models have their own vocabulary; without it, a tiny
    model counts with its maximum.
    """
    match model:
        case TinyModel(shipped=str(name)) if root is not None:
            return Shape.of(read_json(root / "models" / name / "model" / "config.json"))
        case TinyModel():
            size = SIZES[model.size]
            return Shape(
                hidden_size=size.hidden,
                intermediate_size=4 * size.hidden,
                num_hidden_layers=size.layers,
                num_attention_heads=size.heads,
                num_key_value_heads=size.heads,
                vocab_size=model.warm_start.vocabulary,
                tie_word_embeddings=True,
            )
        case HubModel(repository=repository):
            return _published(repository, repository)
        case FolderModel(path=place) | GgufModel(file=place) | WheelModel(file=place):
            own = PurePosixPath(place).name
            named = {name.rpartition("/")[2]: name for name in PUBLISHED}
            return _published(place, next((n for k, n in named.items() if own.startswith(k)), own))
        case ApiModel(model=name):
            raise UserError(f"{name} is behind an API and is never trained")
        case RecordedModel(title=name):
            raise UserError(f"{name} is a file of answers and is never trained")


def _published(said: str, repository: str) -> Shape:
    for name, shape in PUBLISHED.items():
        if f"{repository}-".startswith(f"{name}-"):
            return shape
    raise UserError(f"the shape of {said} is not known: add it to pipeline/train/shapes.py")
