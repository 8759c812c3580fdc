"""A tiny model is made once for all studies, and a damaged one is made again."""

from __future__ import annotations

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


def renamed(params: Params) -> Params:
    """The same study under another name, with another title for its model."""
    entry = params.base["nano"]
    other = entry.model_copy(update={"model": entry.model.model_copy(update={"title": "tiny"})})
    info = params.study.model_copy(update={"name": "twin"})
    return params.model_copy(update={"study": info, "base": {"nano": other}})


def test_two_studies_with_the_same_model_make_it_once(
    params: Params, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = build(params, tmp_path / "one")
    assert "made now" in capsys.readouterr().out
    assert build(renamed(params), tmp_path / "one") == first
    assert "made before" in capsys.readouterr().out
    assert build(params, tmp_path / "two") == first, "as without anything kept"
    assert "made now" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["recipe", "seed", "threads", "stories"])
def test_a_model_that_differs_in_anything_is_made(
    params: Params, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(params, tmp_path)
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
    capsys.readouterr()
    build(params.model_copy(update={"base": {"nano": entry}, "study": info}), tmp_path)
    assert "made now" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["entry", "cut entry", "model", "no model"])
def test_what_is_damaged_is_made_again(
    params: Params,
    tmp_path: Path,
    what: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = build(params, tmp_path)
    (entry,) = (tmp_path / "work").glob("*/made.json")
    (model,) = (tmp_path / "work").glob("*/model")
    match what:
        case "entry":
            entry.write_text(entry.read_text().replace('"parameters": ', '"parameters": 1'))
        case "cut entry":
            entry.write_bytes(entry.read_bytes()[:-20])
        case "model":
            (model / "model.safetensors").unlink()
        case "no model":
            model.rename(tmp_path / "gone")
    capsys.readouterr()
    assert build(params, tmp_path) == first
    assert "made now" in capsys.readouterr().out
    assert len(caplog.records) == (0 if what == "no model" else 1)
    assert build(params, tmp_path) == first
    assert "made before" in capsys.readouterr().out


def test_the_card_counts_what_the_model_was_shown(params: Params, tmp_path: Path) -> None:
    build(params, tmp_path)
    folder = Stage("base", tmp_path, params).runs / "base" / "nano"
    card = BaseCard.read_of(folder / "card.json", "nano", "base@nano")
    shown = BaseShown.read_of(folder / "shown.json", "nano", "base@nano").origin
    recipe = params.base["nano"].model.warm_start  # type: ignore[union-attr]
    assert card.shown is not None and shown is not None
    assert card.shown.rows == shown.rows == recipe.steps * recipe.batch
    assert sum(portion.rows for portion in card.shown.portions) == card.shown.rows
    assert set(card.shown.orders) == {"0", "1", "2", "3", "None"}
    assert card.shown.benchmarks.keys() == {"arithmetic", "hi_tom_style"}
    assert card.shown.structures == len(shown.structures) <= 8
