"""What the five-seed learning run asks of a report, and the page it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from benchmarks import learning
from pipeline.analysis.seeds import BEST, LAST
from tests.conftest import PROJECT


def report(grpo: float, random: float) -> dict[str, Any]:
    """The report of cells whose intervals begin here."""

    def change(low: float) -> dict[str, float]:
        return {"mean": low + 0.1, "low": low, "high": low + 0.2, "seeds": 5}

    lows = {"nano-balanced-grpo": grpo, "nano-cued-random": random, "nano-cued-grpo": -0.1}
    rows = [{"group": g, "measure": LAST, "change": change(low)} for g, low in lows.items()]
    poor = [{"group": g, "measure": BEST, "change": change(-0.1)} for g in lows]
    columns = [
        {"group": g, "measure": name, "change": change(low)}
        for g, low in lows.items()
        for name in learning.COLUMNS
    ]
    return {"over_seeds": [*rows, *poor, *columns]}


def test_a_reward_must_teach_and_chance_must_not() -> None:
    assert learning.shortfalls(report(0.02, -0.05)) == []
    (said,) = learning.shortfalls(report(-0.01, -0.05))
    gained = "nano-balanced-grpo: gains 9.0% at its last step, interval -1.0% to 19.0%"
    assert said.startswith(gained)
    (said,) = learning.shortfalls(report(0.02, 0.01))
    assert said.startswith("nano-cued-random:") and said.endswith("asked: no interval above 0")


def test_the_page_holds_the_reports_own_table_and_figure(tmp_path: Path) -> None:
    made, docs = tmp_path / "report", tmp_path / "docs"
    (made / "figures").mkdir(parents=True)
    (made / "seeds.md").write_text("| the table |\n")
    (made / "results.json").write_text(json.dumps(report(0.02, -0.05)))
    (made / "figures" / "training-curves.svg").write_text("<svg/>")
    path = PROJECT / "studies" / f"{learning.STUDY}.yaml"
    learning.write_page(made, yaml.safe_load(path.read_text(encoding="utf-8")), docs)
    page = (docs / "learning.md").read_text()
    assert "| the table |" in page and "over 5 seeds of base model" in page
    assert "| nano-balanced-grpo | +12.0 (+2.0 to +22.0) |" in page
    assert (docs / "images" / "learning.svg").read_text() == "<svg/>"


def test_the_quick_form_shortens_the_study_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    path = tmp_path / "studies" / f"{learning.STUDY}.yaml"
    whole = (PROJECT / "studies" / path.name).read_text(encoding="utf-8")
    path.write_text(whole, encoding="utf-8")
    learning.shorten(tmp_path)
    short, full = yaml.safe_load(path.read_text()), yaml.safe_load(whole)
    assert (short["grid"].pop("seeds"), short["train"].pop("steps")) == ([0, 1], 20)
    del full["grid"]["seeds"], full["train"]["steps"]
    assert short == full
