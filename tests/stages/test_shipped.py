"""Models that come with the project: made by the recipe that studies state, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from shutil import copytree

import pytest

from pipeline.base.errors import UserError
from pipeline.config.models import TinyModel
from pipeline.config.params import BaseEntry
from pipeline.config.sources import HiTomSource
from pipeline.engine.device import set_up_torch
from pipeline.formats.files import file_digest, folder_digests, size
from pipeline.ops.check.doctor import shipped
from pipeline.stages.shipping import FOLDER, ShippedModel, remake, shipped_models
from pipeline.tom.generate import hi_tom_free
from pipeline.tom.generate.hi_tom_free import FreeScene
from pipeline.tom.story import Claim
from pipeline.train import tiny_base, warm_start
from pipeline.train.shipped import CARD, MODEL, check, read_card
from pipeline.train.stopping import Interrupted
from tests.conftest import PROJECT

SOURCE = HiTomSource(
    kind="hi_tom_style", telling="brief", small_names=True, agents=2, train=5, trace="recount"
)
TINY = TinyModel.model_validate(
    {
        "kind": "tiny",
        "title": "nano",
        "size": "nano",
        "shipped": "small",
        "warm_start": {
            "steps": 6,
            "batch": 2,
            "learning_rate": 0.002,
            "stories": 20,
            "drill_steps": 3,
            "look_back": True,
            "vocabulary": 400,
            "context": 128,
        },
    }
)
ENTRY = BaseEntry(model=TINY, seed=3, inputs="models/small", stories=(SOURCE,))
SMALL = ShippedModel("small", "none", 1, ENTRY)


def never() -> bool:
    return False


def quiet(step: int, loss: float) -> None:
    pass


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a checkout")
    remake(folder, SMALL, quiet, never)
    return folder


def test_the_same_bytes_come_out_again_also_after_a_stop(root: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    with pytest.raises(Interrupted):
        remake(tmp_path, SMALL, lambda step, loss: steps.append(step), lambda: len(steps) == 4)
    assert not (tmp_path / FOLDER).exists()
    remake(tmp_path, SMALL, lambda step, loss: steps.append(step), never)
    assert steps == [1, 2, 3, 4, 5, 6]
    assert folder_digests(tmp_path / FOLDER) == folder_digests(root / FOLDER)
    assert not [path for path in (tmp_path / "work").iterdir() if path.is_dir()]


def test_a_card_says_how_it_was_made(root: Path) -> None:
    card = check(root / FOLDER / "small", ENTRY)
    assert card.recipe["warm_start"]["steps"] == 6 and card.recipe["seed"] == 3
    assert len(card.losses) == 6 and card.threads == 1 and "torch" in card.libraries
    weights = root / FOLDER / "small" / MODEL / "model.safetensors"
    assert card.files["model.safetensors"] == file_digest(weights)


def test_amounts_of_data_do_not_matter_and_the_recipe_does(root: Path) -> None:
    folder = root / FOLDER / "small"
    more = SOURCE.model_copy(update={"train": 900, "test": 7, "pairs": 4})
    check(folder, ENTRY.model_copy(update={"stories": (more,)}))
    recipe = TINY.warm_start.model_copy(update={"steps": 7})
    other = TINY.model_copy(update={"warm_start": recipe})
    with pytest.raises(UserError, match=r"warm_start.steps is 6, the study says 7\. Change the"):
        check(folder, ENTRY.model_copy(update={"model": other, "seed": 4}))
    with pytest.raises(UserError, match="stories.0.agents is 2, the study says 3"):
        third = SOURCE.model_copy(update={"agents": 3})
        check(folder, ENTRY.model_copy(update={"stories": (third,)}))


@pytest.fixture
def damaged(root: Path) -> Iterator[Path]:
    folder = root / FOLDER / "small"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    yield folder
    for path, content in before.items():
        path.write_bytes(content)


def test_an_altered_model_is_refused(damaged: Path) -> None:
    weights = damaged / MODEL / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match="does not hold the files that its card names; restore"):
        check(damaged, ENTRY)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_a_missing_or_damaged_card_is_named(damaged: Path, content: bytes | None) -> None:
    (damaged / CARD).unlink()
    if content is not None:
        (damaged / CARD).write_bytes(content)
    with pytest.raises(UserError, match=r"card.json (is not there|cannot be read); restore"):
        read_card(damaged)


def test_the_models_in_the_checkout_are_those_that_its_studies_state() -> None:
    there = shipped_models(PROJECT)
    assert there, "no study takes a model from models/"
    for name, model in there.items():
        check(PROJECT / FOLDER / name, model.entry)
    assert {path.name for path in (PROJECT / FOLDER).iterdir()} == set(there)
    assert size(PROJECT / FOLDER) <= 8_000_000


def test_the_doctor_names_a_model_that_is_missing(tmp_path: Path) -> None:
    (whole,) = shipped(PROJECT)
    assert whole.ok and whole.found.startswith("6 of 6 ")
    copytree(PROJECT / "studies", tmp_path / "studies")
    copytree(PROJECT / FOLDER, tmp_path / FOLDER)
    (tmp_path / FOLDER / "nano-2" / CARD).unlink()
    (found,) = shipped(tmp_path)
    assert found.ok is False and found.found.startswith("5 of 6 ")
    assert "tomrl models make nano-2" in found.repair


def said_by_anybody(scene: FreeScene, outside: Sequence[str], random: Random) -> Sequence[Claim]:
    """Claims as the models ``nano-N`` saw them: also by people who are still inside."""
    said = []
    for _ in range(random.choice(hi_tom_free._CLAIMS)):
        speaker, listener = random.sample(scene.agents, 2)
        heard_by = None if random.random() < 0.5 else listener
        said.append(Claim(speaker, heard_by, scene.thing, random.choice(scene.containers)))
    return said


@pytest.mark.parametrize("name", ["hearing-0", "nano-0"])
def test_a_model_in_the_checkout_comes_out_again_at_least_at_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "nano-0":
        monkeypatch.setattr(hi_tom_free, "_said", said_by_anybody)
    model = shipped_models(PROJECT)[name]
    assert isinstance(model.entry.model, TinyModel)
    drawn = warm_start.demonstrations(
        model.entry.model.warm_start, model.entry.stories, model.entry.sums
    )
    losses: list[float] = []
    set_up_torch(model.threads)
    with pytest.raises(Interrupted):
        tiny_base.make(
            model.entry,
            list(islice(drawn, 4000)),
            (),
            tmp_path / "model",
            tmp_path / "state",
            lambda step, loss: losses.append(loss),
            lambda: len(losses) == 20,
        )
    card = read_card(PROJECT / FOLDER / name)
    assert losses == pytest.approx(card.losses[:20], rel=0.01)


def test_two_recipes_for_one_name_are_refused(tmp_path: Path) -> None:
    text = (PROJECT / "studies" / "mini.yaml").read_text(encoding="utf-8")
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "mini.yaml").write_text(text, encoding="utf-8")
    other = text.replace("name: mini\n", "name: other\n").replace("batch: 32", "batch: 16")
    (tmp_path / "studies" / "other.yaml").write_text(other, encoding="utf-8")
    with pytest.raises(UserError, match="studies mini and other state different recipes for the"):
        shipped_models(tmp_path)
