"""The model of a cell as a folder that others load: Hugging Face layout, with a card."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoTokenizer,
    GenerationConfig,
)

from pipeline.analysis.results import Results
from pipeline.analysis.table import markdown_of, notes_on
from pipeline.analysis.verdicts import cell_verdicts
from pipeline.analysis.verdicts import markdown_of as verdicts_of
from pipeline.base.errors import UserError
from pipeline.base.git import checked_out
from pipeline.config.models import TinyModel
from pipeline.config.params import ApiCell, Cell, Params, TrainedCell
from pipeline.config.yaml_file import write_yaml
from pipeline.formats.files import read_json, write_json
from pipeline.formats.foreign import markdown_text
from pipeline.formats.plural import counted
from pipeline.model.manifest import Manifest, StoredModel, resolve
from pipeline.model.weights import end_ids_in
from pipeline.ops.share.adapter import write_adapter
from pipeline.ops.share.licences import OWN, check_passing_on, licence_of, licences, upstream_of
from pipeline.stages.checkpoint import checkpoint_named
from pipeline.stages.common import Stage

ADAPTER = "adapter"


def sources_of(params: Params, cell: Cell) -> list[str]:
    """The upstream sources that a cell's model was trained on, in all its trainings here."""
    entries = [params.dataset[each.combination] for each in params.chain(cell)]
    return upstream_of(params, {part.task for entry in entries for part in entry.train})


def write_model(results: Results, root: Path, key: str, folder: Path, checkpoint: str = "") -> None:
    """Write the model of a cell into an empty folder.

    Args:
        results: Those of its study.
        root: The checkout.
        key: The cell.
        folder: Receives weights, tokenizer, settings, a card, and an adapter where LoRA was used.
        checkpoint: ``best``, ``last`` or a step; the one that the study evaluates if empty.

    Raises:
        UserError: If the cell has no such weights here, or its data may not be passed on.
    """
    params, stage = results.params, Stage("train", root, results.params)
    cell = params.cell(key)
    if isinstance(cell, ApiCell):
        raise UserError(f"cell {key} has no weights: its model is behind an address, or recorded")
    sources = sources_of(params, cell)
    check_passing_on(f"the model of {params.study.name}/{key}", sources, to_train=True)
    path = stage.runs / key / "train" / "checkpoints.json"
    manifest = Manifest.read_of(path, cell.model, f"train@{key}")
    stored = checkpoint_named(manifest, key, checkpoint) if checkpoint else manifest.used
    weights = stage.weights_of(key).get(stored.digest)
    shutil.copytree(weights, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    _name_class(folder / "config.json")
    if not (folder / "generation_config.json").is_file():
        _generation(cell, weights).save_pretrained(folder)
    base = params.base[cell.model].model
    named = getattr(base, "repository", None) or f"{params.study.name}/{cell.model}"
    if isinstance(cell, TrainedCell) and (lora := cell.train.lora):
        start = resolve(root / cell.base, stage.start_of(cell), cell.model)
        write_adapter(folder / ADAPTER, start, weights, lora, named, cell.train.precision)
    own = isinstance(base, TinyModel)
    head = {
        "license": licence_of(sources) if own else "other",
        **({} if own else {"base_model": named}),
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["theory-of-mind", "tomrl"],
    }
    text = "\n".join(_card(results, root, key, stored, manifest.used))
    (folder / "README.md").write_text(f"---\n{write_yaml(head)}---\n\n{text}\n", encoding="utf-8")


def _name_class(path: Path) -> None:
    """Name the class of a model in its configuration, as servers want it."""
    config = AutoConfig.from_pretrained(path.parent, local_files_only=True)
    if not config.architectures:
        name = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)].__name__
        write_json(path, read_json(path) | {"architectures": [name]})


def _generation(cell: Cell, weights: Path) -> GenerationConfig:
    """How the cell's model was asked in its evaluation."""
    tokenizer = AutoTokenizer.from_pretrained(weights, local_files_only=True)
    asked = cell.evaluate
    drawn = {"temperature": asked.temperature, "top_p": asked.top_p} if asked.temperature else {}
    return GenerationConfig(
        eos_token_id=list(end_ids_in(weights, tokenizer)),
        pad_token_id=tokenizer.pad_token_id,
        max_new_tokens=asked.max_new_tokens,
        do_sample=bool(drawn),
        **drawn,
    )


def _card(
    results: Results, root: Path, key: str, stored: StoredModel, judged: StoredModel
) -> Iterator[str]:
    """Yield the paragraphs of the card of a checkpoint; the study has evaluated ``judged``."""
    params, result = results.params, results.cells[key]
    cell, study = result.cell, params.study
    yield f"# {markdown_text(cell.title)}, cell {key} of the study {study.name}\n"
    yield f"{markdown_text(study.title)}. {_how(cell, stored)}\n"
    yield "It is a subject of research: what it answers follows is told below.\n"
    yield "## What it was shown\n"
    yield from _shown(results, cell)
    found = licences(sources_of(params, cell))
    yield from (f"- licence of {name}: {', '.join(each)}" for name, each in found.items())
    if not found:
        yield f"- licence: generated by tomrl, {OWN}"
    if stored.digest == judged.digest:
        yield from _measured(results, key)
    else:
        yield f"\nThe study evaluates step {judged.step}, and has no scores of this one.\n"
    yield "## Provenance\n"
    yield f"- study {study.name}, seed {cell.seed}, commit {checked_out(root) or 'not known'}"
    yield f"- weights: step {stored.step}, sha256 of the folder {stored.digest}"
    yield from (f"- {name} {number}" for name, number in result.libraries.items())
    yield f"- asked with the prompt `{cell.evaluate.prompt}`"


def _measured(results: Results, key: str) -> Iterator[str]:
    """Yield what the study has found of the model of a cell."""
    yield "\n## Verdict\n"
    verdicts = [each for each in cell_verdicts(results, []) if each.cell == key]
    yield verdicts_of([each.texts() for each in verdicts])
    yield from (f"{markdown_text('; '.join(each.because))}.\n" for each in verdicts)
    yield "## Accuracy, beside rules that learn nothing\n"
    rows = list(results.rows_of(results.cells[key]))
    yield markdown_of(rows, notes_on(rows))


def _how(cell: Cell, stored: StoredModel) -> str:
    if not isinstance(cell, TrainedCell):
        return "It is the base model, which the study has not trained."
    lora = cell.train.lora
    by = cell.algorithm.name + (f" and LoRA of rank {lora.rank}" if lora else "")
    return (
        f"Trained on `{cell.combination}` by {by} for {stored.step} steps; the reward is "
        f"`{cell.train.reward.preset}`."
    )


def _shown(results: Results, cell: Cell) -> Iterator[str]:
    shown = results.shown_to(cell)
    for word, origin in (("trained on", shown.trained), ("demonstrated", shown.demonstrated)):
        if origin is not None:
            for each in origin.portions:
                order = "" if each.order is None else f", order {each.order}"
                rows = f"{counted(each.rows, 'row')} of {each.source}"
                yield f"- {word}: {rows}: {each.task}, {each.asked}{order}"
    if shown.demonstrated is None:
        yield "- before: not known"
