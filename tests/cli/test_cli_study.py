"""``tomrl study``: what a study sets is shown, and what somebody edited stays."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.cli.study import recipe
from pipeline.config.study_files import find_study
from tests.conftest import PROJECT, TINY


def test_what_a_study_sets_is_said_by_its_field() -> None:
    lines = dict(recipe(find_study(TINY, "mini")))
    assert lines["acquire.arithmetic"] == "{kind: arithmetic, test: 200}"
    assert lines["train.rollouts"] == "16" and lines["train.reward"] == "{preset: rlvr}"
    assert lines["suite.tasks.hi_tom_order_3"] == "{task: hi_tom_style, orders: [3]}"
    assert lines["grid.models"] == "[nano, micro]"
    assert lines["cells"] == "nano-base, micro-base, nano-hi, micro-hi"
    assert not {"train.clip_range", "train.backend", "name", "title"} & lines.keys()


def test_arms_are_said_one_by_one() -> None:
    lines = dict(recipe(find_study(PROJECT, "sft-or-rl")))
    assert lines["grid.arms.grpo.algorithm"] == "{name: grpo}"
    assert lines["grid.arms.traces"] == (
        "{algorithm: {name: sft, imitates: traces}, learning_rate: 1e-05, epochs: 3, "
        "checkpoint: last}"
    )


def type_study(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["study", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_an_edited_params_file_is_not_written_over(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    params = checkout / "params.yaml"
    assert type_study("use", "mini")[0] == 0
    written = params.read_text()
    edited = re.sub(r"(\n  learning_rate:) .*", r"\1 0.0007", written, count=1)
    params.write_text(edited)
    for name in ("mini", "smol"):
        with pytest.raises(UserError, match=r"train\.learning_rate is 0\.0007 \(study mini: "):
            type_study("use", name)
        assert params.read_text() == edited
    params.write_text(written.replace("steps:  ", "steps: ").replace("\n\n", "\n"))  # form alone
    with_other = checkout / "studies" / "mini.yaml"
    with_other.write_text(re.sub(r"(\n  learning_rate:) .*", r"\1 0.0002", with_other.read_text()))
    assert type_study("use", "mini")[0] == 0  # the study changed, and nobody edited the file
    assert "learning_rate: 0.0002" in params.read_text()
    params.write_text("name: [")
    with pytest.raises(UserError, match=r"params\.yaml"):
        type_study("use", "mini")
    params.unlink()
    assert type_study("use", "mini")[0] == 0


def test_a_stray_file_among_the_studies_stops_none_of_the_others(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    before = json.loads(type_study("list", "--json")[1])
    studies = checkout / "studies"
    (studies / "._mini.yaml").write_bytes(b"\0\5\26\7\xb0\xff")  # macOS on a foreign disk
    (studies / ".#mini.yaml").symlink_to("me@host.1")  # Emacs
    status, out, _ = type_study("list", "--json")
    assert status == 0 and json.loads(out) == before
    (studies / "mini copy.yaml").write_bytes((studies / "mini.yaml").read_bytes())
    status, out, err = type_study("list", "--json")
    assert status == 1 and json.loads(out) == before
    assert "left out: " in err and "mini copy.yaml" in err
