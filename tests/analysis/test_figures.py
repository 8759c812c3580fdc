"""Figures: where there is data for them, whatever the page's colour, no label over another."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.made_study import write_results
from benchmarks.report import large_study
from pipeline.analysis.collect import collect
from pipeline.analysis.figures import FIGURES, draw_all
from pipeline.analysis.figures.panels import style
from pipeline.analysis.grades import CORRECT, rows_of
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.evaluate.records import AskedStep
from tests.conftest import PROJECT, TINY

OF_OTHER_STUDIES = {"accuracy-against-tokens"}


def made(params: Params, folder: Path) -> Results:
    write_results(params, folder)
    return collect(params, folder)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two models of the large study, whose steps were asked."""
    found = made(large_study(PROJECT, models=2), tmp_path_factory.mktemp("large"))
    return replace(found, cells={key: along(result) for key, result in found.cells.items()})


def along(result: CellResult) -> CellResult:
    """A cell whose steps were asked every other question, if it was trained."""
    if not isinstance(result, TrainedResult):
        return result
    counts = rows_of(result.grades, CORRECT, result.tasks)["column"].value_counts()
    right = {name: ("1-0-" * count)[:count] for name, count in counts.items()}
    return replace(result, along=tuple(AskedStep(step=s, right=right) for s in (50, 100, 150)))


def figure(results: Results, name: str) -> Figure:
    with matplotlib.rc_context(style()):
        drawn = FIGURES[name][0](results)
    assert drawn is not None
    return drawn


def texts(found: Figure) -> list[str]:
    return [text.get_text() for axis in found.axes for text in axis.texts]


def test_same_numbers_same_bytes_in_words_and_nothing_painted_behind(large: Results) -> None:
    first = draw_all(large)
    assert draw_all(large) == first
    assert set(FIGURES) - set(first) == OF_OTHER_STUDIES
    for name, svg in first.items():
        assert svg.startswith('<svg role="img" aria-label="')
        assert "fill: #ffffff" not in svg.partition('id="axes_1"')[0], name


def test_transfer_has_a_number_for_every_training_and_column(large: Results) -> None:
    found = figure(large, "transfer")
    assert [axis.get_title(loc="left").partition(":")[0] for axis in found.axes] == [
        *("Qwen2.5-0.5B-Instruct", "Qwen2.5-1.5B-Instruct")
    ]
    assert len(texts(found)) == 2 * 7 * 13
    trained, base = (large.cells[f"qwen25-05b-{end}"] for end in ("hi", "base"))
    after, before = (cell.tasks["hi_tom_generated"].accuracy for cell in (trained, base))
    assert texts(found)[0] == f"{round(100 * (after - before)):+d}"


def test_models_and_combinations(large: Results) -> None:
    found = figure(large, "models-and-combinations")
    assert len(found.axes) == 2 and len(texts(found)) == 2 * 2 * 7


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in OF_OTHER_STUDIES])
def test_no_label_lies_over_another_or_beyond_the_edge(large: Results, name: str) -> None:
    nothing_overlaps(figure(large, name))


def nothing_overlaps(found: Figure) -> None:
    canvas = FigureCanvasAgg(found)
    canvas.draw()
    whole = found.bbox
    for axis in found.axes:
        below = [label.get_window_extent() for label in axis.get_yticklabels()]
        below.sort(key=lambda box: box.y0)
        assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(below))
        box = axis.get_tightbbox()
        assert box is not None
        assert box.x0 >= whole.x0 - 1 and box.x1 <= whole.x1 + 1
    for legend in found.legends:
        above = legend.get_window_extent()
        assert not any(above.overlaps(axis.bbox) for axis in found.axes)
        assert above.x1 <= whole.x1 + 1


def test_programs_stand_beside_trainings_by_the_tokens_they_take(tmp_path: Path) -> None:
    results = made(expand(find_study(PROJECT, "test-time-or-training")), tmp_path)
    found = figure(results, "accuracy-against-tokens")
    nothing_overlaps(found)
    assert [axis.get_title() for axis in found.axes] == [
        *("Qwen2.5-3B-Instruct", "Qwen2.5-7B-Instruct")
    ]
    for axis in found.axes:
        marks = [bar.lines[0].get_marker() for bar in axis.containers]  # type: ignore[attr-defined]
        assert sorted(marks) == ["o"] * 7 + ["s"]


def test_no_figure_without_its_data(tmp_path: Path) -> None:
    params = expand(find_study(TINY, "mini"))
    one = {key: cell for key, cell in params.cells.items() if key.startswith("nano")}
    drawn = draw_all(made(params.model_copy(update={"cells": one}), tmp_path))
    assert not {"models-and-combinations", "transfer"} & {*drawn}


def test_long_curves_are_thinned_to_their_ends(large: Results) -> None:
    found = figure(large, "training-curves")
    for line in found.axes[1].lines:
        steps = list(map(float, line.get_xdata()))  # type: ignore[arg-type]
        assert len(steps) <= 150 and steps[0] == 1
    assert max(max(map(float, line.get_xdata())) for line in found.axes[1].lines) == 3375  # type: ignore[arg-type]
