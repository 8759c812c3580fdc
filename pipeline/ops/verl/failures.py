"""Why a job failed, whether another attempt may help, and what to change where it cannot.

`CAUSES` is the whole of it: the first cause that the log or Ray's word on the job shows is the one.
What none of them fits is tried again. `docs/cluster.md` has the same table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.ops.cluster.job import LEAD_IN, Diagnosis
from pipeline.ops.verl import collectives
from pipeline.ops.verl.placement import Placement
from pipeline.train.accelerators import GIB

Again = Literal["yes", "after a step", "no"]


@dataclass(frozen=True)
class Cause:
    """A way to fail.

    Attributes:
        name: What happened, in a few words.
        seen: What a line of the log says, or Ray's word on the job.
        again: Whether another attempt may help: always, once a step was made, or never.
        change: What to do about it; may name the fields of `Circumstances`.
        more: What says more, from the lines that fit.
    """

    name: str
    seen: re.Pattern[str]
    again: Again
    change: str
    more: tuple[Callable[[Sequence[str]], str], ...] = ()


@dataclass(frozen=True)
class Circumstances:
    """What the advice on a failure speaks of.

    Attributes:
        train: Where the cell's settings stand in params.yaml.
        accelerators: What it trains on, for people.
        gpus: Accelerators per node.
        nodes: Nodes.
        planned: What was planned that an accelerator would hold, for people.
        state: The state folder.
    """

    train: str
    accelerators: str
    gpus: int
    nodes: int
    planned: str
    state: str

    @classmethod
    def of(cls, key: str, placement: Placement, state: str) -> Circumstances:
        """Return those of a cell."""
        return cls(
            f"cells.{key}.train",
            placement.describe(),
            placement.gpus,
            placement.nodes,
            _planned(placement),
            state,
        )


def _planned(placement: Placement) -> str:
    phases = ", ".join(f"{held / GIB:.1f} in {phase}" for phase, held in placement.peaks.items())
    capacity = placement.capacity
    return f"{phases} GiB" if capacity is None else f"{phases}, of {capacity / GIB:.1f} GiB"


_NOTHING = "Nothing needs to be changed"
# Texts of torch, vLLM 0.24, verl 0.9.1 and Ray 2.60 (its Python sources, and the strings of its
# gcs_server, raylet and _raylet.so). What is more special stands before what is more general.
CAUSES = (
    Cause(
        "disk full",
        re.compile(
            r"No space left on device|Disk quota exceeded|File too large|OutOfDiskError"
            r"|PytorchStreamWriter failed|unexpected pos \d+ vs \d+"
        ),
        "no",
        "There is no room to write a checkpoint in {state}, or on a node; the last whole one is "
        "kept. Free some disk space and run it again: it goes on from there",
    ),
    Cause(
        "not a finite number",
        re.compile(r"step \d+: \w+ is (nan|-?inf), not a finite number"),
        "no",
        "Lower {train}.learning_rate, or look at the reward of the responses",
    ),
    Cause(
        "bad configuration",
        re.compile(r"(omegaconf|hydra)\.errors\.\w+|Could not override '|is not in struct"),
        "no",
        "Mend {train}.cluster.overrides; `tomrl train show` checks all settings",
    ),
    Cause(
        "wrong accelerators",
        re.compile(
            r"no kernel image is available for execution|only supports Ampere GPUs or newer"
            r"|Bfloat16 is only supported on GPUs|driver version is insufficient"
            r"|NVIDIA driver on your system is too old"
        ),
        "no",
        "Set {train}.cluster.accelerator (now {accelerators}) to what the cluster has, and "
        "{train}.precision to what that computes in",
    ),
    Cause(
        "too few accelerators",
        # The cluster has enough of them in all, or the job would not have been submitted.
        re.compile(r"Total available GPUs \S+ is less than total desired GPUs \S+"),
        "yes",
        "Lower {train}.cluster.gpus (now {gpus}), or wait until others have finished",
    ),
    Cause(
        "accelerator memory",
        re.compile(
            r"CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory"
            r"|Cuda failure (\d+ )?'out of memory'"
            r"|No available memory for the cache blocks"
            r"|is less than desired GPU memory utilization"
            r"|estimated maximum model length|larger than the available KV cache memory"
        ),
        "after a step",
        "The accelerators ({accelerators}) have too little memory; planned of each were {planned}. "
        "Raise {train}.cluster.gpus (now {gpus}), set {train}.cluster.offload: true, or lower "
        "{train}.max_new_tokens",
    ),
    Cause(
        "host memory growth",
        re.compile(r"host memory of \S+ has grown to \S+ of"),
        "yes",
        "Another attempt goes on from the step that was saved, without what the processes leaked. "
        "If it comes soon again, raise {train}.cluster.nodes (now {nodes}), or "
        "{train}.cluster.host_memory_share where nothing else runs on the nodes",
    ),
    Cause(
        "host memory",
        re.compile(
            r"ray\.exceptions\.OutOfMemoryError|due to the node running low on memory"
            r"|[1-9]\d* Workers \(tasks / actors\) killed due to memory pressure"
        ),
        "after a step",
        "A node has too little memory of its own: set {train}.cluster.offload: false, raise "
        "{train}.cluster.nodes (now {nodes}), or lower {train}.prompts_per_step",
    ),
    Cause(
        "preemption",
        re.compile(r"node was preempted|due to node preemption"),
        "yes",
        _NOTHING,
    ),
    Cause(
        "lost node",
        re.compile(
            r"its node has died|node was terminated|node it was running on is dead or unavailable"
            r"|Owner's node has crashed|missing too many heartbeats|local raylet (died|failed)"
            r"|local Raylet is dead|^Raylet is terminated|Job supervisor actor died"
        ),
        "yes",
        _NOTHING,
    ),
    Cause(
        "lost head",
        re.compile(
            r"Failed to connect to GCS|GCS server is dead|failed to get job supervisor"
            r"|^Unexpected error occurred: |^the cluster lost it|^no answer for \d+ s"
        ),
        "yes",
        _NOTHING,
    ),
    Cause(
        "lost lease",
        re.compile(r"ends and writes nothing more: "),
        "yes",
        _NOTHING,
    ),
    Cause(
        "lost contact",
        collectives.BROKEN,
        "yes",
        "The processes of {accelerators} wait for each other. If it comes again, look at the nodes "
        "of the others, one of which was late or gone, and at the network between them",
        (collectives.who_waited,),
    ),
    Cause(
        "hung",
        re.compile(r"^stopped after \S+ s without progress"),
        "yes",
        "If its steps take that long, raise {train}.cluster.stall_minutes",
    ),
    Cause(
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


def judge(lines: Sequence[str], where: Circumstances, *, stepped: bool) -> Diagnosis | None:
    """Return what is to be done about a failed attempt; None where its cause is not known.

    Args:
        lines: The last lines of its log, and Ray's word on it.
        where: What the advice speaks of.
        stepped: Whether the run has made a step, in this attempt or before it.
    """
    for cause in CAUSES:
        found = [line for line in lines if cause.seen.search(_plain(line))]
        if found:
            again = cause.again == "yes" or (cause.again == "after a step" and stepped)
            said = [_plain(found[-1])[:300].rstrip("."), *(more(found) for more in cause.more)]
            change = cause.change.format_map(vars(where))
            return Diagnosis(cause.name, f"{cause.name}: {'; '.join(said)}. {change}", again)
    return None


def _plain(line: str) -> str:
    """Return a line without colours, Ray's prefix, and what announces other lines."""
    bare = re.sub(r"^\([^)]*\)\s*", "", re.sub(r"\x1b\[[0-9;]*m", "", line)).strip()
    return bare.removesuffix(LEAD_IN)
