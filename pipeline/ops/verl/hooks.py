"""What verl calls back in its trainer, on every kind of machine, through its own plug-in points.

``MeasuredReplayBuffer`` (``trainer.v1.sampler.custom_sampler``) adds the metrics of a batch of
rollouts that verl does not log itself, keeps some of them, and says which are to be imitated.
``CheckpointProbe`` (``trainer.checkpoint_callback_class``) notes, beside each checkpoint, the
log-probabilities that the trainer gives to fixed completions. ``Verbatim``
(``reward.reward_manager``) shows the grader a response as it is.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from numbers import Real
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1.replay_buffer import (
    DAPO_FILTERED_REWARD_COUNTS_KEY,
    ReplayBuffer,
)
from verl.utils.tensordict_utils import list_of_dict_to_tensordict
from verl.workers.utils.padding import response_from_nested

from pipeline.formats.files import read_json, write_json
from pipeline.formats.records import Figures
from pipeline.model.weights import EndIds, end_ids_in
from pipeline.ops.verl.collect import BATCH_PREFIX
from pipeline.ops.verl.layout import PROBE, UNLOGGED, State
from pipeline.train.kept_rollouts import KeptRollout, RolloutLog, kept
from pipeline.train.metrics import batch_metrics, exceptional_metrics

_PARTITION = "probe"
_POLL_SECONDS = 0.25  # between looks whether a batch is complete


class MeasuredReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """verl's replay buffer, which also measures each training batch."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings, poll_interval=_POLL_SECONDS)
        tokenizer = AutoTokenizer.from_pretrained(self.sampler_kwargs["tokenizer"])
        self._ends = end_ids_in(Path(self.sampler_kwargs["tokenizer"]), tokenizer)
        self._texts = _WholeText(tokenizer)
        self._log = RolloutLog(Path(self.sampler_kwargs["state"]))
        self._rejects = self.sampler_kwargs.get("rejects", False)
        # The trainer, which verl shows nowhere else, is whose method asks for more prompts.
        trainer = settings["refill_fn"].__self__
        remember_steps(trainer)

    def sample(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[Any, dict[str, object]]:
        """A batch and its metrics."""
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        metrics.pop(DAPO_FILTERED_REWARD_COUNTS_KEY, None)  # no number, which is all that is logged
        if partition_id == "train":
            found = _measure(batch, self._ends)
            self._log.add(_kept_of(global_steps, batch, self._texts))
            if self._rejects:
                found["kept"] = _reject(batch, self._ends)
            metrics.update({f"{BATCH_PREFIX}{name}": value for name, value in found.items()})
        return batch, metrics


def _measure(batch: Any, ends: EndIds) -> Figures:
    data = tq.kv_batch_get(
        keys=batch.keys,
        partition_id=batch.partition_id,
        select_fields=["rm_scores", "responses", "extra_fields"],
    )
    responses = list(data["responses"])
    extra = [getattr(fields, "data", fields) for fields in data["extra_fields"]]
    groups: dict[str, list[float]] = defaultdict(list)
    alike: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    scores = [float(row.sum()) for row in data["rm_scores"]]
    for key, score, response in zip(batch.keys, scores, responses, strict=True):
        prompt = key.rsplit("_", 2)[0]
        groups[prompt].append(score)
        alike[prompt].append(tuple(response.tolist()))
    rewards = [fields["reward_extra_info"] for fields in extra]
    measured = batch_metrics(
        groups=list(groups.values()),
        responses=list(alike.values()),
        lengths=[len(row) for row in responses],
        finished=[int(row[-1]) in ends for row in responses],
        rewards=rewards,
    )
    return measured | exceptional_metrics(rewards)


def _kept_of(step: int, batch: Any, texts: _WholeText) -> Iterator[KeptRollout]:
    """Yield what is kept of a batch, see :func:`pipeline.train.kept_rollouts.kept_of`."""
    keys = sorted(batch.keys)
    groups = Counter(key.rsplit("_", 2)[0] for key in keys)
    keys = keys[: kept(len(groups), max(groups.values()))]
    data = tq.kv_batch_get(
        keys=keys,
        partition_id=batch.partition_id,
        select_fields=["responses", "extra_fields", "extra_info"],
    )
    rows = zip(data["responses"], data["extra_fields"], data["extra_info"], strict=True)
    for response, fields, info in rows:
        earned = getattr(fields, "data", fields)["reward_extra_info"]
        yield KeptRollout(
            step=step,
            id=getattr(info, "data", info)["id"],
            tokens=len(response),
            finished=texts.ended(response),
            right=earned["acc"] == 1,
            reward=earned["score"],
            response=texts.decode(response),
        )


def _reject(batch: Any, ends: EndIds) -> int:
    """Leave a reward of 1 to each completion to be imitated, and none to others; count the former.

    As :meth:`pipeline.train.rollout.Rollouts.right`: those that are right and came to their end,
    and of a prompt's that are alike the first.
    """
    which = {"keys": batch.keys, "partition_id": batch.partition_id}
    data = tq.kv_batch_get(**which, select_fields=["responses", "extra_fields"])
    seen: set[tuple[str, tuple[int, ...]]] = set()
    rewards = []
    for key, response, fields in zip(
        batch.keys, data["responses"], data["extra_fields"], strict=True
    ):
        earned = getattr(fields, "data", fields)["reward_extra_info"]
        alike = key.rsplit("_", 2)[0], tuple(response.tolist())
        kept = earned["acc"] == 1 and alike[1][-1] in ends and alike not in seen
        if kept:
            seen.add(alike)
        reward = torch.zeros(len(response))
        reward[-1] = float(kept)
        rewards.append(reward)
    scores = torch.nested.as_nested_tensor(rewards, layout=torch.jagged)
    tq.kv_batch_put(**which, fields=TensorDict({"rm_scores": scores}, batch_size=len(rewards)))
    return len(seen)


@register_adv_est("rft")
def imitating_advantages(
    token_level_rewards: torch.Tensor, response_mask: torch.Tensor, **_: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages [B, T] whose loss, the mean over all tokens, is that of imitating the rewarded.

    On policy, the gradient of a token's loss is its advantage times that of its log-likelihood.
    """
    kept = (token_level_rewards.sum(-1, keepdim=True) > 0) * response_mask
    advantages = kept * (response_mask.sum() / kept.sum().clamp_min(1))
    return advantages, advantages


def remember_steps(trainer: Any) -> None:
    """Have verl's trainer of RL remember what its step in progress is about.

    verl logs a step after it has saved and validated it. A run that is killed in between goes on
    from the checkpoint, with the figures that stand in it.
    """
    step = trainer.step

    def remembered(metrics: Figures, timing: Figures) -> Any:
        started = time.perf_counter()
        batch = step(metrics, timing)
        trainer.tomrl_step = batch, metrics, started
        return batch

    trainer.step = remembered


def _figures_of(trainer: Any, step: int) -> Figures:
    """The figures of the step in progress, as verl gathers them to be logged."""
    batch, metrics, started = trainer.tomrl_step
    found, timing = dict(metrics), {"step": time.perf_counter() - started, **trainer.timing_raw}
    trainer._compute_metrics(batch, found, timing, global_steps=step, epoch=0)
    return {name: float(value) for name, value in found.items() if isinstance(value, Real)}


class Verbatim(NaiveRewardManager):  # type: ignore[misc]
    """verl's reward manager without its removal of special tokens from what is graded.

    The local trainer and the evaluation grade a response with them, so that a response with a
    stray one cannot be wrong there and right here.
    """

    def __init__(
        self,
        config: object,
        tokenizer: PreTrainedTokenizerBase,
        *arguments: object,
        **settings: object,
    ) -> None:
        super().__init__(config, _WholeText(tokenizer), *arguments, **settings)


class _WholeText:
    """Decodes all of a response but the token that ends it."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._ends = end_ids_in(Path(tokenizer.name_or_path), tokenizer)

    def ended(self, tokens: torch.Tensor) -> bool:
        """The last of the tokens [T] ends a response."""
        return len(tokens) > 0 and int(tokens[-1]) in self._ends

    def decode(self, tokens: torch.Tensor, **_: object) -> str:
        """The text of the tokens [T]."""
        listed: list[int] = tokens.tolist()
        if self.ended(tokens):
            listed.pop()
        return str(self._tokenizer.decode(listed, skip_special_tokens=False))


class CheckpointProbe(CheckpointCallback):  # type: ignore[misc]
    """Writes ``probe.json`` into each checkpoint, after everything else is there.

    It holds the log-probabilities that the trainer gives to the completions in the file of the same
    name above the checkpoints, at temperature 1.
    """

    def on_save(
        self,
        trainer: Any,
        global_step: int,
        checkpoint_dir: str,
        async_save: bool = False,
        **_: object,
    ) -> None:
        """Ask the actor for the log-probabilities and write them."""
        folder = Path(checkpoint_dir)
        sequences = read_json(folder.parent / PROBE)
        logprobs = _actor_logprobs(trainer, sequences)
        write_json(folder / UNLOGGED, _figures_of(trainer, global_step))
        State.complete(folder, logprobs=logprobs)


def _actor_logprobs(trainer: Any, sequences: list[dict[str, list[int]]]) -> list[list[float]]:
    """The actor's log-probabilities of each completion's tokens."""
    ranks = trainer.actor_rollout_wg.world_size
    count = -(-len(sequences) // ranks) * ranks  # each rank must get as many
    rows = [_fields(sequences[index % len(sequences)]) for index in range(count)]
    keys = [f"probe{index}_0_0" for index in range(count)]
    batch = tq.kv_batch_put(
        keys=keys,
        partition_id=_PARTITION,
        fields=list_of_dict_to_tensordict(rows),
        tags=[{"seq_len": len(row["input_ids"])} for row in rows],
    )
    try:
        batch.extra_info.update(
            {
                "calculate_entropy": False,
                "compute_loss": False,
                "temperature": 1.0,
                "use_dynamic_bsz": False,
                "micro_batch_size_per_gpu": 1,
            }
        )
        trainer.actor_rollout_wg.compute_log_prob(batch)
        data = tq.kv_batch_get(
            keys=keys, partition_id=_PARTITION, select_fields=["log_probs", "response_mask"]
        )
        found = response_from_nested(data["log_probs"], data["response_mask"])
        return [row.float().tolist() for row in found.unbind()[: len(sequences)]]
    finally:
        tq.kv_clear(keys=keys, partition_id=_PARTITION)


def _fields(sequence: dict[str, list[int]]) -> dict[str, torch.Tensor | dict[str, object]]:
    """A sequence in the form in which verl keeps rollouts."""
    prompt, response = torch.tensor(sequence["prompt"]), torch.tensor(sequence["response"])
    mask = torch.ones_like(response)
    whole = torch.cat([prompt, response])
    return {
        "prompts": prompt,
        "responses": response,
        "response_mask": mask,
        "loss_mask": mask,
        "input_ids": whole,
        "position_ids": torch.arange(len(whole)),
        "multi_modal_inputs": {},
    }
