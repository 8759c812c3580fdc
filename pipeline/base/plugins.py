"""Everything that studies choose by name, with its module.

Modules are imported on demand: a run of one backend loads nothing of another, and an edit of one
reward does not invalidate another's results. To add a benchmark, kind of base model, training
backend, engine or reward, write its module and name it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType


@dataclass(frozen=True)
class Plugin:
    """Something loaded by name; ``elsewhere`` are modules that it starts in other processes."""

    module: str
    name: str
    elsewhere: tuple[str, ...] = ()

    def load(self) -> object:
        found: object = getattr(import_module(self.module), self.name)
        return found

    @property
    def modules(self) -> tuple[str, ...]:
        return (self.module, *self.elsewhere)


FOLLOWER = "pipeline.ops.mirror.follow"
"""The process that follows a stage of a cell."""

KEEPER = Plugin("pipeline.ops.mirror.report", "keep_report")
"""Publishes a study's report, with its cells' results, to the tracker."""

ELSEWHERE = Plugin("pipeline.ops.cluster.train_local_job", "LocalJobTraining")
"""The local trainer on a cluster."""

GPUS = Plugin("pipeline.ops.cluster.gpus", "leased")
"""Leases GPUs of this machine to one process of this package at a time."""

ALARM = Plugin("pipeline.judge.alarm", "LogWatch")
"""Looks for shortcuts in the rollouts of a training, of which it changes nothing."""

BENCHMARKS = (
    "pipeline.tasks.acting",
    "pipeline.tasks.bigtom",
    "pipeline.tasks.explore_tom",
    "pipeline.tasks.fantom",
    "pipeline.tasks.fantom_archive",
    "pipeline.tasks.generated",
    "pipeline.tasks.gsm8k",
    "pipeline.tasks.hi_tom",
    "pipeline.tasks.hi_tom_pairs",
    "pipeline.tasks.opentom",
    "pipeline.tasks.tom_rl",
    "pipeline.tasks.tombench",
    "pipeline.tasks.tomi",
)
"""The modules that register tasks."""

BASES: Mapping[str, Plugin] = MappingProxyType(
    {
        "tiny": Plugin("pipeline.stages.base_tiny", "make"),
        "hub": Plugin("pipeline.stages.bases", "hub"),
        "folder": Plugin("pipeline.stages.bases", "folder"),
        "gguf": Plugin("pipeline.stages.bases", "gguf"),
        "wheel": Plugin("pipeline.stages.bases", "wheel"),
        "api": Plugin("pipeline.stages.bases", "api"),
        "recorded": Plugin("pipeline.stages.bases", "recorded"),
    }
)
"""Makers of base models, by kind."""

_VERL = (
    "pipeline.reward.verl_entry",
    "pipeline.ops.verl.critics",
    "pipeline.ops.verl.float_adapters",
    "pipeline.ops.verl.hooks",
    "pipeline.ops.verl.job",
    "pipeline.ops.verl.node_disk",
    "pipeline.ops.verl.ranks",
    "pipeline.ops.verl.sft_data",
)
BACKENDS: Mapping[str, Plugin] = MappingProxyType(
    {
        "local": Plugin(
            "pipeline.stages.train_local", "prepare_local", ("pipeline.ops.cluster.local_job",)
        ),
        "verl": Plugin("pipeline.ops.verl.training", "VerlTraining", _VERL),
    }
)

ENGINES: Mapping[str, Plugin] = MappingProxyType(
    {
        "hf": Plugin("pipeline.evaluate.hf_engine", "open_engine"),
        "vllm": Plugin("pipeline.ops.vllm.engine", "open_engine"),
    }
)
"""Engines that run a model over prompts."""

LIKELIHOODS = ("hf",)
"""Engines with log-likelihoods of given texts."""

SERVED: Mapping[str, Plugin] = MappingProxyType(
    {
        "openai": Plugin("pipeline.evaluate.openai_engine", "open_engine"),
        "replay": Plugin("pipeline.evaluate.replay_engine", "open_engine"),
    }
)
"""Engines for models without weights here: behind an address, or recorded."""

REWARDS: Mapping[str, Plugin] = MappingProxyType(
    {
        "tom-rl": Plugin("pipeline.reward.tom_rl", "AsCoded"),
        "tom-rl-strict": Plugin("pipeline.reward.tom_rl", "AsCodedStrict"),
        "tom-rl-text": Plugin("pipeline.reward.tom_rl", "AsWritten"),
        "rlvr": Plugin("pipeline.reward.rlvr", "Rlvr"),
        "fidelity": Plugin("pipeline.reward.fidelity_reward", "FidelityReward"),
    }
)

CONTROLS: Mapping[str, Plugin] = MappingProxyType(
    {
        "random": Plugin("pipeline.reward.random_reward", "RandomReward"),
        "wrong": Plugin("pipeline.reward.other_than_right", "WrongReward"),
        "form": Plugin("pipeline.reward.other_than_right", "FormReward"),
    }
)
"""Controls: rewards for something else than a right answer; gains under them have other causes."""
