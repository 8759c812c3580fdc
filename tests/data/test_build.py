"""From tasks to data sets: folds, the choice of rows, training rows, prompts, and what docs say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.audit.contamination import Fingerprints
from pipeline.config.data import Part
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.data.build import select, select_parts
from pipeline.data.folds import FOLDS, Folds
from pipeline.data.prompt import PROMPTS
from pipeline.data.sources import SOURCES
from pipeline.tasks.example import Example
from pipeline.tasks.registry import get
from tests.conftest import PROJECT


def rows_of(sizes: dict[str, int]) -> list[Example]:
    return [
        Example("b", "t", story, f"{n}?", "yes")
        for story, size in sizes.items()
        for n in range(size)
    ]


def test_folds_share_out_rows_by_whole_stories() -> None:
    examples = rows_of({f"story {n}": 1 + n % 7 for n in range(300)})
    folds = Folds.of(examples)
    rows = Counter(folds.fold_of(e.story_id) for e in examples)
    assert rows.total() == len(examples)
    for name, share in zip(FOLDS, (0.6, 0.2, 0.2), strict=True):
        assert abs(rows[name] - share * len(examples)) <= 7  # the largest story


def test_folds_ignore_the_order_of_rows_and_hold_for_stories_not_seen() -> None:
    examples = rows_of({f"story {n}": 3 for n in range(50)})
    folds = Folds.of(examples)
    assert folds == Folds.of(reversed(examples))
    assert folds.fold_of("a story of another task") in FOLDS
    assert Folds.of([]).fold_of("any") == "train"


def test_options_are_shown_where_the_task_says_so_and_nowhere_else() -> None:
    example = Example("opentom", "opentom_attitude", "Once.", "How?", "x", choices=("x", "y"))
    shown = {name: make(example)[-1]["content"] for name, make in PROMPTS.items()}
    assert shown["rlvr"] == "Story: Once.\nQuestion: How?\nOptions: x, y"
    assert shown["compact"] == "Once.\nHow?\nOptions: x, y"
    silent = replace(example, benchmark="hi_tom", task="hi_tom")
    assert PROMPTS["rlvr"](silent)[-1]["content"] == "Story: Once.\nQuestion: How?"
    assert PROMPTS["compact"](replace(example, choices=None))[-1]["content"] == "Once.\nHow?"


def test_the_sources_table_names_every_source_and_its_limits() -> None:
    text = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
    lines = {line.split("`")[1]: line for line in text.split("\n") if line.startswith("| `")}
    for name, source in SOURCES.items():
        assert ("non-commercial" in lines[name]) == source.non_commercial
        assert ("evaluation only" in lines[name]) == source.evaluation_only


@pytest.mark.parametrize("fold", FOLDS)
def test_fold_sizes_are_those_documented(mirror: Path, fold: str) -> None:
    text = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
    for task in ("fantom_yes_no", "fantom_list", "explore_tom_sample"):
        line = next(line for line in text.split("\n") if line.startswith(f"| `{task}` "))
        counts = [cell.strip() for cell in line.strip("|").split("|")[1:]]
        part = Part.model_validate({"task": task, "fold": fold})
        assert f"{len(select(mirror, part, 0)):,}" == counts[FOLDS.index(fold)]  # type: ignore[arg-type]


def test_exact_sizes_and_no_leak_in_the_published_sets_of_study_2(mirror: Path) -> None:
    study = find_study(PROJECT, "rlvr")
    params = expand(study)
    for name, wanted in (("fan", [900]), ("exp", [630, 270])):
        entry = params.dataset[name]
        train = select_parts(mirror, entry.train, entry.seed)
        validation = select_parts(mirror, entry.validation, entry.seed)
        assert (len(train), len(validation)) == (900, 300)
        if name == "exp":
            assert [
                sum(e.meta["needs_tom"] == flag for e in train) for flag in (True, False)
            ] == wanted
            simple = [e.order for e in train if not e.meta["needs_tom"]]
            assert 0.25 <= simple.count(-1) / len(simple) <= 0.4, "facts are kept"
        columns = {
            key: select(mirror, column, 0)
            for key, column in params.suite.tasks.items()
            if get(column.task).benchmark in ("fantom", "explore_tom")
        }
        assert (
            sum(
                len(columns[key])
                for key in columns
                if name in params.suite.tasks[key].trained and key != "fantom_sets"
            )
            == 300
        )
        known = Fingerprints.of(train)
        for examples in (validation, *columns.values()):
            overlap = known.overlap(examples)
            assert not overlap.found["story"] and not overlap.found["normalised_story"]


def test_the_grid_has_study_1s_data_by_story(mirror: Path) -> None:
    """Its ExploreToM part is of places only, half of it interesting, as Study 1 chose."""
    params = expand(find_study(PROJECT, "grid"))
    parts = [p for p in params.dataset["study-1"].train if p.task == "explore_tom_sample"]
    rows = select_parts(mirror, parts, 0)
    assert [e.meta["is_interesting"] for e in rows].count(True) * 2 == len(rows) == 1200
    assert {e.question_type for e in rows} == {"container", "room"}
    known = Fingerprints.of(rows)
    for key in ("explore_tom", "explore_tom_simple"):
        overlap = known.overlap(select(mirror, params.suite.tasks[key], 0))
        assert not overlap.found["story"] and not overlap.found["normalised_story"]
