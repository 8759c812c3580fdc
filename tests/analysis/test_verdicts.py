"""Verdicts in the report, and what training did that it should not."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from pipeline.analysis.findings import findings
from pipeline.analysis.results import Results
from pipeline.analysis.signatures import cell_signatures
from pipeline.analysis.table import change_text
from pipeline.analysis.verdicts import (
    cell_verdicts,
    verdict_findings,
    verdict_table,
    verdicts_markdown,
)
from pipeline.judge.found import findable
from pipeline.judge.records import TaskVerdict
from pipeline.judge.signatures import Signature
from tests.analysis.made import grades, signed
from tests.analysis.test_findings import study

CHECK, TRAINED, OTHER = "arithmetic", "hi_tom_orders_0_2", "hi_tom_order_3"


def answers(column: str, right: int, count: int = 200) -> pd.DataFrame:
    """So many right answers of all, each about a story of its own."""
    return grades(column, [float(place < right) for place in range(count)])


def signature(name: str, value: float) -> dict[str, object]:
    what = "share of responses that show it"
    return Signature(name, value > 0.5, value, value - 0.1, value + 0.1, what).as_json()


def verdict(answers: str, by: str | None = None) -> TaskVerdict:
    return TaskVerdict.model_validate(
        {
            "columns": [TRAINED],
            "answers": answers,
            "by": by,
            "explained": 0.8,
            "found": {"beliefs": None, "rule": 0.6},
            "answered": {"count": 100, "of": 100, "unread": []},
            "profile": [],
            "reasoning": "unfaithful",
            "answers_because": "few do",
            "reasoning_because": "half are true",
            "signatures": [
                signature("copied template", 0.8),
                signature("language drift", 0.0),
            ],
        }
    )


def made(after: dict[str, int]) -> Results:
    """A study whose base model is right on 100 of 200 everywhere."""
    results = study(order_3=0.3, lengths=[20.0] * 20)
    given = {
        key: [answers(n, 100 if key == "nano-base" else after.get(n, 100)) for n in NAMES]
        for key in results.cells
    }
    cells = {
        key: replace(
            cell,
            grades=pd.concat(given[key]),
            verdicts={"hi_tom_style": verdict("rule", "earliest exit")},
        )
        for key, cell in results.cells.items()
    }
    return replace(results, cells=cells)


NAMES = (TRAINED, OTHER, CHECK)


def test_a_verdict_for_each_cell_and_task() -> None:
    results = made({})
    found = cell_verdicts(*signed(results))
    assert [each.cell for each in found] == list(results.cells)
    line = verdicts_markdown(results, found).splitlines()[2]
    assert "rule (earliest exit) | 80% | rule from 60% | unfaithful | copied template" in line
    _, signatures = signed(results)
    sentence, shown = verdict_findings(results.trained(), signatures)
    assert shown == (
        "nano-hi: hi_tom_style: copied template: share of responses that show it 80.0 % (70.0 to "
        "90.0)."
    )
    assert sentence.endswith(
        "hi_tom_style: answers follow the rule 'earliest exit', reasoning is unfaithful: few do; "
        "half are true. With probability 0.8 these questions would show a rule from 60% of its "
        "answers; they cannot show beliefs."
    )
    assert sentence in findings(*signed(results))


def test_what_could_be_found_stands_beside_every_verdict_or_once_below() -> None:
    results = made({})
    found = cell_verdicts(*signed(results))
    table = verdict_table(results, found)
    assert table.caption == "task: hi_tom_style; could be found: rule from 60%"
    assert "could be found" not in [column.header for column in table.columns]
    other = found[0].model_copy(update={"task": "tomi", "found": {"beliefs": None, "rule": None}})
    table = verdict_table(results, [other, *found[1:]])
    (column,) = (each for each in table.columns if each.header == "could be found")
    assert list(column.cells) == ["nothing", *["rule from 60%"] * (len(results.cells) - 1)]
    assert not table.caption


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"beliefs": 0.655, "rule": 0.6}, "beliefs from 66%, rule from 60%"),
        ({"beliefs": None, "rule": 0.0}, "rule from 0%"),
        ({"beliefs": None, "rule": None}, "nothing"),
    ],
)
def test_what_could_be_found_in_short(found: dict[str, float | None], said: str) -> None:
    assert findable(found) == said


def test_what_training_did_stands_with_the_first_task_of_its_cell() -> None:
    results = made({OTHER: 40})
    two = {
        key: replace(cell, verdicts={**cell.verdicts, "tomi": verdict("unexplained", None)})
        for key, cell in results.cells.items()
    }
    named = {
        (each.cell, each.task): each.signatures
        for each in cell_verdicts(*signed(replace(results, cells=two)))
    }
    assert named["nano-hi", "hi_tom_style"] == ["copied template", "negative transfer"]
    assert named["nano-hi", "tomi"] == ["copied template"]
    assert "negative transfer" not in named["nano-base", "hi_tom_style"]


def test_every_signature_that_was_looked_for_is_there_with_its_effect() -> None:
    found = [each for each in cell_signatures(made({OTHER: 40})) if each.cell == "nano-hi"]
    told = [(each.task, each.name, each.present) for each in found]
    assert told[:2] == [
        ("hi_tom_style", "copied template", True),
        ("hi_tom_style", "language drift", False),
    ]
    assert ("", "negative transfer", True) in told and ("", "forgetting", False) in told
    (fallen,) = (each for each in found if each.name == "negative transfer")
    assert (fallen.value, fallen.what) == (-0.3, f"change of {OTHER}")
    assert -0.4 < fallen.low < -0.3 < fallen.high < -0.2


@pytest.mark.parametrize(
    ("after", "named"),
    [
        ({CHECK: 40}, "forgetting: change of arithmetic -30.0 points"),
        ({CHECK: 97}, None),  # within chance
        ({CHECK: 150}, None),
        ({OTHER: 40}, "negative transfer: change of hi_tom_order_3 -30.0 points"),
        ({TRAINED: 40}, None),  # trained itself
        ({OTHER: 160}, None),
    ],
)
def test_what_training_did_that_it_should_not(after: dict[str, int], named: str | None) -> None:
    said = [
        s for s in findings(*signed(made(after))) if "forgetting" in s or "negative transfer" in s
    ]
    assert bool(said) == (named is not None)
    assert named is None or named in said[0]


def test_changes_carry_intervals_and_corrected_p_values() -> None:
    rows = {row.task: row for row in made({OTHER: 40}).rows() if row.combination}
    changed, same = rows[OTHER], rows[TRAINED]
    assert changed.change_interval is not None and changed.p_value is not None
    assert changed.change_interval[1] < -0.2 and changed.p_value < 1e-6
    assert same.p_value == same.table_p_value == 1.0
    assert changed.table_p_value is not None and changed.table_p_value < 1e-6
    assert change_text(-0.3, (-0.4, -0.2)) == "-30.0 ± 10.0"
    assert change_text(-0.3, (-0.4, -0.2), 0.01) == "-30.0 ± 10.0 *"
    assert change_text(-0.3, None) == "-30.0 ± ?"
    assert change_text(None, None) == "-"
