"""How fast a model of 135 million weights answers and trains on a CPU, beside what others do.

Answers: 64 prompts of 151 tokens, 64 new tokens each, by the engine ``hf`` and by transformers'
``generate``, in float32 and bfloat16. Steps: GRPO on 8 prompts of 110 tokens, 8 completions of 64
tokens, no KL penalty, bfloat16, here and by TRL (``--trl``, installed on first use). Imitation: 16
prompts of 110 tokens with 47 tokens each, bfloat16, here and by transformers' model, its loss over
all logits and AdamW. All take turns. The model is a folder in Hugging Face layout, or one of
SmolLM2-135M's shape with random weights. Run ``python -m benchmarks.real_model [--model FOLDER]
[--trl] [--threads N] [--write]``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from benchmarks.circumstances import store
from benchmarks.figures import spread
from benchmarks.gpu_made import RECIPE, as_batch
from benchmarks.train_step import Setting, compare_on, environment_python
from pipeline.config.algorithms import Sft
from pipeline.config.training import Train
from pipeline.engine.decode import Completion
from pipeline.engine.device import answering, set_up_torch
from pipeline.engine.sampling import Sampling
from pipeline.engine.stream import complete
from pipeline.model.weights import load_model
from pipeline.ops.driver.checkout import find_root
from pipeline.train.learner import Learner
from pipeline.train.update import Updater

ROUNDS = 3
PROMPTS, PROMPT_TOKENS, NEW_TOKENS = 64, 151, 64
STEP_PROMPTS, STEP_PROMPT_TOKENS, COMPLETIONS = 8, 110, 8
IMITATED, IMITATED_TOKENS, RATE = 16, 47, 1e-5
SHAPE: dict[str, Any] = {
    "vocab_size": 49_152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
TRL_AT_ONCE = 16
"""Completions of an update of TRL's at a time: all 64 need more than 20 GB."""
Rows = list[list[int]]


def write_random(folder: Path) -> None:
    """Write a model of SmolLM2-135M's shape, with the tokenizer of a tiny one."""
    tokenizer = AutoTokenizer.from_pretrained(find_root() / "models" / "nano-0" / "model")
    special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**SHAPE, **special)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_prompts(model: Path, folder: Path) -> None:
    """Lay a model and the texts of the prompts of steps into a folder."""
    for path in model.resolve().iterdir():
        (folder / path.name).symlink_to(path)
    tokenizer, random = AutoTokenizer.from_pretrained(model), Random(0)
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "nrlst"]
    texts = [" ".join(random.choices(words, k=STEP_PROMPT_TOKENS)) for _ in range(STEP_PROMPTS)]
    cut = [tokenizer.decode(tokenizer.encode(text)[:STEP_PROMPT_TOKENS]) for text in texts]
    (folder / "prompts.json").write_text(json.dumps(cut))


def ours(model: PreTrainedModel, rows: Rows, precision: str) -> None:
    """Answer as the engine ``hf`` does, to the last token."""
    keys = [(place,) for place in range(len(rows))]
    with answering(model, precision):
        complete(model, rows, keys, Sampling(NEW_TOKENS, 0.0), (-1,), PROMPTS, lambda *_: None)


def theirs(models: dict[str, PreTrainedModel], rows: Rows, precision: str) -> None:
    """Answer by transformers' ``generate``."""
    ids, settings = torch.tensor(rows), {"do_sample": False, "max_new_tokens": NEW_TOKENS}
    with torch.inference_mode():
        models[precision].generate(
            ids, attention_mask=torch.ones_like(ids), min_new_tokens=NEW_TOKENS, **settings
        )


def compare_answers(folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Let both answer in turns; return wall and processor seconds with the ratios."""
    model, _ = load_model(folder)
    others = {
        name: LlamaForCausalLM.from_pretrained(folder, dtype=getattr(torch, name)).eval()
        for name in ("float32", "bfloat16")
    }
    random = Random(0)
    rows = [[random.randrange(3, 500) for _ in range(PROMPT_TOKENS)] for _ in range(PROMPTS)]
    found = []
    for precision in others:
        ways: dict[str, Callable[[], None]] = {
            "ours": lambda precision=precision: ours(model, rows, precision),  # type: ignore[misc]
            "generate": lambda precision=precision: theirs(others, rows, precision),  # type: ignore[misc]
        }
        found.append(_row(precision, _in_turns(ways, rounds)))
    return found


def _in_turns(
    ways: dict[str, Callable[[], object]], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """The processor and wall seconds of each round of each way."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begun, at = process_time(), perf_counter()
            way()
            spent[name].append((process_time() - begun, perf_counter() - at))
    return spent


def compare_imitation(folder: Path, rounds: int) -> dict[str, Any]:
    """A step of imitation here and by transformers' model, in turns, after one of each."""
    model, _ = load_model(folder)
    other = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).train()
    random = Random(0)
    prompts, texts = (
        [tuple(random.randrange(3, 500) for _ in range(count)) for _ in range(IMITATED)]
        for count in (STEP_PROMPT_TOKENS, IMITATED_TOKENS)
    )
    ways: dict[str, Callable[[], object]] = {
        "ours": _imitating(model.train(), prompts, texts),
        "transformers": _imitating_plainly(other, prompts, texts),
    }
    _in_turns(ways, 1)
    return _row("bfloat16", _in_turns(ways, rounds))


def _imitating(
    model: PreTrainedModel, prompts: Sequence[tuple[int, ...]], texts: Sequence[tuple[int, ...]]
) -> Callable[[], object]:
    """What takes a step as the trainer does, with the micro-batches of the study ``smol``."""
    budget = {"groups_per_micro_batch": 16, "tokens_per_micro_batch": 1300}
    recipe = Train(**RECIPE | {"precision": "bfloat16", "learning_rate": RATE} | budget)
    updater = Updater(recipe, Sft(), Learner.of(model, RATE), None, None)
    batch = as_batch(prompts, [Completion(text, finished=True) for text in texts])
    return lambda: updater.update(updater.prepare(batch))


def _imitating_plainly(
    model: PreTrainedModel, prompts: Sequence[tuple[int, ...]], texts: Sequence[tuple[int, ...]]
) -> Callable[[], object]:
    """What takes the same step by the model's own loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    ids = torch.tensor([(*prompt, *text) for prompt, text in zip(prompts, texts, strict=True)])
    labels = ids.clone()
    labels[:, :STEP_PROMPT_TOKENS] = -100  # tokens that the loss leaves out

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def _row(precision: str, spent: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    (own, others) = spent.values()
    pairs = zip(own, others, strict=True)
    return {
        "precision": precision,
        **{f"{n}_processor_seconds": median(s[0] for s in each) for n, each in spent.items()},
        **{f"{n}_seconds": median(s[1] for s in each) for n, each in spent.items()},
        **spread(other[1] / mine[1] for mine, other in pairs),
    }


def compare_steps(model: Path, threads: int, steps: int) -> dict[str, Any]:
    """A step here and of TRL, in turns."""
    with TemporaryDirectory() as name:
        write_prompts(model, Path(name))
        setting = Setting("135M", COMPLETIONS, threads, steps, "bfloat16", 0.0, TRL_AT_ONCE)
        return compare_on(environment_python(), Path(name), setting)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="in Hugging Face layout")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--trl", action="store_true", help="also compare steps with TRL's")
    parser.add_argument("--write", action="store_true", help="keep the figures in docs/results")
    options = parser.parse_args()
    set_up_torch(options.threads)
    with TemporaryDirectory() as name:
        folder = options.model or Path(name)
        if options.model is None:
            write_random(folder)
        found: dict[str, Any] = {
            "threads": options.threads,
            "load": os.getloadavg()[0],
            "random_weights": options.model is None,
        }
        parts: dict[str, Callable[[], Any]] = {
            "answers": lambda: compare_answers(folder, ROUNDS),
            "imitation": lambda: compare_imitation(folder, ROUNDS),
        }
        if options.trl:  # first: TRL's step needs most of a laptop's memory
            parts = {"step": lambda: compare_steps(folder, options.threads, ROUNDS), **parts}
        for part, compare in parts.items():
            found[part] = compare()
            print(part, json.dumps(found[part], indent=1), flush=True)
    if options.write:
        store(find_root(), "real_model", found)


if __name__ == "__main__":
    main()
