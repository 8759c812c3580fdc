"""Why a job failed, whether another attempt may help, and what to change where it cannot.

The first of `CAUSES` that the log or Ray's word on the job shows is the one; what none of them fits
is tried again. `docs/cluster.md` has the same table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from pipeline.ops.cluster.job import LEAD_IN, Diagnosis
from pipeline.ops.verl import collectives
from pipeline.ops.verl.placement import Placement
from pipeline.train.accelerators import GIB


class FailureCause(NamedTuple):
    """A way to fail.

    Attributes:
        name: What happened, in a few words.
        seen: What a line of the log says, or Ray's word on the job.
        again: Whether another attempt may help: always, once a step was made, or never.
        advice: What to do about it; may name the fields of `circumstances`.
        more: Says more, from the lines that fit.
    """

    name: str
    seen: re.Pattern[str]
    again: Literal["yes", "after a step", "no"]
    advice: str
    more: Callable[[Sequence[str]], str] = lambda lines: ""


def circumstances(key: str, placement: Placement, state: str) -> dict[str, object]:
    """The fields of advice: where a cell's settings stand, its accelerators, its state folder."""
    phases = ", ".join(f"{held / GIB:.1f} in {phase}" for phase, held in placement.peaks.items())
    return {
        "train": f"cells.{key}.train",
        "accelerators": placement.describe(),
        "gpus": placement.gpus,
        "nodes": placement.nodes,
        "planned": f"{phases}, of {placement.capacity / GIB:.1f} GiB",
        "state": state,
    }


# Texts of torch, vLLM 0.24, verl 0.9.1 and Ray 2.60 (its Python sources, and the strings of its
# gcs_server, raylet and _raylet.so). What is more special stands before what is more general.
CAUSES = (
    FailureCause(
        "disk full",
        re.compile(
            r"No space left on device|Disk quota exceeded|File too large|OutOfDiskError"
            r"|PytorchStreamWriter failed|unexpected pos \d+ vs \d+"
        ),
        "no",
        "There is no room to write a checkpoint in {state}, or on a node; the last complete one is "
        "kept. Free some disk space and run it again: it resumes from there",
    ),
    FailureCause(
        "not a finite number",
        re.compile(r"step \d+: \w+ is (nan|-?inf), not a finite number"),
        "no",
        "Lower {train}.learning_rate, or look at the reward of the responses",
    ),
    FailureCause(
        "bad configuration",
        re.compile(r"(omegaconf|hydra)\.errors\.\w+|Could not override '|is not in struct"),
        "no",
        "Correct {train}.cluster.overrides; `tomrl plan --cell` checks all settings",
    ),
    FailureCause(
        "old driver",
        re.compile(r"driver version is insufficient|NVIDIA driver on your system is too old"),
        "no",
        "CUDA 13 needs driver 580 or newer on every node: `tomrl doctor --gpu` shows theirs",
    ),
    FailureCause(
        "no compiler",
        re.compile(
            r"Could not find nvcc|nvcc: (command )?not found|Python\.h: No such file"
            r"|Failed to find C compiler|ninja: (command )?not found"
        ),
        "no",
        "Kernels are compiled on first use: the nodes need g++, Python's headers (python3-dev) and "
        "ninja, as the trainer image has, and VLLM_USE_FLASHINFER_SAMPLER=0 where nvcc is missing; "
        "`tomrl doctor --gpu` looks for them",
    ),
    FailureCause(
        "unknown attention",
        re.compile(r"got an unexpected keyword argument 'layer_idx'"),
        "no",
        "The model's config.json has dual_chunk_attention_config, which vLLM 0.24 cannot load. "
        "Make its base model again: it is stored without that key",
    ),
    FailureCause(
        "wrong accelerators",
        re.compile(
            r"no kernel image is available for execution|only supports Ampere GPUs or newer"
            r"|Bfloat16 is only supported on GPUs"
        ),
        "no",
        "Set {train}.cluster.accelerator (now {accelerators}) to what the cluster has, and "
        "{train}.precision to what that computes in",
    ),
    FailureCause(
        "accelerator memory",
        re.compile(
            r"CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory"
            r"|Cuda failure (\d+ )?'out of memory'"
            r"|No available memory for the cache blocks"
            r"|is less than desired GPU memory utilization"
            r"|estimated maximum model length|larger than the available KV cache memory"
        ),
        "after a step",
        "The accelerators ({accelerators}) have too little memory; planned for each were "
        "{planned}. Raise {train}.cluster.gpus (now {gpus}), set {train}.cluster.offload: true, or "
        "lower {train}.max_new_tokens",
    ),
    FailureCause(
        "host memory growth",
        re.compile(r"host memory of \S+ has grown to \S+ of"),
        "yes",
        "Another attempt resumes from the step that was saved, without what the processes leaked. "
        "If it soon happens again, raise {train}.cluster.nodes (now {nodes}), or "
        "{train}.cluster.host_memory_share where nothing else runs on the nodes",
    ),
    FailureCause(
        "host memory",
        re.compile(
            r"ray\.exceptions\.OutOfMemoryError|due to the node running low on memory"
            r"|[1-9]\d* Workers \(tasks / actors\) killed due to memory pressure"
        ),
        "after a step",
        "A node has too little memory of its own: set {train}.cluster.offload: false, raise "
        "{train}.cluster.nodes (now {nodes}), or lower {train}.prompts_per_step",
    ),
    FailureCause(
        "lost node",
        re.compile(
            r"node was preempted|due to node preemption|its node has died|node was terminated"
            r"|node it was running on is dead or unavailable|Owner's node has crashed"
            r"|missing too many heartbeats|local raylet (died|failed)|local Raylet is dead"
            r"|^Raylet is terminated|Job supervisor actor died|Failed to connect to GCS"
            r"|GCS server is dead|failed to get job supervisor|^Unexpected error occurred: "
            r"|^the cluster lost it|^no answer for \d+ s|ends and writes nothing more: "
        ),
        "yes",
        "Nothing needs to be changed",
    ),
    FailureCause(
        "lost contact",
        collectives.BROKEN,
        "yes",
        "The processes of {accelerators} wait for each other. If it happens again, look at the "
        "nodes of the others, one of which was late or gone, and at the network between them",
        collectives.who_waited,
    ),
    FailureCause(
        "hung",
        re.compile(r"^stopped after \S+ s without progress"),
        "yes",
        "If its steps take that long, raise {train}.cluster.stall_minutes",
    ),
    FailureCause(
        "killed",
        re.compile(
            r"^exit status (-9|-15|137|143)\b|WorkerCrashedError|ActorDiedError"
            r"|died unexpectedly|killed by the OOM killer"
        ),
        "yes",
        "If a node's own memory was full, lower {train}.prompts_per_step or raise "
        "{train}.cluster.nodes (now {nodes})",
    ),
)


def judge(lines: Sequence[str], where: Mapping[str, object], *, stepped: bool) -> Diagnosis | None:
    """What is to be done about a failed attempt; None where its cause is not known.

    Args:
        lines: The last lines of its log, and Ray's word on it.
        where: The `circumstances`.
        stepped: Whether the run has made a step, in this attempt or before it.
    """
    for name, seen, again, advice, more in CAUSES:
        if found := [line for line in lines if seen.search(_plain(line))]:
            said = "; ".join(filter(None, (_plain(found[-1])[:300].rstrip("."), more(found))))
            message = f"{name}: {said}. {advice.format_map(where)}"
            return Diagnosis(name, message, again == "yes" or (again == "after a step" and stepped))
    return None


def _plain(line: str) -> str:
    """A line without colours, Ray's prefix, and what announces other lines."""
    bare = re.sub(r"^\([^)]*\)\s*", "", re.sub(r"\x1b\[[0-9;]*m", "", line)).strip()
    return bare.removesuffix(LEAD_IN)
