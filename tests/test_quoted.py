"""The numbers of README are those of the stored results: prose cannot go stale unnoticed."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.conftest import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")
STORED: dict[str, Any] = json.loads((PROJECT / "docs/results/mini.json").read_text("utf-8"))
SECTION = README[README.index("`mini` is the question") : README.index("## How it works")]
TABLE, PROSE = SECTION.split("```")[1], SECTION.split("```")[2]
CHOSEN = {"60 %", "2 %"}  # thresholds of the data and of the verdict, not results


def test_the_table_is_that_of_the_stored_results() -> None:
    for verdict in STORED["verdicts"]:
        by = verdict["by"]
        said = f"{verdict['answers']} ({by})" if by else verdict["answers"]
        words = " ".join(said.split()[:3])
        line = next(each for each in TABLE.splitlines() if each.strip().startswith(verdict["cell"]))
        assert words in line
        assert f"{verdict['explained']:.0%}" in line
        assert verdict["reasoning"] in line
    cells = TABLE[TABLE.index("accuracy in %") :]
    for row in (*STORED["rows"], *STORED["beside"]):
        part = cells[cells.index(f"\n {row['cell']}") :]
        name = (
            row["task"]
            if "figure" not in row
            else f"{row['task']}: {row['figure'].replace('_', ' ')}"
        )
        line = next(each for each in part.splitlines() if each.strip().startswith(f"{name} "))
        assert f"{100 * row['base']:.1f}" in line
        assert f"{100 * row['trained']:.1f}" in line
        if row.get("change") is not None:
            assert f"{100 * row['change']:+.1f}" in line


def test_every_share_of_the_prose_is_a_stored_one() -> None:
    known = json.dumps(STORED)
    shares = {f"{round(100 * float(number))} %" for number in re.findall(r"0\.\d+", known)}
    shares |= {f"{round(float(number))} %" for number in re.findall(r"(\d+\.\d+)%", known)}
    shares |= {f"{float(number):.1f} %" for number in re.findall(r"(\d+\.\d+)%", known)}
    shares |= {f"{100 * float(number):.1f} %" for number in re.findall(r"0\.\d+", known)}
    quoted = {each.replace("\n", " ") for each in re.findall(r"\d+(?:\.\d+)?\s%", PROSE)}
    assert quoted
    assert quoted <= shares | CHOSEN, quoted - shares


def test_results_name_what_they_were_made_on() -> None:
    assert STORED["processor"].split("(")[0] in README
    assert set(STORED["libraries"]) >= {"torch", "scikit-learn"}
    assert re.fullmatch(r"[0-9a-f]{7,}", STORED["commit"])
