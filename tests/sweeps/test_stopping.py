"""Limits on a real server of Prefect, and the states in which its runs end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Timer

import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.states import State

from flows.driver.commands import Commands
from flows.driver.drive import run_cell
from flows.driver.limits import Limit, found_limit, held, limit_of, most_taken
from flows.driver.work import Say
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.judge.alarm import Alarm
from tests.conftest import PROJECT
from tests.prefect_server import own_server


@pytest.fixture
def client(tmp_path: Path) -> Iterator[SyncPrefectClient]:
    with own_server(tmp_path) as found:
        yield found


def test_cells_take_no_more_than_a_limit_on_the_server(client: SyncPrefectClient) -> None:
    # A limit that others have set is theirs; one that is missing is made.
    large = expand(find_study(PROJECT, "tom-rl"))
    most = most_taken(large)
    gpu = limit_of(large, "tom-rl", None)
    other = limit_of(large, "another", most)
    assert [(each.name, each.size) for each in (gpu, other)] == [("gpu", most)] * 2
    assert client.read_global_concurrency_limit_by_name("gpu").limit == most
    needed = rf"gpu .*has {most} slots.*needs {most + 1}.*gcl update gpu --limit {most + 1}"
    with pytest.raises(UserError, match=needed):
        limit_of(large, "tom-rl", most + 1)

    # Who waits for a slot that another sweep holds stops waiting when it is stopped.
    with Commands() as commands, held(gpu, most, commands):
        others = Commands()
        Timer(0.5, others.stop).start()
        with held(gpu, 1, others):
            assert others.stopped
        assert client.read_global_concurrency_limit_by_name("gpu").active_slots == most

    # Who takes nothing of it does not wait.
    with Commands() as commands, held(gpu, most, commands), held(gpu, 0, commands):
        assert not commands.stopped

    # Who needs more than its sweep may take at a time takes all of it, and runs alone.
    own = found_limit(Limit("gpu-mini", 2), set_to=2)
    with Commands() as commands, held(own, 4, commands):
        found = client.read_global_concurrency_limit_by_name("gpu-mini")
        assert (found.limit, found.active_slots) == (2, 2)

    # A cell that takes up a shortcut ends in a state of its own.
    said = Alarm(7, "last", -0.5, 0.6, True, 40).describe()

    @flow
    def train() -> list[State]:
        lines = (f"warning: {said}", "train nano: 8/8 (9 s)")
        cells = [partial(_saying, lines), partial(_saying, lines[1:])]
        return [run_cell("nano", run, Commands(), own, 0, return_state=True) for run in cells]

    assert [(each.name, each.message) for each in train()] == [
        ("Alarm", f"warning: {said}"),
        ("Completed", None),
    ]


def _saying(lines: Sequence[str], say: Say) -> None:
    for line in lines:
        say(line)
