"""How many accelerators of a node hold one replica of a model in vLLM."""

from __future__ import annotations

from pipeline.base.errors import UserError
from pipeline.train.accelerators import GIB

GPUS_PER_NODE = (1, 2, 4, 8)
_WEIGHTS = 40 * GIB  # on each, in bfloat16: leaves room for keys and values on 80 GB


def parallel_sizes(heads: int, key_values: int) -> list[int]:
    """The numbers of accelerators among which a model's heads divide evenly."""
    return [
        count
        for count in GPUS_PER_NODE
        if heads % count == 0 and (key_values % count == 0 or count % key_values == 0)
    ]


def replica_gpus(size: int, heads: int, key_values: int) -> int:
    """The fewest accelerators that hold a model.

    Args:
        size: Bytes of its weights in bfloat16.
        heads: Its attention heads.
        key_values: Its heads of keys and values.

    Raises:
        UserError: If the most among which its heads divide are too few.
    """
    sizes = parallel_sizes(heads, key_values)
    for count in sizes:
        if size <= count * _WEIGHTS:
            return count
    raise UserError(
        f"vLLM divides this model's {heads} heads among at most {sizes[-1]} accelerators, too few "
        f"for weights of {size / GIB:.1f} GiB: it takes {_WEIGHTS / GIB:g} GiB on each"
    )
