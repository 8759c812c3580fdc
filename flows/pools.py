"""The work pools of Prefect in which runs wait for a worker, and how many of each kind may go."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
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

_SIZE = {"cpu": "4", "memory": "32Gi"}
"""What a run takes of a node without accelerators, as that of infra/kuberay/study.yaml does."""

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


IMAGES = "infra/kustomization.yaml"
"""Says where images are pulled from."""


def image_of(root: Path) -> str:
    """Where pods pull their image from, by the file that says it of all manifests.

    Raises:
        UserError: If it does not say.
    """
    path = root / IMAGES
    try:
        images = yaml.safe_load(path.read_text(encoding="utf-8"))["images"]
        (image,) = (each for each in images if each["name"] == "tomrl")
        return f"{image['newName']}:{image['newTag']}"
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: does not say where the image tomrl is pulled from ({error!r}); under images "
            "it needs an entry like {name: tomrl, newName: registry.example.org/tomrl, newTag: "
            '"1"}'
        ) from None


def job_template(pool: WorkPool, root: Path) -> dict[str, Any]:
    """How a pool's workers start a run: as Prefect's do, with heartbeats and a checkout.

    Args:
        pool: The pool.
        root: The checkout that is deployed, which says where images are.

    Raises:
        UserError: If Prefect knows of no such kind of pool, or no image is named.
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
        _mount_checkout(template, image_of(root))
    return template


def _mount_checkout(template: dict[str, Any], image: str) -> None:
    """Have pods find their checkout on a claimed volume, and settings and secrets by name.

    What they are called is in infra/kubernetes; names are variables of the pool.
    """
    properties = template["variables"]["properties"]
    properties["image"]["default"] = image
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
        {"name": "tmp", "emptyDir": {}},
    ]
    (container,) = pod["containers"]
    container["envFrom"] = [
        {"configMapRef": {"name": "tomrl", "optional": True}},
        {"secretRef": {"name": "tomrl", "optional": True}},
    ]
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    container["volumeMounts"] = [
        {"name": "checkout", "mountPath": CHECKOUT_IN_POD},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    container["resources"] = {"requests": _SIZE, "limits": _SIZE}
