"""``params/``: what each stage depends on, and what of it an edit of ``params.yaml`` reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.config.params_file import params_text, parse_params
from pipeline.config.study_files import find_study
from pipeline.ops.driver.checkout import use_study
from pipeline.stages.code import variants
from pipeline.stages.common import Stage
from pipeline.stages.expand import files, main
from pipeline.stages.expanded import everything, of_cell, shared
from tests.conftest import TINY, edited, shrink

PATH = Path("params.yaml")
CODE = {name: f"digest of {name}" for name, _ in variants()}


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """What ``params.yaml`` holds of a study."""
    found: dict[str, Any] = yaml.safe_load(params_text(find_study(TINY, "mini")))
    return found


def read(content: dict[str, Any]) -> Params:
    return parse_params(PATH, yaml.safe_dump(content, sort_keys=False).encode())


def reached(before: Params, after: Params) -> set[str]:
    """The files that stages depend on and that differ; the report's always does."""
    old, new = dict(files(before, CODE)), dict(files(after, CODE))
    names = {name for name in old | new if old.get(name) != new.get(name)}
    return {
        name for name in names if not name.endswith(("cell.json", "shared.json", "report.json"))
    }


def test_a_value_for_one_cell_reaches_its_stage_alone(content: dict[str, Any]) -> None:
    cells = content["cells"]
    own = cells["nano-hi"] | {"train": {"cluster": {"retries": 7}, "learning_rate": 0.125}}
    after = read(content | {"cells": cells | {"nano-hi": own}})
    assert reached(read(content), after) == {"cells/nano-hi/train.json"}
    recipe = after.trained_cell("nano-hi").train
    assert (recipe.cluster.retries, recipe.learning_rate) == (7, 0.125)
    assert recipe.steps == read(content).trained_cell("nano-hi").train.steps


def test_a_value_of_the_study_reaches_all_cells(content: dict[str, Any]) -> None:
    after = read(content | {"train": content["train"] | {"learning_rate": 0.125}})
    trained = {key for key, cell in after.cells.items() if cell.kind == "trained"}
    assert reached(read(content), after) == {f"cells/{key}/train.json" for key in trained}


def test_how_cells_are_evaluated_trains_nothing(content: dict[str, Any]) -> None:
    after = read(content | {"evaluate": content["evaluate"] | {"max_new_tokens": 9}})
    found = reached(read(content), after)
    assert {f"cells/{key}/evaluate.json" for key in after.cells} <= found
    assert not any(name.endswith("train.json") for name in found)


def test_code_that_a_cell_chooses_reaches_what_chose_it(content: dict[str, Any]) -> None:
    params = read(content)
    old = dict(files(params, CODE))
    new = dict(files(params, CODE | {"reward-rlvr": "another"}))
    trained = {key for key, cell in params.cells.items() if cell.kind == "trained"}
    assert {n for n in old if old[n] != new[n]} == {f"cells/{key}/train.json" for key in trained}


def test_stages_read_what_the_file_says(tmp_path: Path, content: dict[str, Any]) -> None:
    params = read(content)
    (tmp_path / "code").mkdir()
    for name in CODE:
        (tmp_path / "code" / f"{name}.json").write_text(name)
    main(Stage("expand", tmp_path, params))
    assert everything(tmp_path) == params
    assert shared(tmp_path) == params.model_copy(update={"cells": {}})
    for key, cell in params.cells.items():
        assert of_cell(tmp_path, [key]) == params.model_copy(update={"cells": {key: cell}})
    with pytest.raises(
        UserError, match=r"cell 'nano-ho' does not exist \(did you mean 'nano-hi'\?\); .*nano-hi"
    ):
        of_cell(tmp_path, ["nano-ho"])


def test_a_study_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    shrink(tmp_path)
    before = use_study(tmp_path, "mini").read_bytes()
    with edited(tmp_path / "studies" / "mini.yaml") as study:
        study["grid"]["seeds"] = list(range(6000))
    with pytest.raises(UserError, match="at most .* are allowed|too many values"):
        use_study(tmp_path, "mini")
    assert (tmp_path / "params.yaml").read_bytes() == before


def test_a_cell_that_nobody_wants_may_be_left_out(content: dict[str, Any]) -> None:
    cells = {key: cell for key, cell in content["cells"].items() if key != "nano-hi"}
    assert set(read(content | {"cells": cells}).cells) == set(cells)
