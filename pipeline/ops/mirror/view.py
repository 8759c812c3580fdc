"""How MLflow's page shows a study: a row for each cell, with the columns that matter.

MLflow keeps a view that people share as a tag of the experiment, ``mlflow.sharedViewState.KEY``,
and opens it where the address of the page has ``viewStateShareKey=KEY``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipeline.config.params import Params
from pipeline.judge.columns import judged_together

if TYPE_CHECKING:
    from mlflow import MlflowClient


def save_view(client: MlflowClient, experiment: str, params: Params) -> str:
    """Save the view of a study, and return where the page has it, after the server's address."""
    name = params.study.name
    from mlflow.exceptions import MlflowException

    state, page = json.dumps(view(params)), f"#/experiments/{experiment}/runs"
    try:
        client.set_experiment_tag(experiment, f"mlflow.sharedViewState.{name}", state)
    except MlflowException:
        return page  # whoever may not write sees the runs as MLflow shows them
    return f"{page}?viewStateShareKey={name}&workflowType=machine_learning"


def view(params: Params) -> dict[str, Any]:
    """The view: the current run of each cell, in the order of their names."""
    tasks, columns = params.suite.tasks, params.suite.columns
    shown = [
        "attributes.`Duration`",
        *(f"metrics.`evaluate/{column}/accuracy`" for column in columns),
        *(f"tags.`{name}`" for name in ("combination", "algorithm")),
        *(f"tags.`answers.{task}`" for task in judged_together(tasks)),
    ]
    name = params.study.name
    return {
        "searchFilter": f"tags.study = '{name}' and tags.level = 'cell' and tags.current = 'true'",
        "orderByKey": "tags.`mlflow.runName`",
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": shown,
        "runsHiddenMode": "FIRST_20_RUNS",
    }
