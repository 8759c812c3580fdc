"""What a study chooses by name, and the module that holds it.

Nothing here is imported before it is asked for: a run of one backend loads nothing of another, and
an edit of one reward is no edit of what another reward's results come from. To add a benchmark, a
base model's kind, a training backend, an engine or a reward, write its module and name it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType


@dataclass(frozen=True)
class Plugin:
    """Something that is loaded by name.

    Attributes:
        module: Where it is.
        name: Its name there.
        elsewhere: Modules that it starts in other processes, so that no import leads to them.
    """

    module: str
    name: str
    elsewhere: tuple[str, ...] = ()

    def load(self) -> object:
        """Import the module and return what it holds under the name."""
        found: object = getattr(import_module(self.module), self.name)
        return found

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that results can come from, with what they import."""
        return (self.module, *self.elsewhere)


FOLLOWER = "pipeline.ops.mirror.follow"
"""What follows a stage of a cell, as a process of its own."""

KEEPER = Plugin("pipeline.ops.mirror.report", "keep_report")
"""What keeps a study's report, with all that its cells have left, where people compare them."""

ELSEWHERE = Plugin("pipeline.ops.cluster.train_local_job", "LocalJobTraining")
"""The local trainer on a cluster."""

GPUS = Plugin("pipeline.ops.cluster.gpus", "leased")
"""What gives a process GPUs of this machine that no other process of this package has."""

BENCHMARKS = (
    "pipeline.tasks.explore_tom",
    "pipeline.tasks.fantom",
    "pipeline.tasks.fantom_archive",
    "pipeline.tasks.generated",
    "pipeline.tasks.gsm8k",
    "pipeline.tasks.hi_tom",
    "pipeline.tasks.hi_tom_pairs",
    "pipeline.tasks.opentom",
    "pipeline.tasks.tom_rl",
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
"""How a base model is made, by its kind."""

_VERL = (
    "pipeline.reward.verl_entry",
    "pipeline.ops.verl.critics",
    "pipeline.ops.verl.float_adapters",
    "pipeline.ops.verl.hooks",
    "pipeline.ops.verl.job",
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
"""Training backends."""

ENGINES: Mapping[str, Plugin] = MappingProxyType(
    {
        "hf": Plugin("pipeline.evaluate.hf_engine", "open_engine"),
        "vllm": Plugin("pipeline.ops.vllm.engine", "open_engine"),
    }
)
"""What runs a model over prompts."""

LIKELIHOODS = ("hf",)
"""The engines that say how likely given texts are."""

SERVED: Mapping[str, Plugin] = MappingProxyType(
    {
        "openai": Plugin("pipeline.evaluate.openai_engine", "open_engine"),
        "replay": Plugin("pipeline.evaluate.replay_engine", "open_engine"),
    }
)
"""What answers where there are no weights: a model behind an address, or a file."""

REWARDS: Mapping[str, Plugin] = MappingProxyType(
    {
        "tom-rl": Plugin("pipeline.reward.tom_rl", "AsCoded"),
        "tom-rl-strict": Plugin("pipeline.reward.tom_rl", "AsCodedStrict"),
        "tom-rl-text": Plugin("pipeline.reward.tom_rl", "AsWritten"),
        "rlvr": Plugin("pipeline.reward.rlvr", "Rlvr"),
        "fidelity": Plugin("pipeline.reward.fidelity_reward", "FidelityReward"),
    }
)
"""Reward presets."""

CONTROLS: Mapping[str, Plugin] = MappingProxyType(
    {"random": Plugin("pipeline.reward.random_reward", "RandomReward")}
)
"""Reward presets that pay for nothing: what training gains by them is not due to the reward."""
