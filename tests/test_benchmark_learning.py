"""What the five-seed learning run asks of a report, and the page it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchmarks import learning
from pipeline.analysis.seeds import BEST, LAST
from tests.conftest import PROJECT


def report(mean: float, low: float) -> dict[str, Any]:
    change = {"mean": mean, "low": low, "high": 2 * mean - low, "seeds": 5}
    poor = {"mean": 0.0, "low": -0.1, "high": 0.1, "seeds": 5}
    return {
        "over_seeds": [
            {"group": "nano-hi-grpo", "measure": BEST, "change": poor},
            {"group": "nano-hi-grpo", "measure": LAST, "change": change},
            {"group": "nano-hi-grpo", "measure": "arithmetic", "change": poor},
        ]
    }


def test_ten_points_and_an_interval_above_zero_are_asked_of_the_last_step() -> None:
    assert learning.shortfalls(report(0.12, 0.02)) == []
    assert len(learning.shortfalls(report(0.09, 0.05))) == 1
    (said,) = learning.shortfalls(report(0.12, -0.01))
    assert said.startswith("nano-hi-grpo: gains 12.0% at its last step, interval -1.0% to 25.0%")


def test_the_page_holds_the_reports_own_table_and_figure(tmp_path: Path) -> None:
    made, docs = tmp_path / "report", tmp_path / "docs"
    (made / "figures").mkdir(parents=True)
    (made / "seeds.md").write_text("| the table |\n")
    (made / "figures" / "training-curves.svg").write_text("<svg/>")
    path = PROJECT / "studies" / f"{learning.STUDY}.yaml"
    learning.write_page(made, yaml.safe_load(path.read_text(encoding="utf-8")), docs)
    page = (docs / "learning.md").read_text()
    assert "| the table |" in page and "over 5 seeds, 120 steps of 16 prompts x\n16" in page
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
