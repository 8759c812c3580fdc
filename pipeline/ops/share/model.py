"""The model of a cell as a folder that others load, in Hugging Face layout, and on a hub."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import transformers as hf
from huggingface_hub import HfApi, ModelCard, ModelCardData, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from pipeline.analysis.results import Results
from pipeline.analysis.table import markdown_of, notes_on
from pipeline.analysis.verdicts import cell_verdicts
from pipeline.analysis.verdicts import markdown_of as verdicts_of
from pipeline.base.errors import UserError, first_line
from pipeline.base.git import checked_out
from pipeline.config.models import TinyModel
from pipeline.config.params import ApiCell, Cell, TrainedCell
from pipeline.data.messages import Messages
from pipeline.data.prompt import is_prefilled, maker
from pipeline.formats.foreign import markdown_text
from pipeline.formats.plural import counted
from pipeline.judge.recorded import read_suite
from pipeline.model.chat import beginning, prefilled
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.model.weights import end_ids_in
from pipeline.ops.share.licences import OWN, TAGS, licence_of, licences
from pipeline.stages.checkpoint import checkpoint_named
from pipeline.stages.common import Stage
from pipeline.stages.prompts import frame_of
from pipeline.tasks.example import Example

_MEANINGS = {
    401: "it does not accept the token; set HF_TOKEN to a valid one",
    403: "the token may not write there; name a repository of your own, or use another token",
    409: "the name is taken; choose another with --push",
    413: "it is too large for this hub; its limits are said at its documentation",
}
_AGAIN = "run the same command again with --force to go on"


def write_model(results: Results, root: Path, key: str, folder: Path, checkpoint: str = "") -> None:
    """Write the model of a cell into an empty folder, merged where LoRA was used.

    ``checkpoint`` is ``best``, ``last`` or a step; the one that the study evaluates if empty. It is
    a UserError if the cell has no such weights here, or its data may not be passed on.
    """
    params, stage = results.params, Stage("train", root, results.params)
    own = stage.of(key)
    cell = params.cell(key)
    if isinstance(cell, ApiCell):
        raise UserError(f"cell {key} has no weights: its model is behind an address, or recorded")
    trainings = [params.dataset[each.combination] for each in params.chain(cell)]
    tasks = {part.task for each in trainings for part in each.train}
    quoted = licences(params, tasks, f"the model of {params.study.name}/{key}", to_train=True)
    manifest = Manifest.read_of(own.checkpoints, cell.model, own.weights.made_by)
    stored = checkpoint_named(manifest, key, checkpoint) if checkpoint else manifest.used
    weights = own.weights.get(stored.digest)
    shutil.copytree(weights, folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
    _complete(folder, cell)
    base = params.base[cell.model].model
    named = getattr(base, "repository", None) or f"{params.study.name}/{cell.model}"
    ours = isinstance(base, TinyModel)
    head = ModelCardData(
        license=licence_of(quoted) if ours else "other",
        base_model=None if ours else named,
        language="en",
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=TAGS,
    )
    suite = read_suite(root / "data" / params.study.name / "suite", params.suite.tasks)
    asked, style = next(iter(suite.values()))[0], cell.evaluate.prompt
    put = maker(style, frame_of(stage, style))(asked)
    text = "\n".join(_card(results, key, stored, manifest.used, quoted, asked, put))
    text += f"\n- commit {checked_out(root) or 'not known'}\n"
    ModelCard(f"---\n{head}\n---\n\n{text}").save(folder / "README.md")


def _complete(folder: Path, cell: Cell) -> None:
    """End the chat template in what every answer here begins with, so that it answers elsewhere
    as it did here.
    """
    tokenizer, asked = (
        hf.AutoTokenizer.from_pretrained(folder, local_files_only=True),
        cell.evaluate,
    )
    if is_prefilled(asked.prompt):
        tokenizer.chat_template = prefilled(tokenizer.chat_template, think=asked.think)
        tokenizer.save_pretrained(folder)
    if (folder / "generation_config.json").is_file():
        return
    drawn = {"temperature": asked.temperature, "top_p": asked.top_p} if asked.temperature else {}
    hf.GenerationConfig(
        eos_token_id=list(end_ids_in(folder, tokenizer)),
        pad_token_id=tokenizer.pad_token_id,
        max_new_tokens=asked.max_new_tokens,
        do_sample=bool(drawn),
        **drawn,
    ).save_pretrained(folder)


def _card(
    results: Results,
    key: str,
    stored: StoredModel,
    judged: StoredModel,
    quoted: Mapping[str, str],
    asked: Example,
    put: Messages,
) -> Iterator[str]:
    """Yield the paragraphs of the card of a checkpoint; the study has scores of ``judged``."""
    result, study = results.cells[key], results.params.study
    cell, terms = result.cell, quoted or {"what tomrl generates": OWN}
    yield f"# {markdown_text(cell.title)}, cell {key} of the study {study.name}\n"
    yield f"{markdown_text(study.title)}. {_how(cell, stored)}\n"
    yield "It is a subject of research: what it answers follows is told below.\n"
    yield "## Usage\n"
    yield from _usage(asked, put, cell)
    yield "## What it was shown\n"
    yield from _shown(results, cell)
    yield from (f"- licence of {name}: {text}" for name, text in terms.items())
    if stored.digest == judged.digest:
        yield "\n## Verdict\n"
        verdicts = [each for each in cell_verdicts(results, []) if each.cell == key]
        yield verdicts_of([each.texts() for each in verdicts])
        yield from (f"{markdown_text('; '.join(each.because))}.\n" for each in verdicts)
        yield "## Accuracy, beside rules that learn nothing\n"
        rows = list(results.rows_of(result))
        yield markdown_of(rows, notes_on(rows))
    else:
        yield f"\nThe study evaluates step {judged.step}, and has no scores of this one.\n"
    yield "## Provenance\n"
    yield f"- study {study.name}, seed {cell.seed}"
    yield f"- weights: step {stored.step}, sha256 of the folder {stored.digest}"
    yield from (f"- {name} {number}" for name, number in result.libraries.items())
    yield f"- asked with the prompt `{cell.evaluate.prompt}`"


def _how(cell: Cell, stored: StoredModel) -> str:
    if not isinstance(cell, TrainedCell):
        return "It is the base model, which the study has not trained."
    lora = f" and LoRA of rank {cell.train.lora.rank}" if cell.train.lora else ""
    how = f"`{cell.combination}` by {cell.algorithm.name}{lora} for {stored.step} steps"
    return f"Trained on {how}; the reward is `{cell.train.reward.preset}`."


def _usage(example: Example, messages: Messages, cell: Cell) -> Iterator[str]:
    """Yield how to ask it, with a question of the suite as the study puts it."""
    yield "```python"
    yield "from transformers import pipeline\n"
    yield f"messages = {json.dumps(list(messages), indent=4, ensure_ascii=False)}"
    yield 'ask = pipeline("text-generation", MODEL)  # this folder, or its name on a hub'
    drawn = f"do_sample={bool(cell.evaluate.temperature)}"
    yield f"said = ask(messages, max_new_tokens={cell.evaluate.max_new_tokens}, {drawn})"
    yield 'print(said[0]["generated_text"][-1]["content"])'
    yield "```\n"
    opened = (
        f", after the `{beginning(think=cell.evaluate.think)}` that the chat template puts there"
    )
    yield f"Right is `{example.answer}`{opened if is_prefilled(cell.evaluate.prompt) else ''}.\n"


def _shown(results: Results, cell: Cell) -> Iterator[str]:
    shown = results.shown_to(cell)
    for word, origin in (("trained on", shown.trained), ("demonstrated", shown.demonstrated)):
        for each in origin.portions if origin else ():
            order = "" if each.order is None else f", order {each.order}"
            rows = f"{counted(each.rows, 'row')} of {each.source}"
            yield f"- {word}: {rows}: {each.task}, {each.asked}{order}"
    if shown.demonstrated is None:
        yield "- before: not known"


def check_name(repository: str) -> None:
    """Refuse what names no repository, and a missing token, before the work."""
    try:
        validate_repo_id(repository)
    except HFValidationError:
        repository = ""
    if "/" not in repository:
        raise UserError("--push: names no repository; allowed: OWNER/NAME")
    if get_token() is None:
        raise UserError("--push: there is no token; set HF_TOKEN to one that may write")


def push_folder(folder: Path, repository: str) -> str:
    """Send a folder to a new repository in one commit; return its address.

    Where sending was cut off, the repository is empty, and sending it again goes on. A name that
    is taken and a hub that refuses are UserErrors.
    """
    api = HfApi()
    try:
        api.create_repo(repository, exist_ok=True)
        if set(api.list_repo_files(repository)) - {".gitattributes"}:  # which a hub puts there
            raise UserError(f"{repository}: {_MEANINGS[409]}")
        api.upload_folder(folder_path=folder, repo_id=repository)
    except HfHubHTTPError as error:
        status = error.response.status_code
        meaning = _MEANINGS.get(status, _AGAIN)
        raise UserError(f"{repository}: {api.endpoint} answers {status}: {meaning}") from None
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        text = f"{repository}: {api.endpoint} broke off ({first_line(error)}); {_AGAIN}"
        raise UserError(text) from None
    return f"{api.endpoint}/{repository}"
