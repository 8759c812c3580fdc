"""The work pools of Prefect in which runs wait for a worker, and how many of each kind may go."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prefect.workers.utilities import get_default_base_job_template_for_infrastructure_type

from flows.seen import HEARTBEAT_SECONDS
from pipeline.base.errors import UserError

CHECKOUT_IN_POD = "/checkout"
"""Where a pod has its checkout: the ``pull`` step of deployments in prefect.yaml names it too."""

NAMESPACE = "tomrl"
"""Where pods run, unless the pool says otherwise; infra/kubernetes has what they find there."""

_CONFINED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What a namespace asks of pods whose standard is `restricted`."""

_ENVIRONMENT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS)}


@dataclass(frozen=True)
class WorkPool:
    """A work pool.

    Attributes:
        name: Its name, which deployments in prefect.yaml use.
        kind: What its workers start: processes, or jobs on Kubernetes.
        description: What Prefect's pages say of it.
        queues: Its queues by name, and how many runs of each may go at a time.
    """

    name: str
    kind: str
    description: str
    queues: Mapping[str, int]


# A study rewrites params.yaml of its checkout, so that one goes at a time whoever asked for it.
POOLS = (
    WorkPool(
        "tomrl",
        "process",
        "Processes on the machine that holds the checkout",
        {"studies": 1, "checks": 1},
    ),
    WorkPool(
        "tomrl-kubernetes",
        "kubernetes",
        "Pods on a Kubernetes cluster, which share a checkout on a volume",
        {"studies": 1},
    ),
)


def job_template(pool: WorkPool) -> dict[str, Any]:
    """How a pool's workers start a run: as Prefect's do, with heartbeats and a checkout.

    Raises:
        UserError: If Prefect knows of no such kind of pool.
    """
    template: dict[str, Any] | None = asyncio.run(
        get_default_base_job_template_for_infrastructure_type(pool.kind)
    )
    if template is None:
        raise UserError(
            f"work pool {pool.name}: the Prefect server describes no pool of kind {pool.kind}; "
            "let it reach the registry of collections, or upgrade it to Prefect 3.8"
        )
    template["variables"]["properties"]["env"]["default"] = _ENVIRONMENT
    if pool.kind == "kubernetes":
        _mount_checkout(template)
    return template


def _mount_checkout(template: dict[str, Any]) -> None:
    """Have pods find their checkout on a claimed volume, and settings and secrets by name.

    What they are called is in infra/kubernetes; names are variables of the pool.
    """
    properties = template["variables"]["properties"]
    properties["image"]["default"] = "tomrl:latest"
    properties["namespace"]["default"] = NAMESPACE
    properties["service_account_name"]["default"] = "tomrl"
    properties["claim"] = {
        "title": "Claim",
        "description": f"The volume claim with the checkout, mounted at {CHECKOUT_IN_POD}.",
        "default": "tomrl-checkout",
        "type": "string",
    }
    template = template["job_configuration"]["job_manifest"]["spec"]["template"]
    template["metadata"] = {"labels": {"tomrl/part": "study"}}  # what network policies go by
    pod = template["spec"]
    pod["securityContext"] = _CONFINED
    pod["volumes"] = [
        {"name": "checkout", "persistentVolumeClaim": {"claimName": "{{ claim }}"}},
    ]
    (container,) = pod["containers"]
    container["envFrom"] = [
        {"configMapRef": {"name": "tomrl", "optional": True}},
        {"secretRef": {"name": "tomrl", "optional": True}},
    ]
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    container["volumeMounts"] = [{"name": "checkout", "mountPath": CHECKOUT_IN_POD}]
