"""``tomrl ui``: MLflow's pages on the runs of this checkout, in one process."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.cli.terminal import Terminal
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from pipeline.analysis.run_links import RunsAt

_SERVER = "mlflow.server.fastapi_app:app"
console = Terminal()


def ui(
    port: Annotated[int, typer.Option(help="Port on this machine.", min=1, max=65535)] = 5000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open MLflow on the runs of this checkout; stop it with Ctrl-C.

    Its page shows the cells of the study in use with their accuracies and verdicts, and the report
    links to it.

    Example: `tomrl ui --port 5001`, then open the address that it prints
    """
    from pipeline.analysis.run_links import RunsAt
    from pipeline.ops.mirror.server import EXPERIMENT, prepare, tracking_uri, without_secrets
    from pipeline.ops.mirror.view import save_view

    root = find_root()
    params = read_params(root / "params.yaml")
    _refuse_taken(host, port)
    client, uri = prepare(root), tracking_uri(root)
    experiment = str(client.get_experiment_by_name(EXPERIMENT).experiment_id)
    elsewhere = uri.startswith("http")
    address = without_secrets(uri).rstrip("/") if elsewhere else f"http://{host}:{port}"
    page = f"{address}/{save_view(client, experiment, params)}"
    said = "the runs are on an MLflow server" if elsewhere else "MLflow"
    console.print(f"{said}: {page}", highlight=False, soft_wrap=True)
    _link_report(params, root, RunsAt(address, experiment))
    if not elsewhere:
        _serve(uri, host, port)


def _link_report(params: Params, root: Path, runs_at: RunsAt) -> None:
    page = root / "reports" / params.study.name / "index.html"
    if page.is_file():
        from pipeline.ops.mirror.ran import copied_page, write_with_runs

        copy = copied_page(root, params.study.name)
        write_with_runs(params, root, page, copy, runs_at)
        console.print(f"report: {copy}, which links to it", highlight=False, soft_wrap=True)


def _refuse_taken(host: str, port: int) -> None:
    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        raise UserError(
            f"{host}:{port}: cannot listen there ({error.strerror}); choose another one with "
            "--port, or --host"
        ) from None


def _serve(uri: str, host: str, port: int) -> None:
    """Serve MLflow's application from this process until a signal ends it.

    `mlflow ui` starts four workers, a job runner and seven consumers of job queues that nothing
    here fills: sixteen processes, which survive a signal to the first.
    """
    import uvicorn
    from mlflow.server.constants import BACKEND_STORE_URI_ENV_VAR

    os.environ[BACKEND_STORE_URI_ENV_VAR] = uri
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    uvicorn.run(_SERVER, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1)
