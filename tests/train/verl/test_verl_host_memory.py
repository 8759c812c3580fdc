"""A job that has grown too far is told before the kernel ends it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pipeline.ops.verl import host_memory as watching
from pipeline.ops.verl.budgets import save_interval
from pipeline.ops.verl.failures import CAUSES
from pipeline.ops.verl.host_memory import (
    CGROUP_VARIABLE,
    HostMemory,
    HostMemoryFull,
    StepWatch,
    group_memory,
    host_memory,
    watch,
)
from tests.train.verl.verl_cells import recipe

GIB = 2**30


def group(folder: Path, used: float, limit: str, version: int = 2, cached: float = 0) -> Path:
    """Write what the kernel shows of a control group."""
    names = {
        1: ("memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"),
        2: ("memory.current", "memory.max", "inactive_file"),
    }[version]
    folder.mkdir(exist_ok=True)
    (folder / names[0]).write_text(f"{round(used * GIB)}\n")
    (folder / names[1]).write_text(f"{limit}\n")
    (folder / "memory.stat").write_text(f"anon 1\n{names[2]} {round(cached * GIB)}\n")
    return folder


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_container_holds_without_what_can_be_dropped(tmp_path: Path, version: int) -> None:
    folder = group(tmp_path, 3, str(4 * GIB), version, cached=1)
    assert group_memory(folder) == (2 * GIB, 4 * GIB)


def test_a_container_without_a_limit_has_none(tmp_path: Path) -> None:
    assert group_memory(group(tmp_path, 3, "max")) is None
    assert group_memory(tmp_path / "none") is None


def test_the_fuller_of_machine_and_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CGROUP_VARIABLE, str(tmp_path / "none"))
    machine = host_memory()
    assert machine.total == psutil.virtual_memory().total and 0 < machine.share < 1
    tight = group(tmp_path / "tight", 0.99, str(GIB))
    monkeypatch.setenv(CGROUP_VARIABLE, str(tight))
    assert host_memory().share == pytest.approx(0.99)
    # A limit above the machine's memory is none.
    loose = group(tmp_path / "loose", 0.5, str(2 * machine.total))
    monkeypatch.setenv(CGROUP_VARIABLE, str(loose))
    assert host_memory().total == machine.total


def test_this_process_has_a_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CGROUP_VARIABLE, raising=False)
    assert 0 < host_memory().share <= 1


def at(share: float) -> HostMemory:
    return HostMemory("node", round(share * 1000), 1000)


def test_a_job_ends_that_has_grown_above_the_limit_and_no_other() -> None:
    def ends(*shares: float) -> bool:
        watched = StepWatch(0.9, Gauges(*shares))
        return [watched.after(step)[1] for step, _ in enumerate(shares)][-1]

    assert not ends(0.5, 0.9) and ends(0.5, 0.91)
    assert not ends(0.95, 0.99), "another attempt would begin there too"


class Gauges:
    """Shows one memory after the other."""

    def __init__(self, *shares: float) -> None:
        self._shares = iter(shares)

    def fullest(self) -> HostMemory:
        return at(next(self._shares))


class Trainer:
    """A loop with the calls that verl's makes, in its order."""

    def __init__(self) -> None:
        self.global_steps, self.saved, self.logged = 0, [0], dict[int, dict[str, float]]()
        self.resource_pool_manager = SimpleNamespace(resource_pool_dict={})
        self.config = SimpleNamespace(trainer=SimpleNamespace(save_freq=4))

    def on_step_begin(self) -> None:
        pass

    def on_step_end(self) -> None:
        pass

    def _save_checkpoint(self) -> None:
        self.saved.append(self.global_steps)

    def fit(self, steps: int) -> None:
        for self.global_steps in range(1, steps + 1):
            self.on_step_begin()
            if self.global_steps % self.config.trainer.save_freq == 0:
                self._save_checkpoint()
            self.on_step_end()
            self.logged[self.global_steps] = self.__dict__.pop("_pending_sync_metrics")


def watched(monkeypatch: pytest.MonkeyPatch, *shares: float) -> Trainer:
    """Train as many steps as there are shares of memory, watched at 0.9."""
    monkeypatch.setattr(watching, "Gauges", lambda nodes: Gauges(*shares))
    trainer = Trainer()
    watch(trainer, 0.9)
    return trainer


def test_it_saves_and_ends_before_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = watched(monkeypatch, 0.5, 0.6, 0.95, 0.95)
    with pytest.raises(HostMemoryFull) as ended:
        trainer.fit(4)
    assert trainer.saved == [0, 3] and list(trainer.logged) == [1, 2, 3]
    assert trainer.logged[3]["tomrl_timing/host_memory_share"] == 0.95
    cause = next(each for each in CAUSES if each.seen.search(str(ended.value)))
    assert (cause.name, cause.again) == ("host memory growth", "yes")


def test_a_step_that_verl_saved_is_not_saved_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = watched(monkeypatch, 0.5, 0.5, 0.5, 0.95, 0.95)
    with pytest.raises(HostMemoryFull):
        trainer.fit(5)
    assert trainer.saved == [0, 4]


def test_nothing_ends_while_there_is_room_or_nothing_left_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = watched(monkeypatch, 0.5, 0.89, 0.9, 0.95)
    trainer.fit(4)
    assert trainer.saved == [0, 4] and list(trainer.logged) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("saves", "validates", "interval"), [(50, 10, 50), (50, 50, 50), (20, 50, 50), (45, 10, 50)]
)
def test_checkpoints_are_made_at_the_published_interval_where_they_can_be_the_best(
    saves: int, validates: int, interval: int
) -> None:
    assert save_interval(recipe(save_every=saves, validate_every=validates)) == interval
