"""How many responses a second the engine ``hf`` gives on a CPU, beside what others would use.

The same model, prompts, one thread and greedy text: this project's engine, a batched loop
over ``transformers.generate`` (prompts sorted by length, padded on the left), and
lm-evaluation-harness where it is installed. Each takes its turn in every round and has the batch
that suits it best of those tried. The questions are those of ``mini`` and of a benchmark that the
model has not seen, so that some answers are short and some go on until they are cut. With
``--long`` they are those of Hi-ToM, five to each of its long stories, and the model has random
weights; the engine is measured there without sharing what questions begin with, too.
Run ``python -m benchmarks.evaluate [--long]``; :mod:`benchmarks.real_model` asks any model.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any
from unittest.mock import patch

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from benchmarks.figures import spread
from pipeline.config.sources import ArithmeticSource, HiTomSource
from pipeline.data import generated
from pipeline.engine import siblings
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.model.chat import PREFILL, encode_prompt
from pipeline.ops.driver.checkout import find_root
from pipeline.stages.followed import processor

TARGET = 3.0  # times the responses per second of either
QUESTIONS, ROUNDS = 400, 5
MOST_TOKENS = 128
"""Of a question of ``mini``, and of an answer to it."""
LONG_ANSWER = 32
CONTEXT = 2048
"""Tokens that a model of random weights may read."""
Answer = Callable[[int], list[str]]


@dataclass(frozen=True, slots=True)
class Exam:
    """What the engines are asked.

    Attributes:
        folder: The model.
        prompts: The questions.
        new_tokens: After which an answer is cut.
        batches: Those that are tried.
    """

    folder: Path
    prompts: Sequence[Prompt]
    new_tokens: int
    batches: Sequence[int]


def short_exam(folder: Path) -> Exam:
    """Questions to a model that answers such."""
    prompts = prompts_of(AutoTokenizer.from_pretrained(folder))
    return Exam(folder, prompts, MOST_TOKENS, (32, 48, 64))


def long_exam(shipped: Path, folder: Path) -> Exam:
    """Hi-ToM's questions, five to a story, to a model that is written into a folder."""
    tokenizer = AutoTokenizer.from_pretrained(shipped)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": CONTEXT}
    special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = Qwen2Config(vocab_size=len(tokenizer), **shape, **heads, **special)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    source = HiTomSource(kind="hi_tom_style")
    told = generated.stories(source, "benchmark", QUESTIONS // 5)
    asked = [f"{row['story']}\n{row['question']}" for rows in told for row in rows]
    return Exam(folder, _prompts(asked), LONG_ANSWER, (8, 32))


def _prompts(asked: list[str]) -> list[Prompt]:
    Random(0).shuffle(asked)
    return [Prompt([{"role": "user", "content": text}], (n,)) for n, text in enumerate(asked)]


def prompts_of(tokenizer: Any) -> list[Prompt]:
    """Questions: half like those of ``mini``, a quarter sums, a quarter not like these."""
    told = HiTomSource(
        kind="hi_tom_style", telling="brief", small_names=True, agents=3, structure="free"
    )
    strange = HiTomSource(kind="hi_tom_style", telling="brief", agents=3)
    sums = generated.arithmetic(
        ArithmeticSource(kind="arithmetic", test=QUESTIONS), "benchmark", QUESTIONS // 4
    )
    asked = [problem["question"] for problem in sums]
    for source, wanted in ((told, QUESTIONS // 2), (strange, QUESTIONS // 4)):
        fitting: list[str] = []
        for rows in generated.stories(source, "benchmark", QUESTIONS * 4):
            text = f"{rows[-1]['story']}\n{rows[-1]['question']}"
            if len(encode_prompt(tokenizer, [{"role": "user", "content": text}])) <= MOST_TOKENS:
                fitting.append(text)
            if len(fitting) == wanted:
                break
        asked += fitting
    return _prompts(asked)


def apart(answer: Answer) -> Answer:
    """What answers as before, but lets no question share its beginning with another."""

    def alone(batch: int) -> list[str]:
        with patch.object(siblings, "WORTH", float("inf")):
            return answer(batch)

    return alone


def our_engine(exam: Exam) -> Answer:
    """This project's engine, which loads its model once."""
    engines: dict[int, TransformersEngine] = {}

    def answer(batch: int) -> list[str]:
        with TemporaryDirectory() as work:
            engine = engines.setdefault(batch, TransformersEngine(exam.folder, Path(work), batch))
            engine.work = Path(work)
            found = engine.complete(exam.prompts, Sampling(exam.new_tokens, 0.0), lambda _: None)
        return [response.text for response in found]

    return answer


def generate_loop(exam: Exam) -> Answer:
    """A batched loop over ``transformers.generate``."""
    model = AutoModelForCausalLM.from_pretrained(exam.folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(exam.folder, padding_side="left")

    def answer(batch: int) -> list[str]:
        rows = [encode_prompt(tokenizer, prompt.messages) for prompt in exam.prompts]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        texts = [""] * len(rows)
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            padded = tokenizer.pad(
                {"input_ids": [list(rows[p]) for p in places]}, return_tensors="pt"
            )
            with torch.inference_mode():
                made = model.generate(
                    **padded,
                    do_sample=False,
                    max_new_tokens=exam.new_tokens,
                    pad_token_id=tokenizer.pad_token_id,
                    eos_token_id=tokenizer.eos_token_id,
                )
            width = padded["input_ids"].shape[1]
            for place, tokens in zip(places, made[:, width:].tolist(), strict=True):
                if tokenizer.eos_token_id in tokens:
                    tokens = tokens[: tokens.index(tokenizer.eos_token_id)]
                texts[place] = tokenizer.decode(tokens)
        return texts

    return answer


def harness(exam: Exam) -> Answer:
    """Lm-evaluation-harness' own engine over transformers."""
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]

    tokenizer = AutoTokenizer.from_pretrained(exam.folder)
    end = tokenizer.eos_token
    arguments = {"until": [end], "max_gen_toks": exam.new_tokens, "do_sample": False}
    shown = [
        tokenizer.apply_chat_template(p.messages, tokenize=False, add_generation_prompt=True)
        for p in exam.prompts
    ]
    engines: dict[int, Any] = {}

    def answer(batch: int) -> list[str]:
        if batch not in engines:
            engines[batch] = HFLM(str(exam.folder), device="cpu", dtype="float32", batch_size=batch)
        asked = [
            Instance("generate_until", {}, (f"{text}{PREFILL}", dict(arguments)), place)
            for place, text in enumerate(shown)
        ]
        return list(engines[batch].generate_until(asked, disable_tqdm=True))

    return answer


def measure(engines: dict[str, Answer], batches: Sequence[int]) -> tuple[dict[str, Any], list[str]]:
    """Take turns; return seconds by engine and batch, and what differed from this project's."""
    seconds: dict[str, dict[int, list[float]]] = {}
    texts: dict[str, list[str]] = {}
    for turn in range(ROUNDS + 1):  # the first turn loads the models
        for name, answer in engines.items():
            for batch in batches:
                begun = process_time()
                texts[name] = answer(batch)
                if turn:
                    taken = seconds.setdefault(name, {}).setdefault(batch, [])
                    taken.append(process_time() - begun)
    first = next(iter(texts.values()))
    differing = [
        f"{name}: {sum(a.strip() != b.strip() for a, b in zip(first, found, strict=True))}"
        for name, found in texts.items()
    ]
    return seconds, differing


def main() -> None:
    """Measure all engines in turns, and print the ratios."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="five questions to each long story")
    long = parser.parse_args().long
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        shipped = find_root() / "models" / "nano-0" / "model"
        take(long_exam(shipped, Path(folder)) if long else short_exam(shipped), long)


def take(exam: Exam, long: bool) -> None:
    """Let the engines take an exam, and print the ratios."""
    tokenizer = AutoTokenizer.from_pretrained(exam.folder)
    ours = our_engine(exam)
    engines = {"ours": ours, "generate": generate_loop(exam)}
    if long:
        engines["apart"] = apart(ours)
    if find_spec("lm_eval") is None:
        print("lm-evaluation-harness is not installed here, so it is not measured")
    else:
        engines["lm_eval"] = harness(exam)
    prompts = exam.prompts
    asked = [len(encode_prompt(tokenizer, prompt.messages)) for prompt in prompts]
    lengths = [len(tokenizer.encode(text)) for text in ours(exam.batches[0])]
    print(
        f"{len(prompts)} questions of {min(asked)} to {max(asked)} tokens "
        f"(mean {mean(asked):.0f}), answers of {min(lengths)} to {max(lengths)} (mean "
        f"{mean(lengths):.0f}); {processor()}, {os.cpu_count()} cores, one thread, load "
        f"{os.getloadavg()[0]:.1f}, torch {torch.__version__}"
    )
    seconds, differing = measure(engines, exam.batches)
    print(f"texts that differ from this project's: {', '.join(differing)}")
    best = {name: min(taken, key=lambda b: median(taken[b])) for name, taken in seconds.items()}
    others = []
    for name, taken in seconds.items():
        rate = len(prompts) / median(taken[best[name]])
        pairs = zip(taken[best[name]], seconds["ours"][best["ours"]], strict=True)
        ratios = spread(theirs / ours for theirs, ours in pairs)
        if name not in ("ours", "apart"):
            others.append(ratios["ratio"])
        print(
            f"{name:<10} batch {best[name]:>4} {rate:8.1f} responses/s; ours is "
            "{ratio:.1f} times as fast ({ratio_low:.1f}-{ratio_high:.1f})".format_map(ratios)
        )
    print(f"at least {min(others):.1f} times the responses per second (target {TARGET:g})")


if __name__ == "__main__":
    main()
