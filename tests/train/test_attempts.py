"""An attempt at a training job: what it leaves, and what it says when it ends otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from pipeline.ops.cluster.attempts import LeasedAttempt, attempts_folder, train_once
from pipeline.ops.cluster.job_lines import OUTCOME, JobResult, TrainingSpec
from pipeline.ops.cluster.lease import Holder, LeaseLost
from pipeline.train.contract import History, Outcome
from tests.train.verl.verl_cells import cell

NOTHING = Outcome(history=History(), checkpoints={}, libraries={})


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


def trained(attempt: LeasedAttempt) -> Outcome:
    (attempt.folder / "checkpoint").touch()
    return NOTHING


def never(attempt: LeasedAttempt) -> NoReturn:
    raise AssertionError("it was trained already")


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
def test_what_ended_an_attempt_is_said_though_its_lease_cannot_be_read(
    spec: TrainingSpec, cause: BaseException
) -> None:
    def failing(attempt: LeasedAttempt) -> NoReturn:
        attempt.lease.path.unlink()
        attempt.lease.path.mkdir()  # reading it fails, as on a file system that is away
        raise cause

    with pytest.raises(type(cause), match=str(cause)):
        train_once(spec, failing)


@pytest.mark.parametrize("cause", [RuntimeError("diverged"), KeyboardInterrupt("asked")], ids=str)
def test_an_attempt_that_was_overtaken_says_that(spec: TrainingSpec, cause: BaseException) -> None:
    def overtaken(attempt: LeasedAttempt) -> NoReturn:
        other = Holder.here("raysubmit_2").model_dump_json()
        (attempt.lease.folder / f"{attempt.lease.number + 1:06d}.json").write_text(other)
        raise cause

    with pytest.raises(LeaseLost, match="was taken over by job raysubmit_2"):
        train_once(spec, overtaken)
    assert not (Path(spec.state) / "result.json").exists()
