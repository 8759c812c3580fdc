"""Trackers beside MLflow: what W&B keeps offline is what the files hold; nothing unless named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.base.trackers import VARIABLE
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.ops.mirror import elsewhere
from pipeline.ops.mirror.elsewhere import send_elsewhere
from tests.conftest import TINY
from tests.made_runs import STEPS, write_cell

KEY = "nano-hi"


@pytest.fixture
def params() -> Params:
    return expand(find_study(TINY, "mini"))


@pytest.fixture
def root(tmp_path: Path, params: Params, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_cell(params, tmp_path, KEY)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    return tmp_path


def kept(root: Path) -> list[dict[str, object]]:
    """The rows that W&B keeps of its runs, as it reads them itself."""
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]
    from wandb.sdk.internal.datastore import DataStore

    rows = []
    for path in sorted(root.glob("wandb/offline-run-*/*.wandb")):
        store, record = DataStore(), Record()
        store.open_for_scan(str(path))
        while data := store.scan_data():
            record.ParseFromString(data)
            if record.WhichOneof("record_type") == "history":
                items = record.history.item
                names = ((each.key or ".".join(each.nested_key), each) for each in items)
                rows.append({name: json.loads(each.value_json) for name, each in names})
    return rows


def test_wandb_keeps_what_the_files_hold(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    assert send_elsewhere(params, root) == {} and not (root / "wandb").exists()
    monkeypatch.setenv(VARIABLE, "wandb")
    assert send_elsewhere(params, root) == {"wandb": [KEY]}
    rows = kept(root)
    lines = (root / "runs/mini" / KEY / "train/metrics.jsonl").read_text().splitlines()
    written = [json.loads(line) for line in lines]
    steps = [row for row in rows if "train/validation_accuracy" in row]
    assert len(steps) == len(written) == STEPS + 1
    for row, own in zip(steps, written, strict=True):
        assert {f"train/{name}": value for name, value in own.items()}.items() <= row.items()
    assert any("evaluate/" in name for row in rows for name in row)
    assert rows[-1]["best_step"] == str(STEPS)
    assert send_elsewhere(params, root) == {"wandb": []}


def test_what_cannot_be_sent_is_said(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "wandb, neptune")
    with pytest.raises(UserError, match="found 'neptune'; allowed.* wandb, trackio"):
        send_elsewhere(params, root)
    monkeypatch.setenv(VARIABLE, "trackio")
    monkeypatch.setattr(elsewhere, "import_module", _missing)
    with pytest.raises(UserError, match="not installed; pip install trackio"):
        send_elsewhere(params, root)


def _missing(name: str) -> None:
    raise ImportError(name)
