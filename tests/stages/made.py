"""The data of a study, made by its stages in this process."""

from __future__ import annotations

from pathlib import Path

from pipeline.config.params import Params
from pipeline.stages import (
    acquire,
    audit,
    base,
    dataset,
    evaluate,
    judge,
    report,
    sources,
    suite,
    train,
)
from pipeline.stages.common import Stage


def make_data(root: Path, params: Params) -> None:
    """Run the stages up to the training sets."""
    for key in params.acquire:
        acquire.main(Stage("acquire", root, params), key)
    sources.main(Stage("sources", root, params))
    for key in params.dataset:
        dataset.main(Stage("dataset", root, params), key)


def make_base(root: Path, params: Params, model: str = "nano") -> None:
    """Run the stages up to the suite and a base model."""
    make_data(root, params)
    suite.main(Stage("suite", root, params))
    base.main(Stage("base", root, params), model)


def run_everything(root: Path, params: Params) -> None:
    """Run every stage, from the data to the report."""
    run_cells(root, params, "nano")
    report.main(Stage("report", root, params))


def run_cells(root: Path, params: Params, model: str) -> None:
    """Run every stage but the report, of a study with one base model."""
    make_base(root, params, model)
    audit.main(Stage("audit", root, params))
    for key in params.cells:
        train.main(Stage("train", root, params), key)
        evaluate.main(Stage("evaluate", root, params), key)
        judge.main(Stage("judge", root, params), key)
