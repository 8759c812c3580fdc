"""Numbered pieces of work, spread over the workers of a Ray cluster by Ray Data."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

import ray
import ray.data
from ray.exceptions import RayError

from pipeline.base.errors import UserError

_PATIENCE = 10.0  # seconds


def over_ray(address: str, work: Callable[[int], Any], count: int) -> Iterator[Any]:
    """Yield what work makes of 0, 1, ... up to a count, in this order.

    Args:
        address: A running cluster, one of whose nodes this is: ``auto`` or HOST:PORT.
        work: Called on any node; called again with the same number if its worker is lost.

    Raises:
        UserError: If no cluster answers, or the work raises one.
    """
    try:
        if address != "auto":
            _refuse_silence(address)
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError, RayError) as error:
        raise UserError(
            f"--ray {address}: no Ray cluster answers ({' '.join(str(error).split())}); allowed: "
            "auto or HOST:PORT, on a node of the cluster. Start one with `ray start --head`; set "
            "RAY_AUTH_MODE=token for HOST:PORT of one that asks for its token"
        ) from None

    def made(row: dict[str, int]) -> dict[str, object]:
        try:
            return {"made": work(row["id"]), "error": ""}
        except UserError as error:
            return {"made": None, "error": str(error)}

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    try:
        with redirect_stdout(sys.stderr):  # where Ray tells of lost workers
            for row in ray.data.range(count, override_num_blocks=count).map(made).iter_rows():
                if row["error"]:
                    raise UserError(row["error"])
                yield row["made"]
    except RayError as error:
        raise UserError(f"--ray {address}: {str(error).strip().splitlines()[-1]}") from None
    finally:
        ray.shutdown()


def _refuse_silence(address: str) -> None:
    """Look whether anybody listens: Ray itself asks an address for many minutes."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
