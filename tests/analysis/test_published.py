"""Published results beside ours: the word of each figure, and files that say what is not so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.made_study import write_results
from pipeline.analysis.collect import collect
from pipeline.analysis.findings import findings
from pipeline.analysis.published import BesidePublished, beside_published
from pipeline.analysis.published_check import checked_tables
from pipeline.analysis.report import write_report
from pipeline.analysis.samples import Recorded
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Cell, Params
from pipeline.config.published import FOLDER, PaperRecord, find_record, record_names
from pipeline.config.study_files import find_study
from tests.analysis.made import signed
from tests.conftest import PROJECT, TINY

MODEL = "nano"
FIGURE = {"model": MODEL, "column": "hi_tom_order_3", "value": 50}
TRAINED = FIGURE | {"combination": "hi"}


def mini() -> Params:
    return expand(find_study(TINY, "mini"))


def accuracy(key: str, cell: Cell, column: str) -> float:
    """Base models are right on half of the questions, trained ones on 0.8 of them."""
    return 0.5 if cell.combination is None else 0.8


def write_published(root: Path, *tables: dict[str, Any]) -> None:
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    named = [{"name": "T", "source": "the paper", "measure": "accuracy"} | t for t in tables]
    record = {"paper": "arXiv 1", "title": "A paper", "statements": {}, "tables": named}
    (root / FOLDER / "mini.yaml").write_text(yaml.safe_dump(record))


def record_of(root: Path, name: str) -> PaperRecord:
    found = find_record(root, name)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the study mini that nobody ran."""
    root = tmp_path_factory.mktemp("made")
    write_results(mini(), root, accuracy)
    return root


@pytest.fixture
def beside(made: Path) -> Callable[..., BesidePublished]:
    """Set one published figure beside the made results."""

    def of(table: dict[str, Any] | None = None, **figure: Any) -> BesidePublished:
        write_published(made, {**(table or {}), "figures": [FIGURE | figure]})
        (found,) = beside_published(collect(mini(), made))
        return found

    return of


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        ({}, "replicated"),
        ({"value": 90}, "not replicated"),
        ({"combination": "hi", "value": 80}, "replicated"),
        ({"combination": "hi", "value": 50}, "not replicated"),
        ({"of": "lowest", "value": 80}, "replicated"),
        ({"of": "highest", "value": 50}, "not replicated"),
        ({"order": 3}, "replicated"),
        ({"column": "arithmetic"}, "replicated"),
        ({"column": ["hi_tom_order_3", "hi_tom_orders_0_2"]}, "replicated"),
        ({"step": 10, "not_run": "only the last is asked"}, "not run"),
        ({"column": "gone", "not_run": "there is no such column"}, "not run"),
    ],
)
def test_the_word_on_an_accuracy(
    beside: Callable[..., BesidePublished], figure: dict[str, Any], word: str
) -> None:
    found = beside(**figure)
    assert found.word == word
    assert (found.ours is None) == (word == "not run") == (found.why is not None)
    if found.ours is not None and found.low is not None and found.high is not None:
        assert found.low < found.ours < found.high
        assert found.difference == pytest.approx(found.ours - found.published)


@pytest.mark.parametrize(
    ("value", "word"), [(30, "replicated"), (3, "not replicated"), (-30, "not replicated")]
)
def test_the_word_on_a_change(
    beside: Callable[..., BesidePublished], value: float, word: str
) -> None:
    found = beside({"measure": "change of accuracy"}, combination="hi", value=value)
    assert found.word == word and found.ours == pytest.approx(30)
    assert found.texts()[5].startswith("+30.0")


def test_a_change_near_nothing_needs_the_published_sign(tmp_path: Path) -> None:
    write_results(mini(), tmp_path, lambda _key, c, _column: 0.5 if c.combination is None else 0.52)
    for value, word in ((1, "replicated"), (-1, "not replicated")):
        figures = [TRAINED | {"value": value}]
        write_published(tmp_path, {"measure": "change of accuracy", "figures": figures})
        (found,) = beside_published(collect(mini(), tmp_path))
        assert found.low is not None and found.low < -1 and found.word == word


def test_a_change_of_length(beside: Callable[..., BesidePublished]) -> None:
    table = {"measure": "change of length"}
    found = beside(table, combination="hi", value=-88.4)
    assert found.word == "not replicated" and found.unit == "%"
    assert found.low is not None and found.low < 0 < (found.high or 0)
    assert beside(table, combination="hi", value=found.ours).word == "replicated"


def test_median_words(beside: Callable[..., BesidePublished]) -> None:
    table = {"measure": "median words"}
    found = beside(table, value=5)
    assert (found.unit, found.word) == ("words", "not replicated")
    assert found.ours is not None and found.low is not None and found.high is not None
    assert 5 < found.low <= found.ours <= found.high
    assert beside(table, combination="hi", value=found.ours).word == "replicated"


def test_the_report_has_all_three_words(made: Path, tmp_path: Path) -> None:
    figures = [FIGURE, TRAINED, FIGURE | {"step": 3, "not_run": "<i>asked once</i>"}]
    write_published(made, {"reading": "by <b>story</b>", "figures": figures})
    results = collect(mini(), made)
    write_report(results, Recorded({}, {}), tmp_path)
    written = json.loads((tmp_path / "results.json").read_text())["published"]
    assert [each["word"] for each in written] == ["replicated", "not replicated", "not run"]
    page, lines = (tmp_path / "index.html").read_text(), (tmp_path / "report.md").read_text()
    assert 'class="not-replicated"' in page and "by &lt;b&gt;story" in page
    assert "<i>asked once" not in page and "50 % | 80.0 |" in lines
    said = "of 3 figures that arXiv 1 publishes: 1 replicated, 1 not replicated, 1 not run."
    assert findings(*signed(results))[-1] == said


@pytest.mark.parametrize("name", record_names(PROJECT))
def test_the_docs_count_the_figures(name: str) -> None:
    published = record_of(PROJECT, name)
    text = (PROJECT / "docs" / "studies.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith(f"| of `{name}` "))
    pairs = [(table, figure) for table in published.tables for figure in table.figures]
    left = sum(bool(table.not_run or figure.not_run) for table, figure in pairs)
    _, total, why = line.strip("| ").split(" | ")
    assert (int(total), int(why.partition(":")[0])) == (len(pairs), left)


@pytest.mark.parametrize("name", record_names(PROJECT))
def test_figures_of_the_papers_are_all_set_beside_ours(name: str, tmp_path: Path) -> None:
    params = expand(find_study(PROJECT, name))
    published = record_of(PROJECT, name)
    write_results(params, tmp_path)
    shutil.copytree(PROJECT / FOLDER, tmp_path / FOLDER)
    found = beside_published(collect(params, tmp_path))
    given = [(table, figure) for table in published.tables for figure in table.figures]
    said = [(table.name, figure.model_dump_json(exclude={"value"})) for table, figure in given]
    assert len(said) == len(set(said)) > 0
    for each, (table, figure) in zip(found, given, strict=True):
        assert (each.word == "not run") == bool(table.not_run or figure.not_run), each


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"column": "gone"}, "column: found 'gone'; allowed: hi_tom_orders_0_2, hi_tom_order_3"),
        ({"model": "gone"}, "model: found 'gone'; allowed: nano"),
        ({"combination": "gone"}, "combination: found 'gone'; allowed: hi"),
        ({"order": 2}, "order: found 2; allowed: those of hi_tom_order_3: 3"),
        ({"of": "lowest", "combination": "hi"}, "remove combination or of"),
        ({"column": ["hi_tom_order_3", "hi_tom_orders_0_2"], "order": 3}, "name one"),
        ({"step": 3}, "say in not_run why not step"),
        ({"combination": None}, "is of a trained model; give its combination"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, figure: dict[str, Any], said: str) -> None:
    measure = "change of accuracy" if figure.get("combination", "") is None else "accuracy"
    write_published(tmp_path, {"measure": measure, "figures": [FIGURE | figure]})
    with pytest.raises(UserError, match="records/mini.yaml has 1 mistake") as error:
        checked_tables(mini(), record_of(tmp_path, "mini"))
    assert said in str(error.value)
