"""The rules that learn nothing, on small stories and, where present, on the real benchmarks."""

from __future__ import annotations

import ast
import csv
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pipeline.tom.shortcut import SHORTCUTS, guess, pick_unaware

Row = dict[str, Any]

STORY = (
    "Ann, Bob and Cleo entered the hall. The hat is in the box. Ann exited the hall. "
    "Bob moved the hat to the jar. Bob exited the hall. Cleo moved the hat to the tin. "
    "Cleo exited the hall. Ann likes the box. Bob likes the box."
)
QUESTION = "Where does Cleo think Bob thinks the hat is?"


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("initial", "box"),
        ("scene_start", "box"),
        ("first_move", "jar"),
        ("last", "tin"),
        ("most_frequent", "box"),
        ("innermost_exit", "jar"),
        ("outermost_exit", "tin"),
        ("earliest_exit", "jar"),
        ("phrase_cue", None),
        ("first_choice", "jar"),
        ("last_choice", "box"),
    ],
)
def test_each_rule(rule: str, answer: str | None) -> None:
    assert guess(rule, "hi_tom", STORY, QUESTION, "A. jar, B. tin, C. box") == answer


def test_the_last_scene_about_the_object_counts() -> None:
    story = STORY + " Ann and Bob entered the hall. The hat is in the tin. Bob exited the hall."
    assert guess("scene_start", "hi_tom", story, QUESTION) == "tin"
    assert guess("earliest_exit", "hi_tom", story, QUESTION) == "tin"
    assert guess("initial", "hi_tom", story, QUESTION) == "box"


def test_phrase_cue_takes_the_one_option_of_not_knowing() -> None:
    options = ["Ann believes it is red.", "Ann is unaware of it."]
    assert pick_unaware(options) == options[1]
    assert pick_unaware(options[:1]) is None
    assert pick_unaware([options[1], "Ann does not know."]) is None


def test_phrase_cue_on_topics() -> None:
    story = "Ann entered the hall. Bob entered the hall. Ann told out loud about the rent."
    first = "Does Bob know about rent? Answer yes or no."
    assert guess("phrase_cue", "explore_tom", story, first) == "no"
    assert guess("initial", "explore_tom", story, first) is None
    assert guess("earliest_exit", "explore_tom", story, first) is None


def test_rooms_are_candidates_where_a_room_is_asked_for() -> None:
    story = (
        "Ann entered the hall. Bob entered the attic. Bob left the attic. "
        "Ann moved the hat to the box, which is also located in the hall."
    )
    question = "In which room does Bob think that Ann will search for the hat?"
    assert guess("most_frequent", "explore_tom", story, question) == "hall"
    assert guess("last", "explore_tom", story, question) == "hall"


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown rule 'x'; allowed: initial"):
        guess("x", "hi_tom", STORY, QUESTION)


# The figures that are published or derived elsewhere


@pytest.fixture(scope="module")
def mirror() -> Path:
    named = os.environ.get("TOMRL_DATA_MIRROR")
    if not named or not Path(named).is_dir():
        pytest.skip("TOMRL_DATA_MIRROR names no folder with the upstream files")
    return Path(named)


def right(rule: str, benchmark: str, rows: Iterable[Row], by: str = "") -> Counter[Any]:
    """Count right answers, over all rows and by a column."""
    counts: Counter[Any] = Counter()
    for row in rows:
        answer = guess(rule, benchmark, row["story"], row["question"], row.get("choices"))
        correct = answer == row["answer"]
        counts["all"] += correct
        if by:
            counts[row[by]] += correct
    return counts


@pytest.fixture(scope="module")
def hi_tom(mirror: Path) -> list[Row]:
    data = json.loads((mirror / "hi_tom" / "Hi-ToM_data.json").read_text(encoding="utf-8"))["data"]
    return [row for row in data if row["prompting_type"] == "CoTP"]


def test_hi_tom_earliest_exit_is_right_on_88_5_percent(hi_tom: list[Row]) -> None:
    by_order = right("earliest_exit", "hi_tom", hi_tom, "question_order")
    assert len(hi_tom) - by_order["all"] == 69  # 88.5 %
    shares = [round(by_order[order] / 1.2, 1) for order in range(5)]
    assert shares == [100.0, 82.5, 84.2, 88.3, 87.5]
    tell = right("earliest_exit", "hi_tom", hi_tom, "deception")
    assert [round(tell[told] / 3, 1) for told in (False, True)] == [96.3, 80.7]


def test_hi_tom_start_of_the_last_scene_grows_with_the_order(hi_tom: list[Row]) -> None:
    by_order = right("scene_start", "hi_tom", hi_tom, "question_order")
    assert [round(by_order[order] / 1.2, 1) for order in range(1, 5)] == [32.5, 40.8, 49.2, 50.0]


def test_tomi_last_and_initial(mirror: Path) -> None:
    with (mirror / "tom_rl" / "ToMi_cleaned.csv").open(encoding="utf-8", newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    last, initial = (right(rule, "tomi", rows)["all"] for rule in ("last", "initial"))
    assert round(100 * last / 5994, 1) == 62.1
    # Two containers: what is not last is initial. Taking the first "is in the" of the text instead,
    # which may tell of an agent ("Mia is in the cellar."), would give 35.5.
    assert initial == 5994 - last
    naive = sum(row["story"].split(" is in the ")[1].split(".")[0] == row["answer"] for row in rows)
    assert round(100 * naive / 5994, 1) == 35.5


def test_explore_tom_most_frequent_candidate(mirror: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(mirror / "tom_rl" / "ToM_test_HiExTi_hint.parquet")
    rows = [row for row in table.to_pylist() if row["data_source"] == "explore_tom"]
    assert len(rows) == 1066
    # 241 of the questions have several places named equally often; the first named is taken. With
    # other ties the figure is anywhere from 65.5 to 87.3.
    assert right("most_frequent", "explore_tom", rows)["all"] == 746  # 70.0 %
    # A better rule that learns nothing: where the object was when the first of the chain left.
    assert right("earliest_exit", "explore_tom", rows)["all"] == 935  # 87.7 %


@pytest.mark.parametrize(
    ("access", "count", "expected"), [("inaccessible", 993, 90.9), ("accessible", 547, 5.5)]
)
def test_fantom_option_of_not_knowing(
    mirror: Path, access: str, count: int, expected: float
) -> None:
    points = []
    for path in sorted((mirror / "fantom").glob(f"FANToM_tom_belief_{access}_short*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                taken = pick_unaware(ast.literal_eval(row["answer_choices"]))
                # Where the cue does not decide, a coin does.
                points.append(0.5 if taken is None else float(taken == row["gt_answer"]))
    assert len(points) == count
    assert round(100 * sum(points) / count, 1) == expected


def test_every_rule_has_a_name() -> None:
    assert len(SHORTCUTS) == 15
