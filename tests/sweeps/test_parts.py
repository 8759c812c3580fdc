"""The parts of a run that need no process: causes, progress, what is left, limits, pins."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.driver.causes import Cause, cause
from flows.driver.graph import Graph
from flows.driver.limits import accelerators, most_taken, resource, side_by_side, taken
from flows.driver.progress import CellState, advanced, told
from flows.driver.record import RunFolder, standing
from flows.driver.results import description, table_rows
from flows.driver.work import Hopeless
from flows.sweeps.deployed import absolute_places
from flows.sweeps.pin import pin, same_inputs
from flows.sweeps.record import sweep_folder, sweep_names
from flows.sweeps.start import begin
from pipeline.analysis.findings import findings
from pipeline.base.errors import UserError
from pipeline.base.git import checked_out, git
from pipeline.config.expand import expand
from pipeline.config.params import ApiCell, AskedCell, Params
from pipeline.config.study_files import find_study
from pipeline.formats.foreign import markdown_text
from tests.analysis.made import signed
from tests.analysis.test_findings import study
from tests.conftest import PROJECT, commit
from tests.gpus import path_with_gpus


@pytest.mark.parametrize(
    ("lines", "text", "passing"),
    [
        (["error: train: no rows", "failed to run: x, exited with 2"], "train: no rows", False),
        (["error: train: no answer", "failed to run: x, exited with 1"], "train: no answer", True),
        (["Traceback", "KeyError: 'a'", "ERROR: x, exited with 1"], "ERROR: x", False),
        (["ERROR: failed to run: x, exited with -9"], "killed by SIGKILL", True),
        (["ERROR: failed to run: x, exited with 137"], "killed by SIGKILL", True),
        (["ERROR: Unable to acquire lock. Most likely"], "DVC was locked", True),
        (["ERROR: './dvc.lock' is invalid."], "killed while it wrote for DVC", True),
        ([], "it said nothing", False),
    ],
)
def test_a_cause_says_whether_to_run_it_again(lines: list[str], text: str, passing: bool) -> None:
    found = cause(lines)
    assert text in found.text and found.passing is passing


def test_progress_is_read_from_what_stages_print() -> None:
    state = CellState(state="running")
    state = advanced(state, "Running stage 'train@nano-hi':")
    assert told(state) == "train"
    state = advanced(state, "train nano-hi: 30/120 (60 s) reward 0.31  accuracy 5%  length 22.0")
    assert (state.step, state.steps, state.remaining) == (30, 120, 180.0)
    assert told(state) == "train  30/120  reward 0.31  accuracy 5%  length 22.0  3 min left"
    assert advanced(state, "train nano-hi: best validation accuracy 5.0% at step 2") is state
    assert advanced(state, "evaluate nano-hi: 3/4 (1 s)") is state
    state = advanced(state, "Running stage 'evaluate@nano-hi':")
    assert told(state) == "evaluate" and state.steps == 0


@pytest.fixture(scope="module")
def crossed() -> Params:
    return expand(find_study(PROJECT, "prompt-or-training-mini"))


def test_cells_are_left_with_those_that_they_ask(crossed: Params) -> None:
    asked = {key: cell.of for key, cell in crossed.cells.items() if isinstance(cell, AskedCell)}
    key, of = next(iter(asked.items()))
    graph = Graph.of(PROJECT)
    assert graph.cells_left(crossed, {"report", "code"}) == []
    assert graph.cells_left(crossed, {f"{graph.cell[-1]}@{key}"}) == [key]
    left = graph.cells_left(crossed, {f"train@{of}"})
    assert left[0] == of and set(left[1:]) == {k for k, o in asked.items() if o == of}
    every = graph.cells_left(crossed, {f"train@{k}" for k in crossed.cells})
    assert sorted(every) == sorted(crossed.cells)
    assert every.index(of) < every.index(key)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with what a sweep reads of a checkout."""
    root = tmp_path / "a checkout"
    (root / "pipeline").mkdir(parents=True)
    (root / "studies").mkdir()
    (root / "studies" / "mini.yaml").write_bytes((PROJECT / "studies/mini.yaml").read_bytes())
    (root / "pipeline" / "a.py").write_text("one = 1\n")
    (root / "params.yaml").write_text("a: 1\n")
    (root / ".gitignore").write_text("/work\n")
    commit(root)
    return root


def test_a_sweep_is_made_from_a_commit(repository: Path) -> None:
    (repository / "params.yaml").write_text("a: 2\n")
    (repository / "studies" / "mini.yaml").write_text("a: 2\n")
    (repository / "notes.txt").write_text("of mine")
    found = pin(repository, "mini", allow_edits=False)
    assert found.commit == checked_out(repository) and not found.edited
    assert same_inputs(repository, found.commit)


@pytest.mark.parametrize("name", ["pipeline/a.py", "pipeline/new.py"])
def test_edits_are_refused_or_recorded(repository: Path, name: str) -> None:
    (repository / name).write_text("one = 2\n")
    before = git(repository, "status", "--porcelain")
    with pytest.raises(UserError, match=f"not committed: {name}.*--allow-edits"):
        pin(repository, "mini", allow_edits=False)
    found = pin(repository, "mini", allow_edits=True)
    assert found.edited == (name,) and found == pin(repository, "mini", allow_edits=True)
    assert git(repository, "show", f"{found.commit}:{name}") == "one = 2\n"
    assert git(repository, "status", "--porcelain") == before
    assert same_inputs(repository, found.commit)
    (repository / name).write_text("one = 3\n")
    assert not same_inputs(repository, found.commit)


def test_a_sweep_keeps_its_copy_until_it_has_ended(repository: Path) -> None:
    folder = sweep_folder(repository, "mine")
    first = begin(folder, "mini", allow_edits=False)
    copy = folder.study_file.read_bytes()
    assert first.study == "mini" and sweep_names(repository) == ["mine"]
    with (repository / "studies" / "mini.yaml").open("a") as file:
        file.write("# edited\n")
    folder.note("nano-base", CellState(state="done"))
    assert (
        begin(folder, "mini", allow_edits=False) == first and folder.study_file.read_bytes() == copy
    )
    with pytest.raises(UserError, match="a sweep of study mini has this name"):
        begin(folder, "mini-real", allow_edits=False)
    folder.write(first.model_copy(update={"ended": "2026-01-01T00:00:00"}))
    assert begin(folder, "mini", allow_edits=False).ended == ""
    assert folder.study_file.read_bytes() != copy and folder.cell("nano-base").state == "waiting"


def test_what_ran_when_a_sweep_was_killed_is_stopped(repository: Path) -> None:
    folder = sweep_folder(repository, "mini")
    begin(folder, "mini", allow_edits=False)
    folder.note("nano-cued", CellState(state="running", stage="train", attempts=1))
    found = standing(folder)
    assert found.cells["nano-cued"].state == "stopped" and not found.under_way
    assert found.summary() == "not running: 1 stopped, 2 waiting"
    assert (
        "nano-cued",
        "stopped",
        "1",
        "stopped in train: its sweep was killed",
    ) in found.rows()


def test_places_are_the_same_in_a_worktree(tmp_path: Path) -> None:
    given = {
        "TOMRL_DATA_MIRROR": "../mirror",
        "MLFLOW_TRACKING_URI": "sqlite:///mine.db",
        "HOME": "home",
    }
    assert absolute_places(given, tmp_path) == {
        "TOMRL_DATA_MIRROR": f"{tmp_path}/../mirror",
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mine.db",
    }
    assert absolute_places({"MLFLOW_TRACKING_URI": "http://host:5000"}, tmp_path) == {}


def test_cells_take_cores_or_accelerators(crossed: Params) -> None:
    key = next(iter(crossed.cells))
    assert (resource(crossed), taken(crossed, key)) == ("cpu", crossed.study.threads)
    assert side_by_side(crossed, [2]) == 2 // crossed.study.threads
    large = expand(find_study(PROJECT, "tom-rl"))
    assert resource(large) == "gpu"
    takes = {key: taken(large, key) for key in large.cells}
    behind = {key for key, cell in large.cells.items() if isinstance(cell, ApiCell)}
    assert behind and behind == {key for key, count in takes.items() if not count}
    assert takes["qwen25-7b-hi-exp"] == 4 and min(each for each in takes.values() if each) == 1
    assert side_by_side(large, [8]) == 5 + len(behind), "beside five of one none of four fits"
    assert side_by_side(large, [8, 4]) == 5 + 1 + len(behind)
    assert most_taken(large) == max(takes.values())


def test_two_cells_that_fail_alike_before_their_first_step_end_a_study() -> None:
    training, hopeless = CellState(stage="train"), Hopeless()
    hung = "cell {}: the job stalled after 3 attempts: hung: stopped after 900 s without progress"

    def fails(key: str, text: str, state: CellState = training, *, passing: bool = False) -> bool:
        return hopeless.add(key, state, Cause(text.format(key), passing))

    assert not fails("a-1", hung)
    assert not fails("a-1", hung), "the same cell"
    assert not fails("b-2", "cell {}: the job failed: accelerator memory")
    assert not fails("c-3", hung, CellState(stage="train", step=4)), "it has made steps"
    assert not fails("d-4", hung, CellState(stage="evaluate"))
    assert not fails("e-5", hung, passing=True), "it is tried again"
    assert hopeless.why == ""
    assert fails("f-6", hung.replace("3", "1").replace("900", "901"))
    assert "stopped, as a-1 and f-6 failed by the same cause before their fir" in hopeless.why


def test_as_many_cells_run_as_nodes_have_room_for() -> None:
    """Counted node by node: half of two nodes is no node for what takes a whole one."""
    whole = expand(find_study(PROJECT, "rlvr"))
    cells = {key: cell for key, cell in whole.cells.items() if taken(whole, key) == 4}
    whole = whole.model_copy(update={"cells": dict(list(cells.items())[:3])})
    rooms = ((8,), (4, 4), (4, 2, 2), (2, 2, 2, 2))
    assert [side_by_side(whole, nodes) for nodes in rooms] == [2, 2, 1, 1]
    spread = expand(find_study(PROJECT, "next-scale"))  # 1 and 1, 4, and 4 on each of four nodes
    assert [side_by_side(spread, nodes) for nodes in ([4] * 4, [8] * 5, [16])] == [3, 4, 3]


@pytest.mark.parametrize("visible", [0, 4])
def test_a_machine_runs_what_its_accelerators_have_room_for(
    visible: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_with_gpus(tmp_path, visible))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(visible))))
    assert accelerators() == [visible]


def test_the_table_says_what_the_report_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    results = study(order_3=0.7, lengths=[20.0] * 20)
    rows = table_rows(results)
    assert {(row["cell"], row["task"]) for row in rows} == {
        (found.key, task) for found in results.trained() for task in found.all_tasks()
    }
    said = description(results, RunFolder.here(tmp_path, "mini"))
    assert f"runs: `tomrl ui`, report: `{tmp_path}/reports/" in said
    sentences = list(findings(*signed(results)))
    assert sentences and all(f"\n- {markdown_text(each)}\n" in said for each in sentences)
