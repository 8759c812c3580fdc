"""Commands that take a cell in place of a file: they join its answers with its suite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from benchmarks.made_study import write_results
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import TrainedCell
from pipeline.config.params_file import params_text, read_params
from pipeline.config.study_files import find_study
from pipeline.evaluate.tried import Tried
from pipeline.ops.driver.checkout import set_values
from tests.conftest import TINY
from tests.said import told, tomrl


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    (root / "dvc.yaml").touch()
    (root / "studies").symlink_to(TINY / "studies")
    (root / "params.yaml").write_text(params_text(find_study(TINY, "mini")))
    write_results(expand(find_study(TINY, "mini")), root)
    return root


@pytest.fixture(autouse=True)
def inside(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)


def run(*words: str) -> str:
    return tomrl(*words, columns=200)


def test_what_came_of_editing_its_reasoning_is_told(checkout: Path) -> None:
    edits = checkout / "runs/mini/nano-hi/evaluate/tried.json"
    for why in ("recorded answers cannot be continued", "the study does not ask for it"):
        found = told("judge", "mini/nano-hi")["hi_tom_style"]
        assert why in json.dumps(found["evidence"]["reasoning"])
        Tried(untried="the study does not ask for it").write(edits)
    edits.unlink()


def test_what_was_meant_is_asked() -> None:
    with pytest.raises(UserError, match=r"mini/nano-hii \(did you mean 'nano-hi'\?\)"):
        run("judge", "nano-hii")
    with pytest.raises(UserError, match=r"'minii' does not exist \(did you mean 'mini'\?\)"):
        run("judge", "minii/nano-hi")


def test_a_setting_holds_for_all_cells(checkout: Path) -> None:
    before = (checkout / "params.yaml").read_text()
    set_values(checkout, ["train.steps=3", "audit.ngram=5"])
    params = read_params(checkout / "params.yaml")
    trained = [cell for cell in params.cells.values() if isinstance(cell, TrainedCell)]
    assert {cell.train.steps for cell in trained} == {3}
    assert params.audit.ngram == 5
    with pytest.raises(UserError, match=r"line \d+: train.stesp: there is no such field"):
        set_values(checkout, ["train.stesp=3"])
    (checkout / "params.yaml").write_text(before)


def test_a_model_of_ones_own_takes_the_place_of_the_studys(checkout: Path) -> None:
    target = checkout / "params.yaml"
    before = target.read_text()
    folder = checkout / "models" / "My Model-1.5B"
    folder.mkdir(parents=True)
    with pytest.raises(
        UserError, match=r"--model models/My Model-1.5B: found no config\.json in it"
    ):
        run("study", "use", "mini", "--model", "models/My Model-1.5B")
    (folder / "config.json").write_text("{}")
    assert "2 cells" in run("study", "use", "mini", "--model", str(folder))
    params = read_params(target)
    (model,) = (entry.model for entry in params.base.values())
    assert model.kind == "folder" and model.path == "models/My Model-1.5B"
    assert list(params.cells) == ["my-model-1-5b-base", "my-model-1-5b-hi"]
    assert yaml.safe_load(target.read_text())["models"] == {"my-model-1-5b": model.path}
    with pytest.raises(UserError, match=r"name the study, as in: tomrl run smol --model models"):
        run("run", "--model", "models/My Model-1.5B")
    target.write_text(before)
    own = "{kind: folder, title: Mine, path: models/mine}"
    set_values(checkout, [f"base.models.nano={own}"])
    assert read_params(target).base["nano"].inputs == "models/mine"
    target.write_text(before)
