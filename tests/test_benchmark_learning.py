"""What the five-seed learning run asks of a report, and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import learning
from pipeline.analysis.seeds import BEST, LAST, SeedChange, SeedEstimate


def changes(grpo: float, random: float) -> list[SeedChange]:
    """The changes of cells whose intervals begin here."""

    def change(group: str, measure: str, low: float) -> SeedChange:
        moved = SeedEstimate(mean=low + 0.1, low=low, high=low + 0.2, seeds=5)
        return SeedChange(group=group, measure=measure, before=0.4, after=0.5, change=moved)

    lows = {"nano-balanced-grpo": grpo, "nano-cued-random": random}
    last = [change(group, LAST, low) for group, low in lows.items()]
    return [*last, *(change(group, BEST, 0.1) for group in lows)]


def test_chance_must_not_teach_and_a_reward_may_fail_to() -> None:
    assert learning.shortfalls(changes(0.02, -0.05)) == []
    assert learning.shortfalls(changes(-0.01, -0.05)) == []
    (said,) = learning.shortfalls(changes(0.02, 0.01))
    assert said.startswith("nano-cued-random: gains +11.0 (+1.0 to +21.0) points")


@pytest.mark.parametrize(("random", "status"), [(-0.05, 0), (0.01, 1)])
def test_a_report_that_is_there_is_read_and_not_run(
    random: float,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = tmp_path / "reports" / learning.STUDY
    report.mkdir(parents=True)
    (report / "seeds.md").write_text("| the table |\n")
    lists = ("rows", "standings", "squares", "verdicts", "signatures", "findings")
    found: dict[str, object] = {
        **{name: [] for name in (*lists, "published")},
        "study": learning.STUDY,
        "missing": {},
        "against_paper": None,
        "provenance": {},
        "over_seeds": [each.model_dump() for each in changes(-0.1, random)],
    }
    (report / "results.json").write_text(json.dumps(found))
    monkeypatch.setattr("sys.argv", ["learning", "--from", str(tmp_path)])
    assert learning.main() == status
    said = capsys.readouterr()
    assert "| the table |" in said.out and "nano-balanced-grpo: +0.0" in said.out
    assert ("nano-cued-random: gains" in said.err) == bool(status)
