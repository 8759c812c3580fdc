"""verl's checkpoints: which to resume from, and from shards to a verified model folder.

A checkpoint is a folder ``global_step_N`` with one shard per process, in RL below ``actor``. It is
whole when ``probe.json`` is there, which is written last: by ``pipeline.ops.verl.hooks`` or, of
imitation, by the job; and when no rank's part is on its way (:mod:`pipeline.ops.verl.node_disk`).
verl's own merger (0.9.1) rounds all weights to bfloat16.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

# What shards are made of is safe to load once this is imported.
from torch.distributed.tensor import DTensor, Shard
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel

from pipeline.base.errors import UserError
from pipeline.formats.files import read_json, remove, write_text
from pipeline.formats.records import Figures
from pipeline.model.weights import WEIGHTS, copy_generation, load_model, write_tensors
from pipeline.ops.verl.layout import ARRIVES, PROBE, UNLOGGED, State
from pipeline.train.contract import History, Step

TOLERANCE = {"float32": 1e-4, "bfloat16": 0.25}
"""Mean difference of a log-probability between the trainer and its checkpoint that is accepted.

In bfloat16 the trainer's own logits, of size 10 to 40, are multiples of 1/16 to 1/4. So
rounding alone can take a single token this far, but never their mean; weights that were merged
wrongly miss it by far."""

_LATEST = "latest_checkpointed_iteration.txt"

# verl wraps a model that has LoRA with ``peft``, which gives each adapted layer a frozen
# ``base_layer`` and two thin matrices beside it.
_PREFIX, _LAYER = "base_model.model.", ".base_layer"
_DOWN, _UP = ".lora_A.default.weight", ".lora_B.default.weight"
_META = "lora_train_meta.json"  # has rank and scale


def whole_steps(state: State) -> list[int]:
    scored = (probe.parent for probe in state.checkpoints.glob(f"global_step_*/{PROBE}"))
    return sorted(_step(folder) for folder in scored if not any(folder.glob(f"{ARRIVES}*")))


def complete(state: State, losses: Mapping[int, float]) -> None:
    """Write into the checkpoints of imitation that verl has finished what verifies them.

    Args:
        state: The state folder.
        losses: By step, what its checkpoint loses on the completions above the checkpoints.

    Raises:
        Overtaken: If another attempt has taken over.
    """
    latest = state.checkpoints / _LATEST
    saved = int(latest.read_text()) if latest.is_file() else 0
    for step, loss in losses.items():
        folder = state.step(step)
        if step <= saved and folder.is_dir() and not (folder / PROBE).exists():
            State.complete(folder, loss=loss)


def prepare_resume(state: State, logged: Iterable[int], ranks: int) -> int:
    """The step to go on from (0 is the start) and make verl take that one.

    It is the newest whole checkpoint whose metrics are known: a step is saved before it is logged,
    and a step that is resumed from is not logged again. Later folders are removed.

    Args:
        state: The state folder.
        logged: Steps whose metrics are known.
        ranks: Processes that will load the checkpoint.

    Raises:
        UserError: If another number of processes wrote it.
    """
    known = set(logged)
    found = max((step for step in whole_steps(state) if step in known), default=0)
    if found:
        check_ranks(state.step(found), ranks, state.root)
    for folder in state.checkpoints.glob("global_step_*"):
        if _step(folder) > found:
            remove(folder)
    if found:
        write_text(state.checkpoints / _LATEST, str(found))
    else:
        remove(state.checkpoints / _LATEST)
    return found


def unlogged(state: State, logged: Container[int]) -> dict[int, Figures]:
    """The figures of steps that are whole and were not logged, where their checkpoints have them.

    Args:
        state: The state folder.
        logged: Steps whose metrics are known, and others to leave out.
    """
    paths = {step: state.step(step) / UNLOGGED for step in whole_steps(state) if step not in logged}
    return {step: read_json(path) for step, path in paths.items() if path.is_file()}


def best_saved(state: State, history: History) -> Step | None:
    """The best validated step of those whose checkpoints are there: the earliest of equals.

    Steps are validated oftener than they are saved.
    """
    saved = set(whole_steps(state))
    return History(steps=tuple(each for each in history.steps if each.step in saved)).best


def thin(state: State, history: History) -> None:
    """Remove the checkpoints that can neither turn out the best nor be resumed from.

    Kept are the best step so far, the newest two that are whole and logged, and what is not logged
    yet. A full checkpoint of a large model takes tens of gigabytes. verl would keep every one, or
    the newest of them, whatever came of it.

    Args:
        state: The state folder.
        history: The steps logged so far.
    """
    logged = {each.step for each in history.steps}
    whole = [step for step in whole_steps(state) if step in logged]
    best = best_saved(state, history)
    for step in set(whole[:-2]) - ({best.step} if best else set()):
        remove(state.step(step))


def policy_folder(checkpoint: Path) -> Path:
    actor = checkpoint / "actor"
    return actor if actor.is_dir() else checkpoint


def check_ranks(checkpoint: Path, ranks: int, root: Path) -> None:
    """Check that as many processes wrote a checkpoint as will load it.

    Args:
        checkpoint: The checkpoint.
        ranks: Processes that will load it.
        root: What to remove to start from the beginning.

    Raises:
        UserError: If not; names both numbers.
    """
    wrote = _ranks(policy_folder(checkpoint))
    if wrote != ranks:
        raise UserError(
            f"checkpoint {checkpoint} was written by {wrote} processes and this job has {ranks}; "
            f"verl loads a checkpoint only with as many. Set train.cluster.gpus (times nodes) to "
            f"{wrote}, or remove {root} to start from the beginning"
        )


@dataclass(frozen=True)
class LogprobDifference:
    """How far log-probabilities of a stored model lie from the trainer's; of imitation, their mean.

    Attributes:
        mean: Over all tokens.
        largest: Of one token.
        precision: Number format of the trainer's forward pass.
    """

    mean: float
    largest: float
    precision: str

    def __str__(self) -> str:
        found = f"log-probabilities within {self.largest:.1e} of the trainer's"
        if self.largest <= TOLERANCE[self.precision]:
            return found
        return (
            f"warning: {found}, in the mean {self.mean:.1e}; one token's is above "
            f"{TOLERANCE[self.precision]:g}, which rounding to {self.precision} can do"
        )


def merge(actor: Path, precision: str | None = None) -> dict[str, Tensor]:
    """The whole weights from the shards of all processes.

    Shards are read from the disk weight by weight, so that memory holds the result alone. LoRA's
    adapters are added up with the weights that they belong to.

    Args:
        actor: The folder of the policy's shards.
        precision: Number format of the forward pass that was trained; absent, the shards' own.

    Raises:
        UserError: If they are sharded in a way that is not known here.
    """
    ranks = _ranks(actor)
    shards = [_shard(actor, ranks, 0)]
    first = next(iter(shards[0].values()))
    # With replicas (mesh: replicas x shards), the first row of the mesh holds everything.
    count = first.device_mesh.shape[-1] if isinstance(first, DTensor) else ranks
    shards += [_shard(actor, ranks, rank) for rank in range(1, count)]
    dtype = getattr(torch, precision) if precision else None
    if _is_adapted(shards[0]):  # added up as they were trained
        whole = {name: _whole(name, [s.pop(name) for s in shards]) for name in list(shards[0])}
        return {name: _as(dtype, w) for name, w in without_adapters(whole, actor).items()}
    return {
        name: _as(dtype, _whole(name, [s.pop(name) for s in shards])) for name in list(shards[0])
    }


def _as(dtype: torch.dtype | None, tensor: Tensor) -> Tensor:
    return tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor


def _shard(actor: Path, ranks: int, rank: int) -> dict[str, Tensor]:
    path = actor / f"model_world_size_{ranks}_rank_{rank}.pt"
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)  # type: ignore[no-any-return]


def _whole(name: str, parts: list[Tensor]) -> Tensor:
    shards = [part for part in parts if isinstance(part, DTensor)]
    if not shards:
        if all(torch.equal(parts[0], part) for part in parts[1:]):
            return parts[0].contiguous()
        raise UserError(f"weight {name} is split without saying how; use the strategy fsdp2")
    placement = shards[0].placements[-1]
    local = [shard.to_local() for shard in shards]
    if placement.is_replicate():
        return local[0].contiguous()
    assert isinstance(placement, Shard), f"{name}: {placement}"
    return torch.cat(local, dim=placement.dim).contiguous()


def export(weights: dict[str, Tensor], base: Path, folder: Path) -> None:
    """Write weights as a model folder, with the tokenizer and configuration of the base model."""
    config = AutoConfig.from_pretrained(base, local_files_only=True)
    config.dtype = next(iter(weights.values())).dtype
    if config.tie_word_embeddings:
        weights = {name: tensor for name, tensor in weights.items() if name != "lm_head.weight"}
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base, local_files_only=True).save_pretrained(folder)
    copy_generation(base, folder)
    write_tensors(folder / WEIGHTS, weights)


def verify(folder: Path, state: State, step: int, precision: str) -> LogprobDifference:
    """Load a model folder and compare it with what the trainer said of its checkpoint.

    Raises:
        UserError: If log-probabilities differ by more than :data:`TOLERANCE` in the mean.
    """
    sequences = read_json(state.checkpoints / PROBE)
    logged = read_json(state.step(step) / PROBE)
    model, _ = load_model(folder, dtype="auto")
    found = [logprobs(model, each["prompt"], each["response"]) for each in sequences]
    if "loss" in logged:
        away = (torch.cat(found).mean() + logged["loss"]).abs()
    else:
        pairs = zip(found, logged["logprobs"], strict=True)
        away = torch.cat([(own - torch.tensor(theirs)).abs() for own, theirs in pairs])
    difference = LogprobDifference(away.mean().item(), away.max().item(), precision)
    if not difference.mean <= TOLERANCE[precision]:
        raise UserError(
            f"the weights merged from {state.step(step)} give other log-probabilities than the "
            f"trainer did: in the mean they differ by {difference.mean:.2g}, allowed in "
            f"{precision}: {TOLERANCE[precision]:g}. The checkpoint is kept; nothing was stored"
        )
    return difference


@torch.no_grad()
def logprobs(model: PreTrainedModel, prompt: Sequence[int], response: Sequence[int]) -> Tensor:
    """The log-probability of each token of a response [T], without a cache or padding."""
    ids = torch.tensor([[*prompt, *response]])
    logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    chosen = torch.tensor(response).unsqueeze(-1)
    return torch.log_softmax(logits.float(), dim=-1).gather(-1, chosen).squeeze(-1)


def _ranks(actor: Path) -> int:
    return int(read_json(actor / "fsdp_config.json")["world_size"])


def _step(folder: Path) -> int:
    return int(folder.name.removeprefix("global_step_"))


def _is_adapted(weights: Iterable[str]) -> bool:
    return any(name.endswith(_UP) for name in weights)


def without_adapters(weights: dict[str, Tensor], actor: Path) -> dict[str, Tensor]:
    """The weights of a plain model: W + (alpha / rank) B A where there are adapters.

    Args:
        weights: Merged from all shards; returned as they are where nothing was adapted.
        actor: The folder of the policy's shards.
    """
    if not _is_adapted(weights):
        return weights
    meta = read_json(actor / _META)
    scale = meta["lora_alpha"] / meta["r"]
    plain = {}
    for name, tensor in weights.items():
        if name.endswith((_DOWN, _UP)):
            continue
        layer, _, kind = name.rpartition(f"{_LAYER}.")
        if layer and kind == "weight":
            change = weights[layer + _UP].float() @ weights[layer + _DOWN].float()
            tensor = (tensor.float() + scale * change).to(tensor.dtype)
        plain[name.removeprefix(_PREFIX).replace(f"{_LAYER}.", ".")] = tensor
    return plain
