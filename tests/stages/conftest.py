"""What tests of stages share: stages run in this process, and take its signals over."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.train.update import Updater


@pytest.fixture(scope="module", autouse=True)
def own_signals() -> Iterator[None]:
    """The training stage takes SIGTERM and Ctrl-C over; give them back."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each update of a model."""
    taken, update = list[int](), Updater.update

    def counted(*given: Any) -> Any:
        taken.append(1)
        return update(*given)

    monkeypatch.setattr(Updater, "update", counted)
    return taken
