"""Trackers beside MLflow: what they keep offline is what the files hold; nothing unless named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
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
Kept = dict[str, object]


@pytest.fixture
def params() -> Params:
    return expand(find_study(TINY, "mini"))


@pytest.fixture
def root(tmp_path: Path, params: Params, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_cell(params, tmp_path, KEY)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "trackio"]:
        monkeypatch.delitem(sys.modules, name)  # it reads its settings once
    return tmp_path


def kept_by_wandb(root: Path) -> list[Kept]:
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


def kept_by_trackio(root: Path) -> list[Kept]:
    """The rows that Trackio keeps of its run, as it reads them itself."""
    from trackio import Api  # type: ignore[import-not-found]
    from trackio.sqlite_storage import SQLiteStorage  # type: ignore[import-not-found]

    (run,) = Api().runs("tomrl")
    assert run.name == KEY and run.config["model"] == "nano"
    rows: list[Kept] = SQLiteStorage.get_logs("tomrl", run.name, run_id=run.id)
    return rows


@pytest.mark.parametrize(("name", "kept"), [("wandb", kept_by_wandb), ("trackio", kept_by_trackio)])
def test_a_tracker_keeps_what_the_files_hold(
    root: Path,
    params: Params,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kept: Callable[[Path], list[Kept]],
) -> None:
    pytest.importorskip(name)
    assert send_elsewhere(params, root) == {} and not (root / name).exists()
    monkeypatch.setenv(VARIABLE, name)
    assert send_elsewhere(params, root) == {name: [KEY]}
    rows = kept(root)
    lines = (root / "runs/mini" / KEY / "train/metrics.jsonl").read_text().splitlines()
    written = [json.loads(line) for line in lines]
    steps = [row for row in rows if "train/validation_accuracy" in row]
    assert len(steps) == len(written) == STEPS + 1
    for row, own in zip(steps, written, strict=True):
        assert {f"train/{name}": value for name, value in own.items()}.items() <= row.items()
    assert any("evaluate/" in name for row in rows for name in row)
    assert rows[-1]["best_step"] == str(STEPS)
    assert send_elsewhere(params, root) == {name: []}


def test_what_trackio_only_warns_of_is_said(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trackio")
    (root / "trackio").write_text("a file where its folder is to be")
    monkeypatch.setenv(VARIABLE, "trackio")
    for _ in range(2):
        with pytest.raises(UserError, match="trackio does not take the results of nano-hi .*exist"):
            send_elsewhere(params, root)


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
