"""A rank's part of a checkpoint arrives while it trains on, or is on its way for good."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pipeline.formats.files import write_json
from pipeline.ops.cluster.job import NODE_DISK
from pipeline.ops.verl.checkpoints import whole_steps
from pipeline.ops.verl.layout import LAST_STEP, PROBE, State

pytestmark = pytest.mark.verl
Save = Callable[[int], None]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, in a rank whose node has a disk and which has four steps to make."""
    found = import_module("pipeline.ops.verl.node_disk")
    (tmp_path / "disk").mkdir()
    monkeypatch.setenv(NODE_DISK, str(tmp_path / "disk"))
    monkeypatch.setenv(LAST_STEP, "4")
    return found


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "shared", "1-a")


@pytest.fixture
def save(module: ModuleType, state: State, monkeypatch: pytest.MonkeyPatch) -> Save:
    """Save a step as verl does: a rank writes its part, and then the trainer what it scored."""
    manager: Any = SimpleNamespace(rank=0)

    def write(_: Any, local_path: str, *rest: Any) -> None:
        Path(local_path).mkdir(parents=True)
        (Path(local_path) / "model.pt").write_text(str(rest[1]))

    monkeypatch.setattr(module, "_write", write)

    def saved(step: int) -> None:
        module.save(manager, str(state.step(step) / "actor"), None, step)
        write_json(state.step(step) / PROBE, {})

    return saved


def test_training_goes_on_while_a_checkpoint_arrives(
    module: ModuleType, state: State, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, copy = Event(), shutil.copytree
    monkeypatch.setattr(shutil, "copytree", lambda *a, **k: go.wait(60) and copy(*a, **k))
    save(2)
    assert whole_steps(state) == [], "its shards are on the node alone"
    go.set()
    save(3)
    assert 2 in whole_steps(state)
    save(4)
    assert whole_steps(state) == [2, 3, 4], "after the last step the rank ends"
    assert [(state.step(n) / "actor/model.pt").read_text() for n in (2, 3, 4)] == ["2", "3", "4"]
    assert not list(state.root.parent.glob("disk/*/*")), "nothing is left on the node"


def test_what_cannot_be_copied_ends_the_training_and_counts_for_nothing(
    state: State, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", _full)
        save(2)
        with pytest.raises(OSError, match="No space left on device"):
            save(3)
    assert whole_steps(state) == []


def _full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")
