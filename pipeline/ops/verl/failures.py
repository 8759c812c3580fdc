"""Why a job failed, whether another attempt may help, and what to change where it cannot.

The first of `CAUSES` that the log or Ray's word on the job shows is the one; what none of them fits
is tried again. `docs/cluster.md` has the same table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pipeline.ops.cluster.job import LEAD_IN, Diagnosis
from pipeline.ops.verl.placement import Placement
from pipeline.train.accelerators import GIB


class FailureCause(NamedTuple):
    """A way to fail.

    Attributes:
        name: What happened, in a few words.
        seen: What a line of the log says, or Ray's word on the job.
        again: Whether another attempt may help: always, once a step was made, or never.
        advice: What to do about it; may name the fields of `circumstances`.
    """

    name: str
    seen: re.Pattern[str]
    again: Literal["yes", "after a step", "no"]
    advice: str


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
        "unfit node",
        re.compile(
            r"driver version is insufficient|NVIDIA driver on your system is too old"
            r"|Could not find nvcc|nvcc: (command )?not found|Python\.h: No such file"
            r"|Failed to find C compiler|ninja: (command )?not found"
            r"|no kernel image is available for execution|only supports Ampere GPUs or newer"
            r"|Bfloat16 is only supported on GPUs"
        ),
        "no",
        "`tomrl doctor --gpu` shows the nodes' driver (580 or newer), compiler and headers; set "
        "{train}.cluster.accelerator (now {accelerators}) to what the cluster has, and "
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
        re.compile(
            r"Watchdog caught collective operation timeout|due to a collective timeout"
            r"|ProcessGroupNCCL watchdog hang|NCCL error|nccl(Remote|System|Internal)Error"
        ),
        "yes",
        "The processes of {accelerators} wait for each other. If it happens again, look at the "
        "nodes of the log's lines, one of which was late or gone, and at the network between them",
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
    for name, seen, again, advice in CAUSES:
        if found := [plain for line in lines if seen.search(plain := _plain(line))]:
            said = found[-1][:300].rstrip(".")
            message = f"{name}: {said}. {advice.format_map(where)}"
            return Diagnosis(name, message, again == "yes" or (again == "after a step" and stepped))
    return None


def _plain(line: str) -> str:
    """A line without colours, Ray's prefix, and what announces other lines."""
    bare = re.sub(r"^\([^)]*\)\s*", "", re.sub(r"\x1b\[[0-9;]*m", "", line)).strip()
    return bare.removesuffix(LEAD_IN)
