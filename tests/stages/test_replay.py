"""Recorded answers in place of a model: graded and judged again, through the stages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.stages import base, evaluate, judge, train
from pipeline.stages.common import Stage
from tests.conftest import edited, shrink
from tests.stages.made import make_base

CELL, AGAIN = "nano-base", "again-base"
ANSWERS = Path("recorded") / "nano.jsonl"
Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Params, pd.DataFrame]:
    """A study that names the answers of its base model as a model, and these answers."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    with edited(root / "studies" / "mini.yaml") as study:
        study["base"]["models"]["again"] = {
            "kind": "recorded",
            "title": "Again",
            "answers": str(ANSWERS),
        }
        study["grid"]["evaluate_only"] = ["again"]
        study["evaluate"]["think"] = False
    params = expand(find_study(root, "mini"))
    assert params.base["again"].inputs == str(ANSWERS), "DVC follows the file"
    make_base(root, params)
    run(root, params, CELL)
    folder = root / "runs" / "mini" / CELL / "evaluate"
    return root, params, pd.read_parquet(folder / "responses.parquet")


def run(root: Path, params: Params, key: str) -> None:
    for module in (train, evaluate, judge):
        module.main(Stage(module.__name__.rpartition(".")[2], root, params), key)


def replay(root: Path, params: Params, rows: pd.DataFrame) -> None:
    (root / ANSWERS).parent.mkdir(exist_ok=True)
    rows.to_json(root / ANSWERS, orient="records", lines=True)
    base.main(Stage("base", root, params), "again")
    run(root, params, AGAIN)


def test_the_same_grades_and_verdicts_without_a_model(
    answered: tuple[Path, Params, pd.DataFrame],
) -> None:
    root, params, rows = answered
    replay(root, params, rows.sample(frac=1, random_state=0))
    first, then = (root / "runs" / "mini" / key for key in (CELL, AGAIN))
    for name in ("evaluate/grades.parquet", "judge/verdicts.json"):
        assert (then / name).read_bytes() == (first / name).read_bytes(), name
    found = pd.read_parquet(then / "evaluate" / "responses.parquet")
    assert set(found["engine"]) == {"replay"}
    replay(root, params, rows[["id", "response"]])
    name = "evaluate/grades.parquet"
    one, other = (pd.read_parquet(folder / name)["correct"] for folder in (first, then))
    pd.testing.assert_series_equal(one, other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.iloc[1:], r"answers \d+ of \d+ questions; there is no row for \w+; add"),
        (lambda rows: pd.concat([rows, rows.iloc[:1]]), "occurs twice"),
        (
            lambda rows: rows.assign(response=1),
            "line 1: the id must be text or a whole number",
        ),
        (
            lambda rows: rows.drop(columns="id"),
            "line 1: the id must be text or a whole number",
        ),
        (lambda rows: rows.assign(prompt_digest="0"), "was answered to another prompt"),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    answered: tuple[Path, Params, pd.DataFrame], change: Change, words: str
) -> None:
    root, params, rows = answered
    with pytest.raises(UserError, match=words):
        replay(root, params, change(rows))


def test_empty_answers_count_as_wrong(answered: tuple[Path, Params, pd.DataFrame]) -> None:
    root, params, rows = answered
    replay(root, params, rows.assign(response="</think>"))
    grades = pd.read_parquet(root / "runs" / "mini" / AGAIN / "evaluate" / "grades.parquet")
    assert not grades["correct"].any() and not grades["format_ok"].any()


def test_a_file_that_is_gone_or_has_changed(
    answered: tuple[Path, Params, pd.DataFrame],
) -> None:
    root, params, rows = answered
    replay(root, params, rows)
    (root / ANSWERS).write_text("")
    with pytest.raises(UserError, match="gone or has changed"):
        evaluate.main(Stage("evaluate", root, params), AGAIN)
    (root / ANSWERS).unlink()
    with pytest.raises(UserError, match=r"base\.models\.again\.answers: .* is not a file here"):
        base.main(Stage("base", root, params), "again")
