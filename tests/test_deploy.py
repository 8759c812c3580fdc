"""Deployments on a real Prefect server, and the scheduled check that a real worker runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar
from uuid import UUID

import httpx
import pytest
import yaml
from prefect.artifacts import Artifact
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterName,
)
from prefect.client.schemas.objects import FlowRun
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Pending, Scheduled
from prefect.utilities.templating import apply_values

from flows.automations import automations
from flows.check import Drifted, check
from flows.deploy import DeploymentEntry, deploy, make_automation, make_pool, notification_block
from flows.pools import WorkPool, image_of
from pipeline.base.errors import UserError
from pipeline.base.git import checked_out
from pipeline.config.study_files import study_files
from tests.alive import Found, until
from tests.conftest import PROJECT, commit, copy_checkout, edited, ended_well
from tests.prefect_server import own_server
from tests.said import tomrl
from tests.serving import Quiet, serving

Deployed = tuple[Path, SyncPrefectClient, list[DeploymentEntry]]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A checkout, a client of a server, and what was made on it."""
    home = tmp_path_factory.mktemp("scheduled")
    checkout = copy_checkout(home / "checkout")
    commit(checkout)
    # An automation is not tried again.
    with own_server(home, PREFECT_SERVER_DATABASE_TIMEOUT="60") as client:
        yield checkout, client, list(deploy(checkout))


@pytest.fixture
def client(deployed: Deployed) -> SyncPrefectClient:
    return deployed[1]


def work_off(
    deployed: Deployed, client: SyncPrefectClient, name: str, **parameters: object
) -> FlowRun:
    """Have a worker of the machine's pool take one run, and return how it ended."""
    checkout, _, _ = deployed
    deployment = client.read_deployment_by_name(name)
    run = client.create_flow_run_from_deployment(deployment.id, parameters=parameters)
    worker = (sys.executable, "-m", "prefect", "worker", "start", "--pool", "tomrl", "--run-once")
    done = subprocess.run(worker, cwd=checkout.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    ended: FlowRun = client.read_flow_run(run.id)
    return ended


def test_a_fresh_server_has_all_of_it(deployed: Deployed, client: SyncPrefectClient) -> None:
    checkout, _, entries = deployed
    assert {entry.how for entry in entries} == {"made"}
    asked = yaml.safe_load((checkout / "prefect.yaml").read_text())["deployments"]
    there = {each.name: each for each in client.read_deployments()}
    assert set(there) == {each["name"] for each in asked}
    assert all(each.description and "tomrl" in each.tags for each in there.values())
    assert {each.version for each in there.values()} == {checked_out(checkout)}
    assert all(each.global_concurrency_limit.limit == 1 for each in there.values())
    assert {each.concurrency_options.collision_strategy for each in there.values()} == {
        "ENQUEUE",
        "CANCEL_NEW",
    }
    schedules = [each.schedule for each in there["nightly"].schedules]
    assert {each.timezone for each in schedules} == {"Europe/Berlin"}
    assert {pool.name: pool.type for pool in client.read_work_pools()} == {
        "tomrl": "process",
        "tomrl-kubernetes": "kubernetes",
    }
    assert len(client.read_automations()) == 3


def test_pods_beat_and_share_a_checkout(client: SyncPrefectClient) -> None:
    template = client.read_work_pool("tomrl-kubernetes").base_job_template
    properties = template["variables"]["properties"]
    assert properties["env"]["default"] == {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "60"}
    values = {name: each["default"] for name, each in properties.items() if "default" in each}
    pod = apply_values(template["job_configuration"]["job_manifest"], values)["spec"]["template"]
    volume, temporary = pod["spec"]["volumes"]
    assert volume["persistentVolumeClaim"] == {"claimName": "tomrl-checkout"}
    assert temporary == {"name": "tmp", "emptyDir": {}}
    (container,) = pod["spec"]["containers"]
    assert container["image"] == image_of(PROJECT) == "registry.example.org/tomrl:1"
    mounted = {"name": volume["name"], "mountPath": "/checkout"}
    assert container["volumeMounts"] == [mounted, {"name": "tmp", "mountPath": "/tmp"}]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["resources"]["limits"] == {"cpu": "4", "memory": "32Gi"}
    assert pod["metadata"]["labels"] == {"tomrl/part": "study"}
    assert [source for each in container["envFrom"] for source in each] == [
        "configMapRef",
        "secretRef",
    ]
    steps = client.read_deployment_by_name("scheduled sweep/tom-rl").pull_steps
    assert [list(step.values()) for step in steps or ()] == [[{"directory": "/checkout"}]]


def test_forms_offer_choices(client: SyncPrefectClient) -> None:
    form = client.read_deployment_by_name("study/mini").parameter_openapi_schema["properties"]
    (offered,) = [each["enum"] for each in form["study"]["anyOf"] if "enum" in each]
    swept = client.read_deployment_by_name("scheduled sweep/tom-rl").parameter_openapi_schema
    on_cluster = swept["properties"]["study"]["enum"]
    assert "mini" in offered and "tom-rl" in on_cluster and not set(offered) & set(on_cluster)
    assert {*offered, *on_cluster} == set(study_files(PROJECT))
    form = client.read_deployment_by_name("check/nightly").parameter_openapi_schema["properties"]
    assert form["parts"]["items"]["enum"] == ["results", "upstream", "servers", "disk"]


@pytest.mark.parametrize("name", ["study/mini", "scheduled sweep/grid-mini"])
def test_the_server_refuses_an_unknown_study(client: SyncPrefectClient, name: str) -> None:
    mini = client.read_deployment_by_name(name)
    with pytest.raises(
        Exception, match="field 'study'. Failure reason: 'mimi' is not one of .*'mini'"
    ):
        client.create_flow_run_from_deployment(mini.id, parameters={"study": "mimi"})


def test_the_server_refuses_no_concurrency(client: SyncPrefectClient) -> None:
    sweep = client.read_deployment_by_name("scheduled sweep/tom-rl")
    for given in (0, -2):
        with pytest.raises(Exception, match=f"field 'concurrency'. Failure reason: .*{given} "):
            client.create_flow_run_from_deployment(sweep.id, parameters={"concurrency": given})


def test_it_may_be_run_again(
    deployed: Deployed, client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after `prefect deploy --all`; what is missing or differs is put right."""
    checkout, _, entries = deployed
    client.delete_deployment(client.read_deployment_by_name("study/mini").id)
    (late,) = client.read_automations_by_name("tomrl: late checks")
    altered = automations()[-1].model_copy(update={"description": "", "enabled": False})
    client.update_automation(late.id, altered)
    ended_well(checkout, "prefect", "--no-prompt", "deploy", "--all")
    monkeypatch.chdir(checkout)
    lines = [line.split(maxsplit=1) for line in tomrl("deploy", columns=200).splitlines()]
    *others, _ = entries  # Prefect alone offers every study in every form
    forms = [each.kind == "deployment" and each.name != "check/nightly" for each in others]
    expected = ["changed" if has_form else "there" for has_form in forms] + ["changed"]
    assert [line[0] for line in lines] == expected
    assert [line[1].split()[-1] for line in lines] == [each.name.split()[-1] for each in entries]
    (late,) = client.read_automations_by_name("tomrl: late checks")
    assert late.description and not late.enabled


def test_a_worker_runs_the_check(deployed: Deployed, client: SyncPrefectClient) -> None:
    run = work_off(deployed, client, "check/nightly", parts=["servers", "disk"], free_gibibytes=0)
    assert run.state is not None and run.state.is_completed(), run.state
    artifact = Artifact.get("check")
    assert artifact is not None and artifact.flow_run_id == run.id
    rows = {row["what"]: row[""] for row in json.loads(str(artifact.data))}
    unset = {"mlflow": "-", "ray": "-", "remote of DVC": "-"}
    assert rows == unset | {"prefect": "ok"} | {
        f"disk of {place}": "ok" for place in ("checkout", "temporary files")
    }


def test_a_worker_begins_a_sweep(deployed: Deployed, client: SyncPrefectClient) -> None:
    """One that is refused at once: the checkout has not the commit of the deployment."""
    sweep = client.read_deployment_by_name("scheduled sweep/grid-mini")
    client.update_deployment(sweep.id, DeploymentUpdate(version="0" * 40))
    try:
        run = work_off(deployed, client, "scheduled sweep/grid-mini", concurrency=1)
    finally:
        client.update_deployment(sweep.id, DeploymentUpdate(version=sweep.version))
    assert run.name == "sweep-of-grid-mini"
    assert run.state is not None and run.state.is_failed(), run.state
    assert "was made from commit 000000000000, which the worker's" in str(run.state.message)
    assert not (deployed[0] / "work" / "sweeps" / "grid-mini" / "sweep.json").exists()


def test_a_sweep_is_triggered_by_the_clock_once_it_is_switched_on(
    client: SyncPrefectClient, deployed: Deployed
) -> None:
    names = [f"scheduled sweep/{each}" for each in ("grid-mini", "grid", "order-ablation", "rlvr")]
    name = "scheduled sweep/tom-rl"
    for each in (*names, name):
        sweep = client.read_deployment_by_name(each)
        (schedule,) = sweep.schedules
        assert not schedule.active
    command = (sys.executable, "-m", "prefect", "deployment", "schedule", "resume")
    subprocess.run([*command, name, str(schedule.id)], check=True, capture_output=True)
    assert {each.name: each.how for each in deploy(deployed[0])}[name] == "there"
    (schedule,) = client.read_deployment_by_name(name).schedules
    assert schedule.active
    wanted = DeploymentFilter(id=DeploymentFilterId(any_=[sweep.id]))
    runs = partial(client.read_flow_runs, deployment_filter=wanted)
    soon(lambda: any(run.auto_scheduled for run in runs()))
    client.update_deployment_schedule(sweep.id, schedule.id, active=False)


def test_a_notification_is_made_when_it_is_asked_for(client: SyncPrefectClient) -> None:
    """The server itself refuses an automation that it does not understand."""
    with pytest.raises(UserError, match="--notify slack-webhook/team: the server has no such"):
        list(deploy(PROJECT, "slack-webhook/team"))
    CustomWebhookNotificationBlock(name="team", url="http://127.0.0.1:9/").save("team")
    block = notification_block(client, "custom-webhook/team")
    assert make_automation(client, automations(block)[-1]).how == "made"
    assert make_automation(client, automations(block)[-1]).how == "there"
    (made,) = client.read_automations_by_name("tomrl: notification")
    client.delete_automation(made.id)


SILENT_RUN = """
import sys, time
from prefect import flow, tags

@flow(flow_run_name=sys.argv[1])
def silent():
    time.sleep(600)

with tags("tomrl"):
    silent()
"""


class Heard(Quiet):
    """Where notifications arrive."""

    bodies: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.bodies.append(self.body().decode())
        self.answer()


@pytest.fixture
def listening() -> Iterator[str]:
    with serving(Heard) as address:
        yield f"{address}/"


@pytest.fixture
def automated(client: SyncPrefectClient, listening: str) -> Iterator[None]:
    """All automations at once, with seconds for minutes and hours, and a notification."""
    told = {"text": "{{subject}} because {{body}}"}
    block = CustomWebhookNotificationBlock(name="heard", url=listening, json_data=told)
    made = []
    for wanted in automations(block.save("heard", overwrite=True)):
        trigger = wanted.trigger
        assert isinstance(trigger, EventTrigger)
        if trigger.posture is Posture.Proactive:
            trigger = trigger.model_copy(update={"within": timedelta(seconds=10)})
        name = f"{wanted.name}, at once"
        make_automation(client, wanted.model_copy(update={"name": name, "trigger": trigger}))
        made += client.read_automations_by_name(name)
    yield
    for each in made:
        client.delete_automation(each.id)


@pytest.mark.usefixtures("automated")
def test_runs_that_nobody_looks_after_are_ended(client: SyncPrefectClient, tmp_path: Path) -> None:
    """One is killed, one is handed to a worker that never begins it, one is taken by none.

    Each kind again, if nothing came of it: Prefect drops an event whose handling met a locked
    SQLite, as on a busy machine it does. With PostgreSQL, which teams have, nothing is locked so.
    """
    (tmp_path / "silent.py").write_text(SILENT_RUN)
    begin = {
        "silent": partial(killed_run, client, tmp_path / "silent.py"),
        "stuck": partial(stuck_run, client),
        "late": partial(late_run, client),
    }
    wanted = {"silent": "Crashed", "stuck": "Crashed", "late": "Cancelled"}
    begun: dict[str, list[UUID]] = {kind: [] for kind in begin}

    def open_kinds() -> list[str]:
        """Those of which no run has both ended as wanted and been told of."""
        runs = {kind: [client.read_flow_run(each) for each in begun[kind]] for kind in begin}
        told = {body.split()[1] for body in Heard.bodies}
        return [
            kind
            for kind, wants in wanted.items()
            if not any(run.state_name == wants and run.name in told for run in runs[kind])
        ]

    for number in range(6):
        for kind in open_kinds():
            begun[kind].append(begin[kind](f"{kind}-{number}"))
        if until(lambda: not open_kinds(), 30, every=0.5):
            break
    assert not open_kinds(), (begun, Heard.bodies)
    messages = [str(client.read_flow_run(each).state.message) for each in begun["stuck"]]  # type: ignore[union-attr]
    assert any("its worker or its pod never started it" in message for message in messages)
    assert any(re.search(r"tomrl: stuck-\d is Crashed because", body) for body in Heard.bodies)


def killed_run(client: SyncPrefectClient, script: Path, name: str) -> UUID:
    """Begin a run and kill its process once a heartbeat of it was heard."""
    often = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
    killed = subprocess.Popen([sys.executable, script, name], env=os.environ | often)
    named = FlowRunFilter(name=FlowRunFilterName(any_=[name]))
    found: UUID = soon(lambda: client.read_flow_runs(flow_run_filter=named))[0].id
    beats = {
        "event": {"name": ["prefect.flow-run.heartbeat"]},
        "any_resource": {"id": [f"prefect.flow-run.{found}"]},
    }
    asked, events = {"filter": beats}, f"{os.environ['PREFECT_API_URL']}/events/filter"
    soon(lambda: httpx.post(events, json=asked).json()["events"])
    killed.kill()
    killed.wait()
    return found


def stuck_run(client: SyncPrefectClient, name: str) -> UUID:
    """Make a run that was handed to a worker."""
    mini = client.read_deployment_by_name("study/mini")
    return client.create_flow_run_from_deployment(mini.id, state=Pending(), name=name).id


def late_run(client: SyncPrefectClient, name: str) -> UUID:
    """Make a run that should have begun minutes ago."""
    nightly = client.read_deployment_by_name("check/nightly")
    due = Scheduled(scheduled_time=datetime.now(UTC) - timedelta(minutes=5))
    return client.create_flow_run_from_deployment(nightly.id, state=due, name=name).id


def soon(reached: Callable[[], Found]) -> Found:
    """What is reached, once it is."""
    found = until(reached, 120, every=0.5)
    assert found
    return found


def test_a_pool_of_another_kind(client: SyncPrefectClient) -> None:
    with pytest.raises(UserError, match="work pool tomrl is of kind process, .* need docker"):
        list(make_pool(client, WorkPool("tomrl", "docker", "", {}), PROJECT))


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    shutil.copy(PROJECT / "studies" / "mini.yaml", tmp_path / "studies")
    shutil.copy(PROJECT / "prefect.yaml", tmp_path)
    with edited(tmp_path / "prefect.yaml") as content:
        content["deployments"][0]["parameters"]["study"] = "mimi"
    with pytest.raises(UserError, match="deployment mini: parameters.study is 'mimi'.*are: mini$"):
        list(deploy(tmp_path))


@pytest.mark.parametrize("content", ["", "deployments: 3", "deployments: [", "deployments: [a]"])
def test_a_file_that_lists_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "prefect.yaml").write_text(content)
    with pytest.raises(UserError, match="prefect.yaml: no list `deployments`"):
        list(deploy(tmp_path))


def test_a_server_that_nobody_names() -> None:
    unset = temporary_settings(restore_defaults={PREFECT_API_URL})
    with unset, pytest.raises(UserError, match="PREFECT_API_URL is not set"):
        list(deploy(PROJECT))


def test_an_address_of_something_else(deployed: Deployed) -> None:
    other = temporary_settings({PREFECT_API_URL: f"{os.environ['PREFECT_API_URL']}/nothing"})
    with other, pytest.raises(UserError, match="answers 404, not as a Prefect server"):
        list(deploy(PROJECT))


def test_a_check_that_finds_something_fails(deployed: Deployed) -> None:
    """The table is there nonetheless."""
    checkout, _, _ = deployed
    with pytest.raises(Drifted, match="2 of 2 findings.*\n- disk of checkout: .* 1e.09 wanted"):
        check(parts=["disk"], free_gibibytes=1e9, checkout=str(checkout))
    artifact = Artifact.get("check")
    assert artifact is not None
    assert [row[""] for row in json.loads(str(artifact.data))] == ["wrong"] * 2
