"""Cells that verl trains on two ranks, from ``dvc repro`` and ``tomrl run`` to the report.

One checkout is taken through the whole chain; every test looks at another side of it.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sqlite3
from pathlib import Path
from typing import Any

import psutil
import pytest
from safetensors.torch import load_file

from pipeline.formats.files import read_json, read_lines
from pipeline.model.weights import load_model
from pipeline.ops.cluster.job import NODE_DISK
from pipeline.reward.presets import load_preset
from pipeline.train import drift
from pipeline.train.accuracy import GreedyAccuracy
from pipeline.train.data import load_rows
from pipeline.train.drift import find_drift
from pipeline.train.rollout import Judge
from tests.conftest import ended_well
from tests.engines.conftest import (
    COLUMNS,
    GRPO,
    REINFORCE,
    SFT,
    SFT_STEPS,
    STEPS,
    Command,
    Start,
    kill,
    own_checkout,
    saved_steps,
)
from tests.train.regraded import check_kept

pytestmark = pytest.mark.chain
DRIFT = {
    *("rollout_probs_diff_mean", "rollout_probs_diff_max", "rollout_probs_diff_std"),
    *("rollout_probs_correlation", "rollout_kl"),
}
VERIFIED = r"step (\d+) merged and kept: log-probabilities within"
WATCHED = {
    *("rollout_seconds", "old_log_prob_seconds", "reference_seconds", "actor_seconds"),
    *("weights_seconds", "tokens_per_second", "mfu", "peak_memory_bytes"),
    "reserved_memory_bytes",
}


@pytest.fixture(scope="module")
def grpo(study: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A checkout whose GRPO cell was trained, and what was printed.

    Its checkpoints went over a disk of their node, as those of the imitating cell; those of the
    third cell did not.
    """
    checkout = own_checkout(study, tmp_path_factory.mktemp("chain") / "a folder with spaces")
    command = ("dvc", "repro", f"train@{GRPO}")
    done = ended_well(checkout, *command, **node_disk(checkout))
    return checkout, done.stdout


def node_disk(checkout: Path) -> dict[str, str]:
    """The variable that names a disk of the nodes."""
    folder = checkout.parent / "a disk"
    folder.mkdir(exist_ok=True)
    return {NODE_DISK: str(folder)}


@pytest.fixture(scope="module")
def imitated(grpo: tuple[Path, str], start: Start) -> tuple[Path, str]:
    """The same checkout with the imitating cell, which was cancelled once in mid-training."""
    checkout = grpo[0]
    command = start(checkout, "python", "-m", "pipeline.stages.train", SFT, **node_disk(checkout))
    # Its steps are shorter than the time in which the job sees that they were logged.
    command.wait_until(lambda: max(saved_steps(checkout), default=0) >= SFT_STEPS // 3)
    assert command.named("gcs_server"), "a private head runs"
    command.named("pipeline.stages.train")[0].send_signal(signal.SIGTERM)
    assert command.wait(60) in (130, 143)
    assert "run it again to go on" in command.output
    _, alive = psutil.wait_procs(command.processes(), timeout=15)
    assert alive == [], "neither a process nor Ray's head"
    assert not list((checkout / "runs/mini" / SFT).glob("train/*"))
    repro = ("dvc", "repro", f"train@{SFT}")
    again = ended_well(checkout, *repro, **node_disk(checkout))
    return checkout, command.output + again.stdout


def kill_job(command: Command, checkout: Path) -> int:
    """Kill the job of a command and wait until its next attempt has ended well.

    Returns:
        The last step that was saved before.
    """
    step = saved_steps(checkout)[-1]
    jobs = [each for each in command.named("-m pipeline.ops.verl.job") if _is_python(each)]
    assert jobs
    kill(jobs)
    assert command.wait() == 0, command.output
    return step


def _is_python(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error, IndexError):  # it may just have ended
        return "python" in Path(process.cmdline()[0]).name
    return False


@pytest.fixture(scope="module")
def whole(imitated: tuple[Path, str]) -> tuple[Path, str]:
    """The same checkout after ``tomrl run`` has run what was left, up to the report."""
    checkout = imitated[0]
    done = ended_well(checkout, "tomrl", "run", "mini")
    return checkout, done.stdout + done.stderr


def curve(checkout: Path, cell: str) -> list[dict[str, Any]]:
    return read_lines(checkout / "runs/mini" / cell / "train" / "metrics.jsonl")


def manifest(checkout: Path, cell: str) -> dict[str, Any]:
    content: dict[str, Any] = read_json(checkout / "runs/mini" / cell / "train/checkpoints.json")
    return content


def test_every_step_has_the_local_trainers_metrics(grpo: tuple[Path, str]) -> None:
    rows = curve(grpo[0], GRPO)
    assert [row["step"] for row in rows] == list(range(STEPS + 1))
    assert set(rows[0]) == {"step", "validation_accuracy"}
    expected = {
        *("reward_mean", "reward_std", "format_reward_mean", "answer_reward_mean"),
        *("accuracy", "format_rate", "length_mean", "length_median", "length_p95"),
        *(
            "unfinished_share",
            "no_signal_share",
            "distinct_share",
            "loss",
            "kl",
            "entropy",
            "clip_share",
        ),
        *("gradient_norm", "learning_rate", "validation_accuracy"),
    }
    expected |= DRIFT
    for row in rows[1:]:
        assert set(row) == {"step"} | expected
        assert 0 <= row["accuracy"] <= row["format_rate"] <= 1
        parts = row["format_reward_mean"] + row["answer_reward_mean"]
        assert row["reward_mean"] == pytest.approx(parts, abs=1e-6)
        assert 1 <= row["length_mean"] <= 24
        assert row["kl"] >= 0
    assert any(row["gradient_norm"] > 0 for row in rows[1:])
    timing = read_lines(grpo[0] / "logs/mini" / GRPO / "train/timing.jsonl")
    assert [row["step"] for row in timing] == [row["step"] for row in rows]
    assert all(row["seconds"] > 0 for row in timing[1:])
    assert all(set(row) >= WATCHED for row in timing[1:])


def test_accuracy_is_the_local_trainers(grpo: tuple[Path, str]) -> None:
    checkout, rows = grpo[0], curve(grpo[0], GRPO)
    base = read_json(checkout / "runs/mini/base/nano/checkpoints.json")["checkpoints"]["base"]
    last, weights = manifest(checkout, GRPO)["checkpoints"]["last"], checkout / "weights/mini"
    before, after = weights / "base/nano" / base["digest"], weights / GRPO / last["digest"]
    for step, model in ((0, before), (STEPS, after)):
        assert accuracy(checkout, model) == rows[step]["validation_accuracy"], step


def test_sampler_and_trainer_are_compared_where_the_report_looks(grpo: tuple[Path, str]) -> None:
    rows = curve(grpo[0], GRPO)[1:]
    # Both compute in float32 here, the same weights with the same code.
    assert all(0 <= row[drift.DIFFERENCE] < drift.LIMIT / 10 for row in rows)
    assert all(abs(row["rollout_kl"]) < 1e-3 for row in rows)
    assert find_drift(rows) is None


def test_the_manifest_names_the_best_and_the_last_step(grpo: tuple[Path, str]) -> None:
    content, rows = manifest(grpo[0], GRPO), curve(grpo[0], GRPO)
    best, last = content["checkpoints"]["best"], content["checkpoints"]["last"]
    highest = max(row["validation_accuracy"] for row in rows[1:])
    earliest = next(row for row in rows[1:] if row["validation_accuracy"] == highest)
    assert (best["step"], best["validation_accuracy"]) == (earliest["step"], highest)
    assert last["step"] == STEPS
    assert content["use"] == "best" and content["model"] == "nano"


def test_every_saved_step_is_kept(grpo: tuple[Path, str]) -> None:
    assert kept_steps(grpo[0], GRPO) == list(range(1, STEPS + 1))


def kept_steps(checkout: Path, cell: str) -> list[int]:
    """The steps that a manifest keeps, whose weights are there."""
    content, weights = manifest(checkout, cell), checkout / "weights/mini" / cell
    assert all((weights / each["digest"]).is_dir() for each in content["kept"])
    assert content["kept"][-1]["digest"] == content["checkpoints"]["last"]["digest"]
    return [each["step"] for each in content["kept"]]


def test_the_stored_weights_are_float32_in_hugging_face_layout(grpo: tuple[Path, str]) -> None:
    checkout, shown = grpo
    weights = checkout / "weights/mini"
    (base,) = (weights / "base/nano").iterdir()
    last = weights / GRPO / manifest(checkout, GRPO)["checkpoints"]["last"]["digest"]
    assert {path.name for path in last.iterdir()} == {path.name for path in base.iterdir()}
    before, after = load_file(base / "model.safetensors"), load_file(last / "model.safetensors")
    assert before.keys() == after.keys()
    assert {tensor.dtype for tensor in after.values()} == {before[next(iter(before))].dtype}
    assert any((before[name] != after[name]).any() for name in before)
    model, tokenizer = load_model(last)
    assert len(tokenizer) <= model.config.vocab_size
    assert shown.count("log-probabilities within") >= 1


def test_rollouts_of_every_step_are_kept(grpo: tuple[Path, str]) -> None:
    train = grpo[0] / "runs/mini" / GRPO / "train"
    check_kept(train, grpo[0] / "data/mini/combos/hi/train.parquet", STEPS, each=16, group=4)


def test_nothing_is_left_of_the_working_state(imitated: tuple[Path, str]) -> None:
    assert not list((imitated[0] / "work").glob("*/attempts"))
    runs = list((imitated[0].parent / "a disk").iterdir())
    assert len(runs) == 2 and not any(path for run in runs for path in run.iterdir())


def test_an_imitating_cell_has_what_verl_measures(imitated: tuple[Path, str]) -> None:
    rows = curve(imitated[0], SFT)
    assert [row["step"] for row in rows] == list(range(SFT_STEPS + 1))
    assert set(rows[0]) == {"step"}
    for row in rows[1:]:
        assert set(row) == {"step", "loss", "gradient_norm", "learning_rate"}
        assert row["gradient_norm"] > 0
    assert len({row["loss"] for row in rows[1:]}) == SFT_STEPS
    assert rows[-1]["loss"] < rows[1]["loss"]


def test_a_cancelled_imitation_leaves_nothing_and_goes_on(
    imitated: tuple[Path, str],
) -> None:
    checkout, shown = imitated
    _, _, after = shown.rpartition("goes on after step ")
    done = int(after.split()[0])
    assert 0 < done < SFT_STEPS
    stored = manifest(checkout, SFT)["checkpoints"]
    assert stored["best"] == stored["last"] and stored["last"]["step"] == SFT_STEPS
    assert kept_steps(checkout, SFT) == list(range(1, SFT_STEPS + 1))
    # What a job prints just before it is cancelled may be lost: these are of the one that ended.
    verified = {int(step) for step in re.findall(VERIFIED, after)}
    assert verified >= set(range(done + 1, SFT_STEPS + 1))


def accuracy(checkout: Path, folder: Path) -> float:
    """Measure a stored model on the validation prompts, as the local trainer does."""
    model, tokenizer = load_model(folder)
    path = checkout / "data/mini/combos/hi/validation.parquet"
    judge = Judge(tokenizer, load_preset("rlvr"))
    rows = load_rows(path, tokenizer, 10**6).rows
    return GreedyAccuracy(judge, 24, "float32")(model, rows).right


def test_the_report_has_a_row_of_every_cell_and_task(whole: tuple[Path, str]) -> None:
    rows = read_json(whole[0] / "reports/mini/results.json")["rows"]
    found = {(row["cell"], row["task"]) for row in rows}
    tasks = ("hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic")
    assert found == {(cell, task) for cell in (GRPO, REINFORCE, SFT) for task in tasks}
    for cell in (GRPO, REINFORCE, SFT):
        grades = read_json(whole[0] / "runs/mini" / cell / "evaluate/metrics.json")["tasks"]
        for row in rows:
            if row["cell"] == cell and row["task"] in grades:
                assert row["trained"] == grades[row["task"]]["accuracy"]


def test_the_report_has_a_curve_of_every_cell_and_column(whole: tuple[Path, str]) -> None:
    curves = read_json(whole[0] / "reports/mini/results.json")["along"]
    found = {(c["cell"], c["column"], p["step"]) for c in curves for p in c["points"]}
    lasts = {GRPO: STEPS, REINFORCE: STEPS, SFT: SFT_STEPS}
    assert found == {
        (cell, name, step)
        for cell, last in lasts.items()
        for name in COLUMNS
        for step in range(last + 1)
    }


def test_mlflow_has_the_metrics_in_the_run_of_the_cell(whole: tuple[Path, str]) -> None:
    checkout, _ = whole
    with sqlite3.connect(checkout / "mlflow.db") as database:
        runs = dict(database.execute("select name, run_uuid from runs"))
        assert set(runs) == {"study mini", "nano-base", GRPO, REINFORCE, SFT}
        for cell in (GRPO, REINFORCE, SFT):
            tags = dict(
                database.execute("select key, value from tags where run_uuid = ?", (runs[cell],))
            )
            metrics = [
                key
                for (key,) in database.execute(
                    "select distinct key from metrics where run_uuid = ?", (runs[cell],)
                )
            ]
            assert tags["backend"] == "verl"
            assert tags["mlflow.parentRunId"] == runs["study mini"]
            assert tags["checkpoint"] == manifest(checkout, cell)["checkpoints"]["best"]["digest"]
            wanted = {"train/loss"}
            if cell != SFT:  # it samples and validates nothing
                more = {"validation_accuracy", "length_median", "reward_mean"}
                wanted |= {f"train/{name}" for name in DRIFT | WATCHED | more}
            assert wanted | {"evaluate/hi_tom_order_3/accuracy"} <= set(metrics)
        points = database.execute(
            "select count(*), count(distinct step) from metrics "
            "where run_uuid = ? and key = 'train/reward_mean'",
            (runs[GRPO],),
        ).fetchone()
        assert points == (STEPS, STEPS), "every step once, although it was sent live and replayed"
