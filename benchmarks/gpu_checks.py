"""Whether a GPU computes what it should: held against transformers, and against the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.gpu_made import RECIPE, as_batch, make_model

SMALL = {"small vocabulary": (256, 1024, 4, 4, 2, 320, True)}
CHECKED = SMALL | {"Qwen2.5's": (256, 1024, 4, 4, 2, 151_936, True)}
CLOSE = 1e-3  # of float32; relative
TIED = 0.1  # of greedy text in bfloat16, where two tokens may be equally likely


@dataclass(frozen=True)
class Check:
    """How far the device is from what it should compute, and how far it may be."""

    what: str
    error: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Whether it is near enough; what is not a number is not."""
        return self.error <= self.allowed


def checks(device: Any, shapes: Mapping[str, Sequence[Any]]) -> Iterator[Check]:
    """Compare models of some shapes on the device with transformers, and with the CPU."""
    from pipeline.config.algorithms import Grpo, Sft
    from pipeline.train.shape import Shape

    for name, numbers in shapes.items():
        shape = Shape(*numbers)
        ours, theirs = greedy(shape, device, "float32")
        yield Check(f"{name}: greedy text unlike transformers'", unlike(ours, theirs), 0)
        near, nearest = (unlike(rows, theirs) for rows in greedy(shape, device, "bfloat16"))
        limit = max(2 * nearest, TIED)
        yield Check(f"{name}: greedy text unlike that of float32, bfloat16", near, limit)
        for algorithm in (Grpo(), Sft()):
            yield from _learned_checks(name, shape, device, algorithm)


def _learned_checks(name: str, shape: Any, device: Any, algorithm: Any) -> Iterator[Check]:
    """Compare an update with the CPU's."""
    truth, rounded = (learned(shape, "cpu", p, algorithm) for p in ("float32", "bfloat16"))
    allowed = {"float32": (CLOSE, CLOSE), "bfloat16": tuple(2 * e for e in off(rounded, truth))}
    for precision, most in allowed.items():
        errors = off(learned(shape, device, precision, algorithm), truth)
        for what, error, limit in zip(("loss", "gradients"), errors, most, strict=True):
            named = f"{name}: {what} of {algorithm.name}, {precision}"
            yield Check(named, error, max(limit, CLOSE))


def told(checks: Iterable[Check]) -> Iterator[Check]:
    """Say how each check went."""
    for check in checks:
        word = "right" if check.passed else "WRONG"
        print(f"{word}  {check.what}: {check.error:.2g} (at most {check.allowed:.2g})", flush=True)
        yield check


def ragged(shape: Any) -> list[tuple[int, ...]]:
    """Prompts of 12 to 40 tokens."""
    random = Random(1)
    tokens = range(1, shape.vocab_size)
    return [tuple(random.choices(tokens, k=length)) for length in (12, 40, 25, 33)]


def greedy(shape: Any, device: Any, precision: str) -> tuple[list[Any], list[Any]]:
    """Greedy text as it is written here, and by ``transformers.generate``."""
    import torch

    from pipeline.engine.batch import pad_left
    from pipeline.engine.decode import generate
    from pipeline.engine.device import answering
    from pipeline.engine.sampling import Sampling

    model, prompts, new = checked_model(shape).to(device).eval(), ragged(shape), 40
    ids, mask = pad_left(prompts, 0, model.device)
    with torch.inference_mode(), answering(model, precision):
        ours = generate(model, prompts, [(i,) for i in range(4)], Sampling(new, 0.0), stops=())
        said = model.generate(
            input_ids=ids,
            attention_mask=mask.long(),
            do_sample=False,
            max_new_tokens=new,
            min_new_tokens=new,
            pad_token_id=0,
        )[:, ids.shape[1] :].tolist()
    return [list(one.tokens) for one in ours], said


def unlike(found: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> float:
    """The share of all tokens that stand at or after a row's first wrong one."""
    wrong = total = 0
    for row, right in zip(found, truth, strict=True):
        pairs = enumerate(zip(row, right, strict=True))
        wrong += len(right) - next((n for n, (a, b) in pairs if a != b), len(right))
        total += len(right)
    return wrong / total


def checked_model(shape: Any) -> Any:
    """A model on the CPU, the same each time, whose tokens are far from equally likely."""
    import torch

    model = make_model(shape, 128, "cpu")
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(3)
    return model


def learned(shape: Any, device: Any, precision: str, algorithm: Any) -> tuple[float, Any]:
    """The loss of one update, and its gradients as one vector on the CPU."""
    import torch

    from pipeline.config.training import Train
    from pipeline.engine.decode import Completion
    from pipeline.train.learner import Learner
    from pipeline.train.update import Updater

    random, prompts, group = Random(2), ragged(shape), 4 if algorithm.samples else 1
    lengths = [random.randint(3, 24) for _ in range(len(prompts) * group)]
    texts = [random.choices(range(1, shape.vocab_size), k=length) for length in lengths]
    completions = [Completion(tuple(text), finished=True) for text in texts]
    policy, reference = (checked_model(shape).to(device) for _ in range(2))
    with torch.no_grad():
        for weight in reference.parameters():
            weight.mul_(0.99)  # the KL penalty is not zero, then
    recipe = Train(
        **RECIPE
        | {"kl_coefficient": 0.1, "gradient_clip": 1e9, "precision": precision}
        | {"groups_per_micro_batch": 2}
    )
    # A step of 1 along the gradient: what the weights lose is the gradient.
    before = torch.nn.utils.parameters_to_vector(policy.parameters()).detach().clone()
    learner = Learner(policy, torch.optim.SGD(policy.parameters(), lr=1.0))
    updater = Updater(recipe, algorithm, learner, reference.requires_grad_(False), None)
    loss = updater.update(updater.prepare(as_batch(prompts, completions))).loss
    after = torch.nn.utils.parameters_to_vector(policy.parameters()).detach()
    return loss, (before - after).cpu()


def off(found: tuple[float, Any], truth: tuple[float, Any]) -> tuple[float, float]:
    """The relative errors of a loss and of gradients."""
    (loss, gradients), (right, direction) = found, truth
    of_gradients = float((gradients - direction).norm() / direction.norm())
    return abs(loss - right) / abs(right), of_gradients
