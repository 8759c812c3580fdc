"""A team's servers: users, artifacts through the server, a worker, a database that is killed."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import psycopg2
import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study
from pipeline.formats.files import write_text
from pipeline.ops.mirror.send import complete
from pipeline.ops.mirror.server import EXPERIMENT, prepare
from pipeline.stages.common import Stage
from pipeline.stages.followed import followed
from tests.alive import until
from tests.conftest import TINY, edited, type_command
from tests.engines.team import Served
from tests.made_runs import write_study
from tests.team.servers import BUCKET

SECONDS = 1800
CHECK: dict[str, object] = {"parts": ["servers", "disk"], "free_gibibytes": 0}


@pytest.fixture(scope="module", autouse=True)
def engine() -> None:
    """These tests need no engine."""


@pytest.fixture(scope="module", autouse=True)
def account(served: Served) -> Iterator[None]:
    """MLflow's address and account alone: artifacts go through the server, without keys of S3."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in served.client.items():
            if name.startswith("MLFLOW_"):
                patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def params() -> Params:
    return expand(find_study(TINY, "mini"))


@pytest.fixture(scope="module")
def sent(served: Served, params: Params, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study, which was sent to the team's MLflow."""
    root = tmp_path_factory.mktemp("sent")
    write_study(params, root)
    complete(params, root, again=True)
    return root


@contextmanager
def client_of(served: Served) -> Iterator[SyncPrefectClient]:
    """A client of the team's Prefect."""
    settings = {
        each: served.client[each.name] for each in (PREFECT_API_URL, PREFECT_API_AUTH_STRING)
    }
    with temporary_settings(settings), get_client(sync_client=True) as found:
        yield found


@pytest.fixture
def prefect(served: Served) -> Iterator[SyncPrefectClient]:
    with client_of(served) as found:
        yield found


def is_shown(root: Path) -> bool:
    client = prepare(root)
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    return bool(client.search_runs([experiment], "tags.seed = '7'"))


def counts(served: Served) -> dict[str, int]:
    tables = ("metrics", "runs", "tags", "inputs", "logged_models", "model_versions")
    with psycopg2.connect(served.team.postgres.address("mlflow")) as connection:
        cursor = connection.cursor()
        found = {}
        for table in tables:
            cursor.execute(f"select count(*) from {table}")
            found[table] = cursor.fetchone()[0]
    connection.close()
    return found


def worked_off(prefect: SyncPrefectClient, name: str, **parameters: object) -> FlowRun:
    """What the team's worker was given to run, and has completed."""
    deployment = prefect.read_deployment_by_name(name)
    run = prefect.create_flow_run_from_deployment(deployment.id, parameters=parameters)

    def ended() -> bool:
        state = prefect.read_flow_run(run.id).state
        return state is not None and state.is_final()

    assert until(ended, SECONDS, every=1)
    found: FlowRun = prefect.read_flow_run(run.id)
    assert found.state is not None and found.state.is_completed(), found.state
    return found


def test_a_study_is_tracked_with_an_account(served: Served, sent: Path, params: Params) -> None:
    client = prepare(sent)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment.artifact_location.startswith("mlflow-artifacts:")
    models = client.search_logged_models([experiment.experiment_id], "tags.cell = 'nano-hi'")
    assert {model.name for model in models} == {"nano-hi-best", "nano-hi-last"}
    keys = served.client
    bucket = boto3.client(
        "s3",
        endpoint_url=keys["AWS_ENDPOINT_URL"],
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        region_name=keys["AWS_DEFAULT_REGION"],
    )
    kept = {each["Key"] for each in bucket.list_objects_v2(Bucket=BUCKET)["Contents"]}
    assert any(key.endswith("/artifacts/train/config.json") for key in kept)
    before = counts(served)
    complete(params, sent, again=True)
    assert counts(served) == before


def test_secrets_are_read_by_their_owner_alone(served: Served) -> None:
    for name in ("secrets.env", "client.env", "mlflow-auth.ini"):
        mode = stat.S_IMODE((served.team.folder / name).stat().st_mode)
        assert mode == 0o600, name


@pytest.mark.parametrize("user", ["admin", "stranger", ""])
def test_a_wrong_password_is_said_in_one_sentence(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", user)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong")
    said = f"refuses {user or 'nobody'}: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
    with pytest.raises(UserError, match=said):
        prepare(tmp_path)


def test_a_password_of_prefect_that_is_wrong(served: Served) -> None:
    client = {**served.client, "PREFECT_API_AUTH_STRING": "tomrl:wrong"}
    checkout = served.team.checkout
    said = type_command(checkout, checkout.parent, "tomrl", "deploy", **client)
    assert said.returncode == 2 and "PREFECT_API_AUTH_STRING" in said.stderr
    assert len(said.stderr.splitlines()) < 5


def test_the_worker_runs_what_is_deployed(served: Served, prefect: SyncPrefectClient) -> None:
    worked_off(prefect, "check/nightly", **CHECK)


def test_a_killed_database_loses_nothing(
    served: Served, prefect: SyncPrefectClient, params: Params, tmp_path: Path
) -> None:
    known = {run.id for run in prefect.read_flow_runs()}
    seeded = params.cells["nano-hi"].model_copy(update={"seed": 7})
    study = params.model_copy(update={"cells": {**params.cells, "nano-hi": seeded}})
    write_study(study, tmp_path)
    write_text(tmp_path / "params.yaml", params_text(find_study(TINY, "mini")))
    with edited(tmp_path / "params.yaml") as content:
        content["cells"]["nano-hi"]["seed"] = 7
    with followed(Stage("train", tmp_path, study).of("nano-hi"), patience=0) as said:
        said.step("train", 1, {"accuracy": 0.5}, at=1.0)
        assert until(lambda: is_shown(tmp_path), SECONDS)
        served.kill_database()
        said.step("train", 2, {"accuracy": 0.5}, at=2.0)
    assert until(lambda: served.team.postgres.query("select 1", "mlflow"), SECONDS)
    complete(study, tmp_path, again=True)
    client = prepare(tmp_path)
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    (run,) = client.search_runs([experiment], "tags.cell = 'nano-hi' and tags.seed = '7'")
    points = client.get_metric_history(run.info.run_id, "train/accuracy")
    assert {point.step for point in points} == set(range(1, 13))
    assert run.info.status == "FINISHED" and run.data.tags["current"] == "true"
    assert served.process.poll() is None and served.team.client_file.exists()
    assert known <= {run.id for run in prefect.read_flow_runs()}
    worked_off(prefect, "check/nightly", **CHECK)
