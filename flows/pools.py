"""Prefect's work pools, with their concurrency."""

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
"""The checkout in a pod, also named in the ``pull`` step of prefect.yaml."""

NAMESPACE = "tomrl"
"""The default namespace of pods; infra/kubernetes has its contents."""

_CONFINED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Requirements of a namespace with the standard `restricted`."""

_SIZE = {"cpu": "4", "memory": "32Gi"}
"""Resources of a run without accelerators, as in infra/kuberay/study.yaml."""

_ENVIRONMENT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS)}


@dataclass(frozen=True)
class WorkPool:
    """A work pool.

    Attributes:
        kind: Processes, or jobs on Kubernetes.
        queues: Maximum concurrent runs by queue.
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
"""Names the registry of images."""


def image_of(root: Path) -> str:
    """The image of pods, as in the manifests; UserError if it is missing."""
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
    """Prefect's job template of a pool's kind, with heartbeats and a checkout."""
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
    """Mount the checkout's volume, settings and secrets in pods.

    infra/kubernetes has their names, which are variables of the pool.
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
