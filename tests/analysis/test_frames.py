"""Results as data frames, and the notebook that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.made_study import write_results
from pipeline.config.expand import expand
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study
from tests.conftest import PROJECT, TINY
from tomrl import load


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    (root / "dvc.yaml").touch()
    (root / "params.yaml").write_text(params_text(find_study(TINY, "mini")))
    write_results(expand(find_study(TINY, "mini")), root)
    return root


def test_frames_hold_what_the_files_say(checkout: Path) -> None:
    loaded = load("mini", checkout)
    found, keys = loaded.results, set(loaded.params.cells)
    assert set(found.cells["cell"]) == set(found.grades["cell"]) == keys
    assert set(found.verdicts["cell"]) == keys and set(found.curves["cell"]) < keys
    cells = found.cells.set_index("cell")
    shares = found.grades.groupby(["cell", "column"])["correct"].mean()
    for column in loaded.params.suite.tasks:
        for key in keys:
            assert shares[key, column] == pytest.approx(cells.loc[key, column])
    rows = found.table[found.table["change"].notna()]
    assert ((rows["trained"] - rows["base"] - rows["change"]).abs() < 1e-9).all()


def test_a_cell_without_results_is_marked(checkout: Path) -> None:
    metrics = checkout / "runs/mini/nano-hi/evaluate/metrics.json"
    kept = metrics.read_bytes()
    metrics.unlink()
    try:
        cells = load(root=checkout).results.cells.set_index("cell")
    finally:
        metrics.write_bytes(kept)
    assert cells["missing"].dropna().to_dict() == {"nano-hi": "not run"}


def test_the_notebook_runs(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((PROJECT / "docs/results.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), names)
    assert len(names["curves"].columns) == 2  # type: ignore[attr-defined]
