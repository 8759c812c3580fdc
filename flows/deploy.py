"""Setting up a Prefect server: pools, limits, deployments, automations.

Pools and limits stay as they are; deployments and automations follow the files.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentUpdate, WorkPoolCreate
from prefect.client.schemas.objects import DeploymentSchedule
from prefect.client.schemas.responses import DeploymentResponse
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.settings import PREFECT_API_URL

from flows.automations import automations
from flows.pools import POOLS, WorkPool, job_template
from flows.seen import TAG
from pipeline.base.errors import TransientError, UserError
from pipeline.base.git import checked_out
from pipeline.config.study_files import readable_studies, study_files

FILE = "prefect.yaml"
# What a server changes by itself, or what says when rather than what.
_VOLATILE = {"id", "created", "updated", "created_by", "updated_by", "version", "version_id"}
_VOLATILE |= {"version_info", "last_polled", "status", "active_slots", "owner_resource"}

How = Literal["made", "changed", "there"]


@dataclass(frozen=True)
class DeploymentEntry:
    """One thing on the server, and whether it was made now."""

    kind: str
    name: str
    how: How


def deploy(root: Path, notify: str | None = None) -> Iterator[DeploymentEntry]:
    """Make what is missing on the server of ``PREFECT_API_URL`` and yield everything.

    ``notify`` is a notification block, ``TYPE/NAME``, for runs that crash, fail or are late.
    """
    named = _named_deployments(root)
    with _connected() as client:
        block = None if notify is None else notification_block(client, notify)
        for pool in POOLS:
            yield from make_pool(client, pool, root)
        yield from _deployments(client, root, named)
        for automation in automations(block):
            yield make_automation(client, automation)


@contextmanager
def _connected() -> Iterator[SyncPrefectClient]:
    """A client of the server; UserError if it is not named or refuses, TransientError if silent."""
    url = PREFECT_API_URL.value()
    if not url:
        raise UserError(
            "PREFECT_API_URL is not set, and deployments need a server that stays: start one with "
            "`prefect server start` and set PREFECT_API_URL=http://127.0.0.1:4200/api"
        )
    with get_client(sync_client=True) as client:
        _ask(client, url)
        yield client


def _ask(client: SyncPrefectClient, url: str) -> None:
    try:
        client.api_version()
    except httpx.HTTPStatusError as error:
        raise UserError(
            f"PREFECT_API_URL={url} answers {error.response.status_code}, not as a Prefect server "
            "does; the address ends in /api, and a server that asks for a password gets it from "
            "PREFECT_API_AUTH_STRING"
        ) from None
    except (httpx.HTTPError, ValueError) as error:
        raise TransientError(
            f"PREFECT_API_URL={url} does not answer ({type(error).__name__}); start a server with "
            "`prefect server start`, or set PREFECT_API_URL to one that runs"
        ) from None


def _named_deployments(root: Path) -> list[str]:
    """The names of the deployments in prefect.yaml; UserError for a missing study."""
    path = root / FILE
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))["deployments"]
        named = {str(entry["name"]): entry.get("parameters") or {} for entry in entries}
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no list `deployments` with names can be read: {error}") from None
    studies = study_files(root)
    for name, parameters in named.items():
        study = parameters.get("study")
        if study is not None and study not in studies:
            raise UserError(
                f"{path}: deployment {name}: parameters.study is {study!r}, which is not in "
                f"{root / 'studies'}; there are: {', '.join(studies)}"
            )
    return list(named)


def make_pool(client: SyncPrefectClient, pool: WorkPool, root: Path) -> Iterator[DeploymentEntry]:
    """Make a pool and its queues if missing; existing settings stay."""
    try:
        kind = client.read_work_pool(pool.name).type
    except ObjectNotFound:
        kind = None
        client.create_work_pool(
            WorkPoolCreate(
                name=pool.name,
                type=pool.kind,
                description=pool.description,
                base_job_template=job_template(pool, root),
            )
        )
    if kind not in (None, pool.kind):
        raise UserError(
            f"work pool {pool.name} is of kind {kind}, and its deployments need {pool.kind}; "
            f"remove it with `prefect work-pool delete {pool.name}` and run this again"
        )
    yield DeploymentEntry("work pool", f"{pool.name} ({pool.kind})", "there" if kind else "made")
    for name, limit in pool.queues.items():
        try:
            queue = client.read_work_queue_by_name(name, pool.name)
            how: How = "there"
        except ObjectNotFound:
            queue = client.create_work_queue(
                name=name, concurrency_limit=limit, work_pool_name=pool.name
            )
            how = "made"
        yield DeploymentEntry(
            "limit", f"{pool.name}/{name}: {queue.concurrency_limit} at a time", how
        )


def _deployments(
    client: SyncPrefectClient, root: Path, named: list[str]
) -> Iterator[DeploymentEntry]:
    before, switched = _present(client, named), _switches(client)
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(
            f"`prefect deploy --all` refuses {root / FILE}:\n{(done.stdout + done.stderr).strip()}"
        )
    _complete(client, root, named)
    for each, schedule in _schedules(client):
        on = switched.get((each.name, schedule.slug), schedule.active)
        if schedule.active != on:
            client.update_deployment_schedule(each.id, schedule.id, active=on)
    for name, content in _present(client, named).items():
        made = name not in before
        same = before.get(name) == content
        yield DeploymentEntry(
            "deployment", name, "made" if made else "there" if same else "changed"
        )


def _schedules(
    client: SyncPrefectClient,
) -> Iterator[tuple[DeploymentResponse, DeploymentSchedule]]:
    for each in client.read_deployments():
        yield from ((each, schedule) for schedule in each.schedules)


def _switches(client: SyncPrefectClient) -> dict[tuple[str, str | None], bool]:
    """Which schedules are on; what somebody switched on the server stays."""
    return {(each.name, found.slug): found.active for each, found in _schedules(client)}


def _complete(client: SyncPrefectClient, root: Path, named: list[str]) -> None:
    """Add what files cannot say to deployments.

    Their version is the commit, if there is one. Their forms offer the studies that fit their pool:
    those that train here, or on a cluster.
    """
    commit = checked_out(root)
    studies = readable_studies(root, lambda error: print(f"left out: {error}", file=sys.stderr))
    backends = {name: study.train.backend for name, study in studies.items()}
    kinds = {pool.name: pool.kind for pool in POOLS}
    for each in client.read_deployments():
        if each.name in named and TAG in each.tags:
            here = kinds.get(each.work_pool_name or "") == "process"
            fitting = [name for name, backend in backends.items() if (backend == "local") is here]
            schema = _offering(fitting, each.parameter_openapi_schema or {})
            update = DeploymentUpdate(parameter_openapi_schema=schema)
            client.update_deployment(
                each.id, update.model_copy(update={"version": commit}) if commit else update
            )


def _offering(studies: list[str], schema: dict[str, Any]) -> dict[str, Any]:
    """A form that offers studies, and by which the server refuses others."""
    found = deepcopy(schema)
    asked = found.get("properties", {}).get("study", {})
    for choice in (asked, *asked.get("anyOf", ())):
        if choice.get("type") == "string":
            choice["enum"] = studies
    return found


def _present(client: SyncPrefectClient, named: list[str]) -> dict[str, Any]:
    """The deployments of these names as ``FLOW/NAME``, in the order of the file."""
    found: dict[str, Any] = {}
    flows = {flow.id: flow.name for flow in client.read_flows()}
    for each in client.read_deployments():
        if each.name in named and each.flow_id in flows:
            found[f"{flows[each.flow_id]}/{each.name}"] = _lasting(each.model_dump(mode="json"))
    return dict(sorted(found.items(), key=lambda item: named.index(item[0].rpartition("/")[2])))


def make_automation(client: SyncPrefectClient, wanted: AutomationCore) -> DeploymentEntry:
    """Make or update an automation; a paused one stays paused."""
    entry = {"kind": "automation", "name": wanted.name}
    present = client.read_automations_by_name(wanted.name)
    if not present:
        client.create_automation(wanted)
        return DeploymentEntry(**entry, how="made")
    found, content = present[0], wanted.model_dump(mode="json", exclude={"enabled"})
    if _lasting(found.model_dump(mode="json", exclude={"enabled"})) == _lasting(content):
        return DeploymentEntry(**entry, how="there")
    client.update_automation(found.id, wanted.model_copy(update={"enabled": found.enabled}))
    return DeploymentEntry(**entry, how="changed")


def notification_block(client: SyncPrefectClient, name: str) -> Any:
    kind, _, own = name.partition("/")
    try:
        return client.read_block_document_by_name(own, kind).id
    except ObjectNotFound:
        raise UserError(
            f"--notify {name}: the server has no such block; give one of `prefect block ls` as "
            "TYPE/NAME, such as slack-webhook/team, or make one on its page Blocks"
        ) from None


def _lasting(value: Any) -> Any:
    """JSON without a server's own fields, and with sets in one order."""
    if isinstance(value, dict):
        return {k: _lasting(v) for k, v in value.items() if k not in _VOLATILE}
    if isinstance(value, list):
        inner = [_lasting(each) for each in value]
        return sorted(inner) if all(isinstance(each, str) for each in inner) else inner
    return value
