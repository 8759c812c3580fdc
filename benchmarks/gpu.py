"""The local trainer on one GPU: tokens per second, share of the peak, and memory against its plan.

Models of the shape of Qwen2.5-0.5B and 1.5B with random weights, study 1's batch (8 prompts x 16
completions, GRPO with a KL penalty), bfloat16. Prompts are as long as the study allows (1,024
tokens), completions 512 of the 2,048 it allows; none ends early. Rollout and update are measured
with the prompt of a group encoded once, and once for each of its completions.

First it checks, on smaller models, that greedy text is that of ``transformers.generate`` in float32
and about as near to it in bfloat16 as that of transformers is, and that losses and gradients are
the CPU's: in float32 closely, in bfloat16 as closely as the CPU's own are. Where they are not it
exits 1 and measures nothing. After 450 seconds it stops where it is, and prints what it has.

Needs torch, transformers, pydantic and a CUDA device, nothing else, and takes minutes:
``python -m benchmarks.gpu [--seconds N] [--json FILE]``. ``--tiny`` runs everything on a CPU at a
size of seconds; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import copy
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.gpu_checks import CHECKED, SMALL, Check, checks, told
from benchmarks.gpu_made import (
    RECIPE,
    TINY,
    as_batch,
    make_model,
    stand_in_for_absent_libraries,
)

if TYPE_CHECKING:
    from pipeline.config.training import Train

# Dense bfloat16 matrix products, in FLOP/s, as NVIDIA states them for the SXM boards.
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12}
SECONDS = 450.0  # all is stopped after this time, unless told otherwise
SAFE = 0.9  # of the free memory
MODELS = ("0.5B", "1.5B")


@dataclass(frozen=True)
class Measured:
    """One model, with or without a shared prefix; rates count the tokens of completions."""

    model: str
    shared_prefix: bool
    rows_per_micro_batch: int
    rollout_seconds: float
    rollout_tokens_per_second: float
    rollout_share: float | None
    update_seconds: float
    update_tokens_per_second: float
    update_share: float | None
    peak_bytes: int
    planned_bytes: int


def flops(shape: Any, prompts: int, group: int, prompt: int, new: int) -> float:
    """The FLOPs of one forward pass that encodes every prompt once.

    Two for each weight of a matrix product and token, and four for each pair of tokens that meet
    in attention and unit of width; the vocabulary head counts for the tokens of completions.
    """
    completions = prompts * group
    tokens = prompts * prompt + completions * new
    embedding = shape.vocab_size * shape.hidden_size
    pairs = prompts * prompt * (prompt + 1) / 2
    pairs += completions * (new * prompt + new * (new + 1) / 2)
    matrices = 2 * (shape.trunk - embedding) * tokens + 2 * embedding * completions * new
    return matrices + 4 * shape.num_hidden_layers * shape.hidden_size * pairs


def fitting(shape: Any, recipe: Train, free: int) -> tuple[int, int]:
    """The most completions of a micro-batch that the plan says fit, and the planned peak.

    Raises:
        SystemExit: If not even one fits.
    """
    from pipeline.config.algorithms import Grpo
    from pipeline.train.footprint import plan

    needed = 0
    for rows in (16, 8, 4, 2, 1):
        tokens = recipe.max_prompt_tokens + rows * recipe.max_new_tokens
        limited = recipe.model_copy(update={"tokens_per_micro_batch": tokens})
        needed = plan(shape, limited, Grpo(), on_gpu=True).peak
        if needed < SAFE * free:
            return rows, needed
    raise SystemExit(
        f"needs {needed / 2**30:.0f} GiB, but only {free / 2**30:.0f} GiB of the GPU are free"
    )


def measure(name: str, shape: Any, device: Any, tiny: bool) -> Iterator[Measured]:
    """Measure rollout and update of one model, with and then without a shared prefix."""
    import torch

    from pipeline.config.training import Train
    from pipeline.engine.device import cast_linear
    from pipeline.train.learner import Learner

    recipe = Train(**(RECIPE | (TINY if tiny else {})))
    free = 2**34 if device.type == "cpu" else torch.cuda.mem_get_info(device)[0]
    rows, planned = fitting(shape, recipe, free)
    tokens = recipe.max_prompt_tokens + rows * recipe.max_new_tokens
    recipe = recipe.model_copy(update={"tokens_per_micro_batch": tokens})
    context = recipe.max_prompt_tokens + recipe.max_new_tokens
    policy = make_model(shape, context, device)
    reference = copy.deepcopy(policy).requires_grad_(False)
    cast_linear(reference, recipe.precision)
    learner = Learner.of(policy, recipe.learning_rate)
    for shared in (True, False):
        yield _measure(name, shape, learner, reference, recipe, rows, planned, shared=shared)


def _measure(
    name: str,
    shape: Any,
    learner: Any,
    reference: Any,
    recipe: Train,
    rows: int,
    planned: int,
    *,
    shared: bool,
) -> Measured:
    import torch

    from pipeline.config.algorithms import Grpo
    from pipeline.engine.decode import generate
    from pipeline.engine.device import answering, peak_memory
    from pipeline.engine.sampling import Sampling
    from pipeline.train.update import Updater

    policy = learner.model
    device, count = policy.device, recipe.prompts_per_step
    group, length, new = recipe.rollouts, recipe.max_prompt_tokens, recipe.max_new_tokens
    random = Random(0)
    prompts = [tuple(random.choices(range(1, shape.vocab_size), k=length)) for _ in range(count)]
    keys = [(0, prompt, sample) for prompt in range(count) for sample in range(group)]
    # Without sharing, every completion comes with a prompt of its own.
    shown = prompts if shared else [prompt for prompt in prompts for _ in range(group)]
    each = group if shared else 1
    recipe = recipe.model_copy(update={"groups_per_micro_batch": len(shown)})
    updater = Updater(recipe, Grpo(), learner, reference, None)

    def roll_out(steps: int = new) -> Any:
        policy.eval()
        with answering(policy, recipe.precision):
            return generate(policy, shown, keys, Sampling(steps), stops=())

    def learn() -> None:
        policy.train()
        updater.update(updater.prepare(batch))

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    roll_out(4)
    rollout_seconds, completions = timed(roll_out, device)
    batch = as_batch(shown, completions)
    learn()
    update_seconds, _ = timed(learn, device)
    tokens, forward = count * group * new, flops(shape, count, group, length, new)
    peak = next((p for n, p in PEAKS.items() if n in device_name(device)), None)
    assert all(len(c.tokens) == new for c in completions) and batch.group == each
    return Measured(
        model=name,
        shared_prefix=shared,
        rows_per_micro_batch=rows,
        rollout_seconds=rollout_seconds,
        rollout_tokens_per_second=tokens / rollout_seconds,
        rollout_share=peak and forward / rollout_seconds / peak,
        update_seconds=update_seconds,
        update_tokens_per_second=tokens / update_seconds,
        # Forward and backward of the policy are three forward passes, the reference is one.
        update_share=peak and 4 * forward / update_seconds / peak,
        peak_bytes=peak_memory(device),
        planned_bytes=planned,
    )


def timed(action: Callable[[], Any], device: Any) -> tuple[float, Any]:
    """The seconds that an action takes on the device, and its result."""
    import torch

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    start = now()
    result = action()
    return now() - start, result


def device_name(device: Any) -> str:
    """What the device calls itself."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


class TimeIsUp(Exception):
    """What is measured takes too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Leave what is done inside after some time, with :class:`TimeIsUp`.

    It is left between two operations; a device ends those that it has been told.
    """

    def stop(*_: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def row_of(found: Measured) -> str:
    """A line of the table."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.1f} %"

    return (
        f"| {found.model} | {'on' if found.shared_prefix else 'off'} "
        f"| {found.rollout_seconds:.1f} | {found.rollout_tokens_per_second:,.0f} "
        f"| {share(found.rollout_share)} "
        f"| {found.update_seconds:.1f} | {found.update_tokens_per_second:,.0f} "
        f"| {share(found.update_share)} "
        f"| {found.rows_per_micro_batch} | {found.peak_bytes / 2**30:.1f} "
        f"| {found.planned_bytes / 2**30:.1f} |"
    )


HEAD = (
    "| model | shared prefix | rollout, s | tokens/s | of the peak | update, s | tokens/s "
    "| of the peak | rows at once | peak, GiB | planned, GiB |\n|" + " --- |" * 11
)


def main() -> None:
    """Measure every model and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="on a CPU, at a size of seconds")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="after which all is stopped")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    stand_in_for_absent_libraries()
    import torch

    from pipeline.engine.device import set_up_torch
    from pipeline.train.shape import Shape
    from pipeline.train.shapes import QWEN25

    if not arguments.tiny and not torch.cuda.is_available():
        parser.error("torch sees no CUDA device here; --tiny runs on a CPU and measures nothing")
    set_up_torch(torch.get_num_threads())  # as the stages do
    device = torch.device("cpu" if arguments.tiny else "cuda")
    tiny = {"tiny": Shape(64, 256, 2, 4, 2, 320, True)}
    shapes = tiny if arguments.tiny else {name: QWEN25[name] for name in MODELS}
    recipe = RECIPE | (TINY if arguments.tiny else {})
    print(
        f"{device_name(device)}, torch {torch.__version__}, bfloat16: {recipe['prompts_per_step']} "
        f"prompts of {recipe['max_prompt_tokens']} tokens x {recipe['rollouts']} completions of "
        f"{recipe['max_new_tokens']}\n"
    )
    checked: list[Check] = []
    rows: list[dict[str, Any]] = []
    try:
        with at_most(arguments.seconds):
            checked.extend(told(checks(device, SMALL if arguments.tiny else CHECKED)))
            if not all(check.passed for check in checked):
                raise SystemExit("what is wrong is not measured")
            print(f"\n{HEAD}")
            for name, shape in shapes.items():
                for found in measure(name, shape, device, arguments.tiny):
                    rows.append(asdict(found))
                    print(row_of(found), flush=True)
                if device.type == "cuda":
                    torch.cuda.empty_cache()
    except TimeIsUp:
        print("stopped here: the time is up")
    if arguments.json:
        from pipeline.cli.output import write_output

        figures = {"checks": [asdict(check) for check in checked], "rows": rows}
        write_output(arguments.json, json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
