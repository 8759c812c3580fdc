"""The stage ``evaluate``: what it asks, what it keeps when it is stopped, what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.evaluate.engine import Response
from pipeline.evaluate.journal import Journal
from pipeline.files import folder_digests
from pipeline.stages import base, evaluate, suite, train
from pipeline.stages.common import Stage
from tests.conftest import edited, shrink
from tests.stages.made import make_data

KEY = "nano-base"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout up to a base model."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    stage = stage_of(root)
    make_data(root, stage.params)
    suite.main(stage)
    base.main(stage, "nano")
    train.main(Stage("train", root, stage.params), KEY)
    return root


def stage_of(root: Path, **settings: Any) -> Stage:
    """Return the stage of a study that evaluates so."""
    with edited(root / "studies" / "mini.yaml") as study:
        kept = dict(study["evaluate"])
        study["evaluate"] |= settings
    params = expand(find_study(root, "mini"))
    with edited(root / "studies" / "mini.yaml") as study:
        study["evaluate"] = kept
    return Stage("evaluate", root, params)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The prompts that answers were written down to."""
    names: list[str] = []
    write = Journal.write

    def noted(self: Journal, place: int, response: Response, prompt_tokens: int = 0) -> None:
        write(self, place, response, prompt_tokens)
        names.append(self._names[place])

    monkeypatch.setattr(Journal, "write", noted)
    return names


def answered(stage: Stage) -> dict[str, str]:
    evaluate.main(stage, KEY)
    return folder_digests(stage.runs / KEY / "evaluate")


@pytest.mark.parametrize("temperature", [0, 1])
def test_a_stopped_evaluation_asks_nothing_twice_and_ends_in_the_same_bytes(
    root: Path, written: list[str], monkeypatch: pytest.MonkeyPatch, temperature: float
) -> None:
    stage = stage_of(root, temperature=temperature, batch=4)
    undisturbed = answered(stage)
    asked = list(written)
    assert len(set(asked)) == len(asked)
    assert not list((root / "work").glob("*/*.jsonl")), "what is finished is not kept"
    written.clear()

    def stopping(self: Journal, place: int, response: Response, prompt_tokens: int = 0) -> None:
        if len(written) == len(asked) // 2:
            raise KeyboardInterrupt
        noted(self, place, response, prompt_tokens)

    noted = Journal.write
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", stopping)
        with pytest.raises(KeyboardInterrupt):
            evaluate.main(stage, KEY)
    (path,) = (root / "work").glob("*/*.jsonl")
    path.write_text(path.read_text() + '{"prompt": "cut o')
    assert answered(stage) == undisturbed
    assert sorted(written) == sorted(asked)
