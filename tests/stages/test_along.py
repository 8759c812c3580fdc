"""A cell whose every saved step is kept, and asked some questions of the suite."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.data.codec import read_column
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.along import UNASKED, answers_of
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.records import Evaluation
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.formats.files import folder_digests, remove
from pipeline.model.manifest import Manifest
from pipeline.stages import evaluate as evaluation
from pipeline.stages import train
from pipeline.stages.common import Stage
from tests.stages.made import make_base
from tests.stages.small import small_study

KEY, COLUMN, MOST = "nano-hi", "hi_tom_orders_0_2", 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A checkout up to its suite and base model, and its study."""
    root = tmp_path_factory.mktemp("along")
    study = small_study(root / "study")
    study["evaluate"] |= {"at": "all", "each_step": MOST}
    stage = staged("suite", root / "root", study, 6)
    make_base(stage.root, stage.params)
    return stage.root, study


def staged(name: str, root: Path, study: dict[str, Any], steps: int) -> Stage:
    changed = {**study, "train": {**study["train"], "steps": steps, "save_every": 2}}
    return Stage(name, root, expand(Study.model_validate(changed)))


def left(root: Path) -> tuple[dict[str, str], list[str]]:
    """The digests of the weights, and the curve with the checkpoints."""
    folder = root / "runs" / "mini" / KEY / "train"
    texts = [(folder / name).read_text() for name in ("metrics.jsonl", "checkpoints.json")]
    return folder_digests(root / "weights" / "mini" / KEY), texts


def test_every_saved_step_is_asked_what_the_whole_suite_asks(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    root = Path(shutil.copytree(made[0], tmp_path / "root"))
    stage = staged("train", root, made[1], 5)
    train.main(stage, KEY)
    manifest = Manifest.read(stage.runs / KEY / "train" / "checkpoints.json", "train")
    assert [each.step for each in manifest.kept] == [2, 4, 5]
    assert manifest.kept[-1].digest == manifest.checkpoints["last"].digest

    evaluation.main(staged("evaluate", root, made[1], 5), KEY)
    found = Evaluation.read(stage.runs / KEY / "evaluate" / "metrics.json", "evaluate")
    assert [each.step for each in found.along] == [2, 4, 5]
    examples = read_column(stage.data / "suite" / f"{COLUMN}.parquet", "hi_tom_style")
    ids = [example.id for example in examples]
    for model, asked in zip(manifest.kept, found.along, strict=True):
        engine = TransformersEngine(stage.weights_of(KEY).get(model.digest), tmp_path / "work", 64)
        whole = Asked({COLUMN: examples}, Asking("compact", Sampling(8, temperature=0)))
        (graded,) = evaluate(engine, [whole], seed=0)
        right = {e.id: each.grade.correct for e, each in zip(examples, graded, strict=True)}
        answers = answers_of(asked.right[COLUMN], ids)
        assert len(answers) == MOST and asked.right[COLUMN].count(UNASKED) == len(ids) - MOST
        assert answers == {name: right[name] for name in answers}
    assert {tuple(answers_of(each.right[COLUMN], ids)) for each in found.along} == {tuple(answers)}


def test_a_longer_run_keeps_what_a_whole_one_does(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, updates: list[int]
) -> None:
    whole, longer, lost = (Path(shutil.copytree(made[0], tmp_path / name)) for name in "abc")
    train.main(staged("train", whole, made[1], 6), KEY)
    for root in (longer, lost):
        train.main(staged("train", root, made[1], 3), KEY)
    for folder in lost.glob("work/*/kept/step-000002"):
        remove(folder)
    for root, count in ((longer, 3), (lost, 6)):
        del updates[:]
        train.main(staged("train", root, made[1], 6), KEY)
        assert len(updates) == count
        assert left(root) == left(whole)


def test_a_study_that_does_not_ask_for_it_is_written_as_ever(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    study = small_study(tmp_path)
    written = staged("train", tmp_path, study, 5).params.model_dump(mode="json")["cells"]
    assert all("keeps" not in cell and "at" not in cell["evaluate"] for cell in written.values())
    asked = staged("train", tmp_path, made[1], 5).params.model_dump(mode="json")["cells"]
    assert asked[KEY]["keeps"] and asked[KEY]["evaluate"]["at"] == "all"
    assert "at" not in asked["nano-base"]["evaluate"]
