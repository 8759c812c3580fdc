"""The cluster that a study is planned for: pools of equal nodes, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pipeline.base.errors import UserError
from pipeline.config.reading import read_section
from pipeline.config.section import Key, Section
from pipeline.config.training import Accelerator

TERAFLOPS: dict[str, float] = {
    "l4": 121,
    "rtx-4090": 165,
    "a100-40": 312,
    "a100-80": 312,
    "h100": 989,
    "h200": 989,
    "cpu": 0.08,
}
"""Dense peak of an accelerator in bfloat16 (NVIDIA's data sheets, SXM, without sparsity); of
``cpu`` what a core of a shared cloud machine does in single precision."""


class Pool(Section):
    """Nodes that are all alike.

    Attributes:
        accelerator: What they have; ``cpu`` is a core, for what runs on a laptop.
        memory: GiB of one accelerator, where its name stands for another.
        nodes: How many nodes.
        gpus: Accelerators in each.
        teraflops: Peak of one accelerator, where it differs from its data sheet.
        price: Dollars for an accelerator and hour.
    """

    accelerator: Accelerator | Literal["cpu"]
    memory: float | None = Field(default=None, gt=0, le=10_000)
    nodes: Annotated[int, Field(ge=1, le=10_000)]
    gpus: Annotated[int, Field(ge=1, le=1024)]
    teraflops: float | None = Field(default=None, gt=0, le=1_000_000)
    price: float = Field(ge=0, le=10_000)

    @property
    def accelerators(self) -> int:
        return self.nodes * self.gpus

    @property
    def speed(self) -> float:
        """The peak of one accelerator in floating-point operations per second."""
        return 1e12 * (self.teraflops or TERAFLOPS[self.accelerator])


class ClusterFile(Section):
    """A cluster.

    Attributes:
        pools: Its pools by name.
        write_price: Dollars for a GB written to the folder that its nodes share, as of EFS.
    """

    pools: dict[Key, Pool] = Field(min_length=1)
    write_price: float = Field(default=0.0, ge=0, le=1000)

    def describe(self) -> str:
        """It in words, such as ``1 x 4 a100-80``."""
        return ", ".join(f"{p.nodes} x {p.gpus} {p.accelerator}" for p in self.pools.values())


ASSUMED = ClusterFile(pools={"a100": Pool(accelerator="a100-80", nodes=1, gpus=4, price=2.0)})
"""Without a file: the node that Study 1 used; two dollars an hour is an assumption."""

LAPTOP = ClusterFile(pools={"laptop": Pool(accelerator="cpu", nodes=1, gpus=2, price=0.0)})
"""Without a file, for studies that run on a laptop: two cores."""


def read_cluster(path: Path) -> ClusterFile:
    """Read a cluster file.

    Raises:
        UserError: If there is none; else with every mistake in it: line, field, value found,
            values allowed.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist; docs/clusters/ has an example of a cluster file")
    return read_section(path, ClusterFile)
