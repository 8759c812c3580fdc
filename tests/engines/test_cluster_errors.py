"""A cluster that does not fit: one clear error from the stage, before training is submitted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.base.ports import free_ports
from pipeline.ops.cluster.client import Address
from pipeline.ops.cluster.head import Offer, private_head
from tests.conftest import type_command
from tests.engines.conftest import GRPO, edit_params, own_checkout

STAGE = ("python", "-m", "pipeline.stages.train", GRPO)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Address]:
    """A head with two accelerators by name, whose environment lacks what verl needs."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    with private_head(Path(sys.executable), kept, Offer(2, 22)) as address:
        yield address


@pytest.fixture(scope="module")
def ready(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_checkout(study, tmp_path_factory.mktemp("errors") / "checkout")


def refused(checkout: Path, status: int = 2, **extra: str) -> str:
    """Run the stage, which must exit so with one message; return the message."""
    home = checkout.parent
    done = type_command(checkout, home, *STAGE, HOME=str(home), **extra)
    assert done.returncode == status, done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and "Traceback" not in done.stderr, done.stderr
    return errors[0]


def test_a_wrong_address(ready: Path) -> None:
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    message = refused(ready, 1, RAY_ADDRESS=address)
    assert f"RAY_ADDRESS={address}: no Ray dashboard answers there" in message


def test_too_few_accelerators(study: Path, cluster: Address, tmp_path: Path) -> None:
    checkout = own_checkout(study, tmp_path / "checkout")
    edit_params(checkout, GRPO, gpus=4)
    assert cluster.token
    message = refused(checkout, RAY_ADDRESS=cluster.url, RAY_AUTH_TOKEN=cluster.token)
    assert "4" in message and "2" in message and "train.cluster.gpus" in message, message
    assert cluster.token not in message


def test_an_environment_without_what_verl_needs(ready: Path, cluster: Address) -> None:
    assert cluster.token
    message = refused(ready, RAY_ADDRESS=cluster.url, RAY_AUTH_TOKEN=cluster.token)
    assert "transfer_queue" in message, message
