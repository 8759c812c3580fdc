"""Attempts at a training job, by real processes: killed, crowded, frozen, and what each leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import NoReturn

import psutil
import pytest

from pipeline.formats.files import folder_digests
from pipeline.ops.cluster import attempts
from pipeline.ops.cluster.attempts import JobAttempt, attempts_folder, train_once
from pipeline.ops.cluster.job_lines import OUTCOME, JobResult, Overtaken, TrainingSpec
from pipeline.train.contract import History, Outcome
from tests.alive import until
from tests.train.verl.verl_cells import cell

NOTHING = Outcome(history=History(), checkpoints={}, libraries={})
# An attempt at work: it asks before each line that it writes, as jobs do.
ATTEMPT = """
    import os, signal, sys, time
    from pathlib import Path
    from pipeline.ops.cluster.attempts import train_once
    from pipeline.ops.cluster.job_lines import TrainingSpec, work_off

    def train(attempt):
        for number in range(10**6):
            attempt.check()
            if sys.argv[2:] == ["pauses"] and number == 5:
                os.kill(os.getpid(), signal.SIGSTOP)  # between the question and the writing
            attempt.folder.mkdir(exist_ok=True)
            with (attempt.folder / "steps").open("a") as steps:
                steps.write(f"{number}\\n")
            print(f"wrote {number}", flush=True)
            time.sleep(0.05)

    work_off(lambda: train_once(TrainingSpec.read(Path(sys.argv[1]), "train"), train))
    """
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spec(tmp_path: Path) -> TrainingSpec:
    return TrainingSpec(
        key="a",
        cell=cell(),
        base="",
        made_by="base@nano",
        weights=str(tmp_path / "weights"),
        state=str(tmp_path / "state"),
    )


@pytest.fixture
def start(spec: TrainingSpec, tmp_path: Path) -> Iterator[Start]:
    """Begin an attempt in a process of its own, and wait until it has written some lines."""
    running: list[subprocess.Popen[str]] = []
    spec.write(tmp_path / "spec.json")

    def run(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", dedent(ATTEMPT), str(tmp_path / "spec.json"), *arguments]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert running[-1].stdout is not None
        assert any(line == "wrote 4\n" for line in running[-1].stdout)
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait()


def trained(attempt: JobAttempt) -> Outcome:
    (attempt.folder / "checkpoint").touch()
    return NOTHING


def never(attempt: JobAttempt) -> NoReturn:
    raise AssertionError("it was trained already")


class Ends(Exception):
    """Ends an attempt that is to leave what it has."""


def take_over(spec: TrainingSpec) -> tuple[Path, list[str]]:
    """Take over, write a line and end; return the folder, and the lines that were there."""
    found: list[Path] = []

    def train(attempt: JobAttempt) -> NoReturn:
        found.append(attempt.folder)
        with (attempt.folder / "steps").open("a") as steps:
            steps.write("by another\n")
        raise Ends

    with pytest.raises(Ends):
        train_once(spec, train)
    return found[0], (found[0] / "steps").read_text().splitlines()


def test_a_stored_result_is_returned_again_and_nothing_is_left(spec: TrainingSpec) -> None:
    state = Path(spec.state)
    digest = train_once(spec, trained)
    assert not attempts_folder(state).exists()
    assert Outcome.read(spec.kept.get(digest) / OUTCOME, "train@a") == NOTHING
    # Killed once its result was written: what it worked with is there yet.
    (attempts_folder(state) / "000001-dead").mkdir(parents=True)
    assert JobResult.read(state / "result.json", "train@a").digest == digest
    assert train_once(spec, never) == digest
    assert not attempts_folder(state).exists()


@pytest.mark.parametrize("cause", [RuntimeError("diverged"), KeyboardInterrupt("asked")], ids=str)
def test_an_attempt_that_was_overtaken_says_that(spec: TrainingSpec, cause: BaseException) -> None:
    def overtaken(attempt: JobAttempt) -> NoReturn:
        JobAttempt.take_over(attempt.root)
        raise cause

    with pytest.raises(Overtaken, match="its place was taken by 000002-"):
        train_once(spec, overtaken)
    assert not (Path(spec.state) / "result.json").exists()


def test_a_killed_attempt_is_taken_over_at_once(spec: TrainingSpec, start: Start) -> None:
    old = start()
    old.kill()  # not waited for: what is left of a process writes nothing either
    folder, lines = take_over(spec)
    assert folder.name.startswith("000002-")
    assert lines[:5] == ["0", "1", "2", "3", "4"] and lines[-1] == "by another"


def test_an_attempt_that_lives_is_waited_for(
    spec: TrainingSpec,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(attempts, "SAY_SECONDS", 0.5)
    old = start()
    said: list[str] = []

    def hear(kind: str, text: str) -> None:
        said.append(text)
        if len(said) == 2:  # it has been waited for longer than once
            old.terminate()

    monkeypatch.setattr(attempts, "say", hear)
    take_over(spec)
    assert said[0].startswith("waits for the previous attempt: ")
    assert f"is in use by process {old.pid} on " in said[0]


@pytest.mark.parametrize("pauses", [False, True], ids=["anywhere", "between asking and writing"])
def test_a_frozen_attempt_that_has_lost_its_lock_wakes_up_to_write_nothing(
    spec: TrainingSpec, start: Start, pauses: bool
) -> None:
    old = start(*(["pauses"] if pauses else []))
    if not pauses:
        old.send_signal(signal.SIGSTOP)
    assert until(lambda: psutil.Process(old.pid).status() == psutil.STATUS_STOPPED)
    state = Path(spec.state)
    (state / "attempts.lock").unlink()  # as a file server takes it from a machine that is away
    folder, _ = take_over(spec)
    written = folder_digests(folder)
    old.send_signal(signal.SIGCONT)
    out, _ = old.communicate(timeout=20)
    assert old.returncode == 1
    assert f"TOMRL_NOTE ends and writes nothing more: its place was taken by {folder.name}\n" in out
    assert folder_digests(folder) == written, "its bytes are its own"
    again, lines = take_over(spec)
    assert lines[-2:] == ["by another"] * 2
    assert [path.name for path in attempts_folder(state).iterdir()] == [again.name]
