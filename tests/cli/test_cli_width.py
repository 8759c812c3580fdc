"""Tables at any width: no heading and no number is cut."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console

from pipeline.analysis.table import rich_table
from pipeline.cli.tables import make_table
from tests.analysis.test_findings import study


@pytest.mark.parametrize("columns", [44, 60, 80, 200])
def test_the_results(columns: int) -> None:
    console = Console(width=columns, record=True)
    console.print(rich_table(study(order_3=0.3, lengths=[20.0] * 20), columns))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= min(columns, 80), text
    assert "…" not in text
    for words in ("base", "change", "hi_tom_order_3", "55.0"):
        assert words in text
    assert "─" in text  # a whole table
    assert re.search(r"rule baseline: .*hi_tom_order_3:\s+55\.0 last", text, re.DOTALL) or (
        columns >= 100
    )


@pytest.mark.parametrize("columns", [*range(44, 60, 3), 60, 80, 120])
def test_no_number_is_cut(columns: int) -> None:
    """Numbers of every form, in texts of every length and script, beside names with digits."""
    numbers = ["+13.3", "5.2", "1,234,567", "-0.05", "100.0", "(−7.5)", "97%", "3/4"]
    table = make_table("of 2 tables", ["name", "said"], ("base 1.0", "change"))
    for number in numbers:
        table.add_row(
            "a_very_long_name_0_2", f"文字 about {number} of it", number, f"{number} ± 1.5"
        )
    console = Console(width=columns, record=True)
    console.print(table)
    lines = console.export_text().splitlines()
    assert max(cell_len(line) for line in lines) <= columns
    words = Counter(word for line in lines for word in line.split())
    assert all(words[number] == 3 for number in numbers if number != "100.0"), lines
    assert words["1.5"] == len(numbers)
