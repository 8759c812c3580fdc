"""A tiny model is made once for all studies, and a damaged one is made again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study import Study
from pipeline.data.card import BaseCard
from pipeline.data.origin import BaseShown
from pipeline.stages import base
from pipeline.stages.common import Stage
from tests.conftest import shrink
from tests.stages.made import make_data


@pytest.fixture(scope="module")
def params(tmp_path_factory: pytest.TempPathFactory) -> Params:
    """The mini study with a warm start of a few steps."""
    folder = tmp_path_factory.mktemp("study")
    shrink(folder)
    study = yaml.safe_load((folder / "studies" / "mini.yaml").read_text(encoding="utf-8"))
    return expand(Study.model_validate(study))


def build(params: Params, root: Path) -> dict[str, bytes]:
    """Run the stage with what stands before it; return its deterministic outs."""
    stage = Stage("base", root, params)
    if not stage.data.exists():
        make_data(root, params)
    base.main(stage, "nano")
    return {path.name: path.read_bytes() for path in (stage.runs / "base" / "nano").iterdir()}


@pytest.fixture(scope="module")
def made(params: Params, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A folder in which the model was made, and the outs."""
    root = tmp_path_factory.mktemp("made")
    return root, build(params, root)


@pytest.fixture
def copy(made: tuple[Path, dict[str, bytes]], tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(made[0], tmp_path / "copy"))


def renamed(params: Params) -> Params:
    """The same study under another name, with another title for its model."""
    entry = params.base["nano"]
    other = entry.model_copy(update={"model": entry.model.model_copy(update={"title": "tiny"})})
    info = params.study.model_copy(update={"name": "twin"})
    return params.model_copy(update={"study": info, "base": {"nano": other}})


def test_two_studies_with_the_same_model_make_it_once(
    params: Params,
    made: tuple[Path, dict[str, bytes]],
    copy: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert build(renamed(params), copy) == made[1]
    assert "made before" in capsys.readouterr().out
    assert build(params, tmp_path / "two") == made[1], "as without anything kept"
    assert "made now" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["recipe", "seed", "threads", "stories"])
def test_a_model_that_differs_in_anything_is_made(
    params: Params, copy: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entry, info = params.base["nano"], params.study
    match what:
        case "recipe":
            recipe = entry.model.warm_start.model_copy(update={"learning_rate": 0.001})  # type: ignore[union-attr]
            model = entry.model.model_copy(update={"warm_start": recipe})
            entry = entry.model_copy(update={"model": model})
        case "seed":
            entry = entry.model_copy(update={"seed": 7})
        case "threads":
            info = info.model_copy(update={"threads": 2})
        case "stories":
            stories = (entry.stories[0].model_copy(update={"seed": 7}),)
            entry = entry.model_copy(update={"stories": stories})
    build(params.model_copy(update={"base": {"nano": entry}, "study": info}), copy)
    assert "made now" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["entry", "cut entry", "model", "no model"])
def test_what_is_damaged_is_made_again(
    params: Params,
    made: tuple[Path, dict[str, bytes]],
    copy: Path,
    what: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    (entry,) = (copy / "work").glob("*/made.json")
    (model,) = (copy / "work").glob("*/model")
    match what:
        case "entry":
            entry.write_text(entry.read_text().replace('"parameters": ', '"parameters": 1'))
        case "cut entry":
            entry.write_bytes(entry.read_bytes()[:-20])
        case "model":
            (model / "model.safetensors").unlink()
        case "no model":
            model.rename(copy / "gone")
    assert build(params, copy) == made[1]
    assert "made now" in capsys.readouterr().out
    assert len(caplog.records) == (0 if what == "no model" else 1)
    assert build(params, copy) == made[1]
    assert "made before" in capsys.readouterr().out


def test_the_card_counts_what_the_model_was_shown(params: Params, copy: Path) -> None:
    folder = Stage("base", copy, params).runs / "base" / "nano"
    card = BaseCard.read_of(folder / "card.json", "nano", "base@nano")
    shown = BaseShown.read_of(folder / "shown.json", "nano", "base@nano").origin
    recipe = params.base["nano"].model.warm_start  # type: ignore[union-attr]
    assert card.shown is not None and shown is not None
    assert card.shown.rows == shown.rows == recipe.steps * recipe.batch
    assert sum(portion.rows for portion in card.shown.portions) == card.shown.rows
    assert set(card.shown.orders) == {"0", "1", "2", "3", "None"}
    assert card.shown.benchmarks.keys() == {"arithmetic", "hi_tom_style"}
    assert card.shown.structures == len(shown.structures) <= 8
