"""How long one training step takes, against TRL's GRPOTrainer, and how much memory it needs.

The same model, prompts, completion lengths, reward, KL penalty and threads on both sides; each side
runs in its own process and environment, and they take turns, step by step, so that a busy machine
slows both. TRL is installed into an environment of its own on first use. Run
``python -m benchmarks.train_step [--quick] [--plot FILE]``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

TRL = "1.16.0"
PROMPTS, PROMPT_TOKENS, NEW_TOKENS, KL = 8, 230, 64, 0.001
COMPLETIONS = (4, 8, 16, 32)
SIZES = ("nano", "small", "large")  # of pipeline.model.tiny; small has 0.9 to 1.1 million weights
USUAL = ("small", 16)
VOCABULARY = 512
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Setting:
    """One comparison; ``at_once`` is how many completions TRL's update takes, all if None."""

    size: str
    completions: int
    threads: int
    steps: int
    precision: str = "float32"
    kl: float = KL
    at_once: int | None = None


@dataclass(frozen=True)
class Side:
    """What one side did: seconds of each step, and bytes at its peak and before its first step."""

    seconds: list[float]
    peak: int
    before: int


# --- the two workers ---------------------------------------------------------------------------


def reward_of(text: str) -> float:
    """A reward that any text has: how many different characters it holds."""
    return len(set(text)) / 100


def say(**fields: Any) -> None:
    """Answer the parent, one JSON object a line."""
    print(json.dumps(fields), file=ANSWERS, flush=True)


def asked() -> bool:
    """Wait for the parent; return whether it wants another step."""
    return sys.stdin.readline().strip() == "step"


def run_ours(folder: Path, setting: Setting) -> None:
    """Take a step of this project's trainer whenever asked."""

    from pipeline.config.algorithms import Grpo
    from pipeline.config.training import Train
    from pipeline.engine.device import peak_of_process, set_up_torch
    from pipeline.model.weights import load_model
    from pipeline.reward.reward import Earned, Reward
    from pipeline.tasks.example import Example
    from pipeline.tasks.grading import Grade
    from pipeline.train import rollout
    from pipeline.train.contract import History
    from pipeline.train.data import TokenisedRow
    from pipeline.train.local import LocalTrainer
    from pipeline.train.stopping import Interrupted

    set_up_torch(setting.threads)  # as the stage does
    grade = Grade(correct=False, strict=False, format_ok=False, extracted=None)
    rollout.end_ids_of = lambda *_: (-1,)  # type: ignore[attr-defined]  # every completion has all its tokens, as on the other side
    rollout.safe_reward = lambda _, text, __: Reward(Earned(0.0, reward_of(text)), grade)  # type: ignore[attr-defined]
    model, tokenizer = load_model(folder)
    texts = json.loads((folder / "prompts.json").read_text())
    rows = [
        TokenisedRow(tuple(tokenizer.encode(text)), Example("b", "t", str(index), "?", "x"))
        for index, text in enumerate(texts)
    ]
    recipe = Train(
        reward="rlvr",
        prompts_per_step=PROMPTS,
        rollouts=setting.completions,
        steps=10**6,
        learning_rate=1e-6,
        kl_coefficient=setting.kl,
        max_prompt_tokens=PROMPT_TOKENS,
        max_new_tokens=NEW_TOKENS,
        validate_every=10**6,
        save_every=10**6,
        allow_no_answers=True,
        groups_per_micro_batch=4,  # as in studies/mini.yaml
        precision=setting.precision,  # type: ignore[arg-type]
    )
    trainer = LocalTrainer(
        policy=model,
        tokenizer=tokenizer,
        train=rows,
        validation=rows,
        recipe=recipe,
        algorithm=Grpo(),
        seed=0,
        work=folder / "work",
    )
    before, going_on = peak_of_process(), [True]

    def take_turns(history: History) -> None:
        """Answer, and wait for the next request."""
        if history.last.step:
            first = history.last.step == 1
            say(**({"ready": True} if first else {"seconds": history.last.timing["seconds"]}))
            going_on[0] = asked()

    trainer.report = take_turns
    trainer.should_stop = lambda: not going_on[0]
    with contextlib.suppress(Interrupted):
        trainer.run()
    say(peak=peak_of_process(), before=before)


def run_trl(folder: Path, setting: Setting) -> None:
    """Take a step of TRL's trainer whenever asked."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from pipeline.engine.device import peak_of_process

    torch.set_num_threads(setting.threads)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    texts = json.loads((folder / "prompts.json").read_text())
    at_once = setting.at_once or PROMPTS * setting.completions
    config = GRPOConfig(
        output_dir=str(folder / "trl"),
        use_cpu=True,
        bf16=setting.precision == "bfloat16",
        learning_rate=1e-6,
        lr_scheduler_type="constant",
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=PROMPTS * setting.completions // at_once,
        num_generations=setting.completions,
        max_completion_length=NEW_TOKENS,
        generation_kwargs={"min_new_tokens": NEW_TOKENS},
        temperature=1.0,
        top_k=0,
        beta=setting.kl,
        max_steps=10**6,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
    )

    class TakeTurns(TrainerCallback):  # type: ignore[misc]
        """Runs one step whenever the parent asks for it."""

        started = 0.0

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            """Start the clock."""
            self.started = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, control: Any, **__: Any) -> Any:
            """Answer, and wait for the next request."""
            seconds = time.perf_counter() - self.started
            say(**({"ready": True} if state.global_step == 1 else {"seconds": seconds}))
            if not asked():
                control.should_training_stop = True
            return control

    trainer = GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, **_: [reward_of(text) for text in completions],
        args=config,
        train_dataset=Dataset.from_list([{"prompt": text} for text in texts] * 64),
        processing_class=tokenizer,
        callbacks=[TakeTurns()],
    )
    before = peak_of_process()
    trainer.train()
    say(peak=peak_of_process(), before=before)


# --- the parent --------------------------------------------------------------------------------


def environment_python() -> Path:
    """The Python of an environment with TRL; make it on first use (about 2 GB)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "tomrl-benchmarks" / f"trl-{TRL}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    if ready.is_file():
        return python
    print(f"installing TRL {TRL} into {folder}")
    import tokenizers
    import torch
    import transformers

    version = torch.__version__.split("+")[0]
    # torch through pip, so that a CPU build that pip is configured to find is used.
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "uv", f"torch=={version}"], check=True)
    pins = [f"transformers=={transformers.__version__}", f"tokenizers=={tokenizers.__version__}"]
    install = [str(python), "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
    subprocess.run([*install, f"trl=={TRL}", f"torch=={version}", *pins], check=True)
    ready.touch()
    return python


def write_inputs(folder: Path, size: str) -> int:
    """Write model, tokenizer and prompts for both sides; return the number of weights."""
    from pipeline.config.models import SIZES as SHAPES
    from pipeline.model.tiny import make_model, make_tokenizer
    from pipeline.model.weights import save_model

    random = Random(0)
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "nrlst"]
    tokenizer = make_tokenizer([" ".join(words)] * 50, VOCABULARY)
    model = make_model(SHAPES[size], tokenizer, context=512, seed=0)
    model.config.architectures = [type(model).__name__]  # TRL loads its reference model by it
    save_model(folder, model, tokenizer)
    texts = [" ".join(random.choices(words, k=PROMPT_TOKENS * 2)) for _ in range(PROMPTS)]
    cut = [tokenizer.decode(tokenizer.encode(text)[: PROMPT_TOKENS - 1]) for text in texts]
    (folder / "prompts.json").write_text(json.dumps(cut))
    return sum(parameter.numel() for parameter in model.parameters())


class Worker:
    """One side, in its own process."""

    def __init__(self, python: Path, kind: str, folder: Path, setting: Setting) -> None:
        self.seconds: list[float] = []
        command = [str(python), str(Path(__file__).resolve()), "--worker", kind]
        command += ["--folder", str(folder), "--setting", json.dumps(asdict(setting))]
        threads = str(setting.threads)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "OMP_NUM_THREADS": threads,
                "HF_HUB_OFFLINE": "1",
            },
        )
        self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended:\n{self.process.stderr.read()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, what: str) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self._answer()

    def step(self) -> None:
        """Take one step and note its time."""
        self.seconds.append(self.ask("step")["seconds"])

    def finish(self) -> Side:
        """End the process and return what it did."""
        answer = self.ask("stop")
        self.process.wait()
        return Side(self.seconds, answer["peak"], answer["before"])


@contextmanager
def workers(python: Path, folder: Path, setting: Setting) -> Iterator[tuple[Worker, Worker]]:
    """Start both sides; stop them whatever happens."""
    started: list[Worker] = []
    try:
        started.append(Worker(Path(sys.executable), "ours", folder, setting))
        started.append(Worker(python, "trl", folder, setting))
        yield started[0], started[1]
    finally:
        for worker in started:
            worker.process.kill()


def compare(python: Path, setting: Setting) -> dict[str, Any]:
    """Compare on a tiny model."""
    with tempfile.TemporaryDirectory() as name:
        parameters = write_inputs(Path(name), setting.size)
        return {"parameters": parameters, **compare_on(python, Path(name), setting)}


def compare_on(python: Path, folder: Path, setting: Setting) -> dict[str, Any]:
    """Run both sides in turns; return medians, the ratio of each pair of steps, and memory.

    Args:
        python: Of the environment with TRL.
        folder: A model in Hugging Face layout, with ``prompts.json``.
        setting: The comparison.
    """
    from benchmarks.figures import spread

    with workers(python, folder, setting) as (ours, trl):
        for _ in range(setting.steps):
            ours.step()
            trl.step()
        mine, theirs = ours.finish(), trl.finish()
    return {
        **asdict(setting),
        "ours_seconds": median(mine.seconds),
        "trl_seconds": median(theirs.seconds),
        **spread(b / a for a, b in zip(mine.seconds, theirs.seconds, strict=True)),
        "ours_peak": mine.peak,
        "trl_peak": theirs.peak,
        "memory_ratio": mine.peak / theirs.peak,
        "step_memory_ratio": (mine.peak - mine.before) / max(1, theirs.peak - theirs.before),
    }


def show(row: dict[str, Any]) -> None:
    """Print one comparison as a row of the table."""
    print(
        f"| {row['size']} | {row['parameters'] / 1e6:.2f} | {row['completions']} "
        f"| {row['ours_seconds']:.2f} | {row['trl_seconds']:.2f} "
        f"| {row['ratio']:.1f} ({row['ratio_low']:.1f}-{row['ratio_high']:.1f}) "
        f"| {row['ours_peak'] / 2**20:.0f} | {row['trl_peak'] / 2**20:.0f} "
        f"| {row['memory_ratio']:.2f} | {row['step_memory_ratio']:.2f} |",
        flush=True,
    )


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot how many times faster a step is, by completions and model size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for size in dict.fromkeys(row["size"] for row in rows):
        chosen = [row for row in rows if row["size"] == size]
        ratios = [row["ratio"] for row in chosen]
        spread = [
            [row["ratio"] - row["ratio_low"] for row in chosen],
            [row["ratio_high"] - row["ratio"] for row in chosen],
        ]
        label = f"{size}, {chosen[0]['parameters'] / 1e6:.1f}M weights"
        counts = [row["completions"] for row in chosen]
        axes.errorbar(counts, ratios, spread, marker="o", capsize=3, label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(COMPLETIONS, [str(count) for count in COMPLETIONS])
    axes.set_xlabel("completions per prompt")
    axes.set_ylabel("seconds of TRL / seconds here")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, bbox_inches="tight")


def main() -> None:
    """Compare at every setting and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the usual setting only, 3 steps")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--steps", type=int, default=7, help="steps of each side, after a first")
    parser.add_argument("--plot", type=Path, help="also draw the ratios here")
    arguments = parser.parse_args()
    python = environment_python()
    grid = [(size, count) for size in SIZES for count in COMPLETIONS]
    chosen, steps = ([USUAL], 3) if arguments.quick else (grid, arguments.steps)
    print(
        f"{PROMPTS} prompts of {PROMPT_TOKENS} tokens, {NEW_TOKENS} new, threads: "
        f"{arguments.threads}, {arguments.precision}, {steps} steps each, in turns\n"
    )
    print(
        "| size | M weights | G | ours, s | TRL, s | ratio (spread) | ours, MiB | TRL, MiB |",
        end="",
    )
    print(" peak ratio | of the step |\n|" + "---|" * 10)
    rows = []
    for size, count in chosen:
        rows.append(
            compare(python, Setting(size, count, arguments.threads, steps, arguments.precision))
        )
        show(rows[-1])
    if arguments.plot:
        draw(rows, arguments.plot)


def work() -> None:
    """Be one side, as the parent asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", choices=("ours", "trl"), required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--setting", type=json.loads, required=True)
    arguments = parser.parse_args()
    run = run_ours if arguments.worker == "ours" else run_trl
    run(arguments.folder, Setting(**arguments.setting))


if __name__ == "__main__":
    if "--worker" in sys.argv:
        ANSWERS = os.fdopen(os.dup(1), "w")  # libraries may print, the parent reads answers only
        os.dup2(2, 1)
        work()
    else:
        main()
