"""Links from the report to the runs in MLflow."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

UI = "http://127.0.0.1:5000"
"""Where ``tomrl ui`` listens, unless it is told otherwise."""

EXPERIMENT = "1"
"""Id of the first experiment of a database that this project has made."""


@dataclass(frozen=True, slots=True)
class RunsAt:
    """Where MLflow has the runs.

    Attributes:
        server: Its address.
        experiment: The id of the experiment.
    """

    server: str
    experiment: str


def run_link(study: str, key: str) -> str:
    """The address of MLflow's list of the runs of a cell, the present one on top.

    What leads to them is what they are tagged with, so that the report is the same bytes wherever
    its runs are. They are sorted by name, as else MLflow folds a cell into its study.
    """
    wanted = f"tags.study = '{study}' and tags.cell = '{key}' and tags.current = 'true'"
    query = {
        "searchFilter": wanted,
        "orderByKey": "tags.`mlflow.runName`",
        "orderByAsc": "true",
        "workflowType": "machine_learning",
    }
    return f"{UI}/#/experiments/{EXPERIMENT}/runs?{urlencode(query, quote_via=quote)}"
