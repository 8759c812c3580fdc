"""Holds docker/ and infra/ against the tools that read such files, without Docker or a cluster.

``make check-infra`` runs it in .venv-infra: ``python scripts/check_infra.py [CHECKOUT]``. Prints a
line for each check, with what is wrong below it, and exits 1 if anything is. A check is a function
from a checkout to the faults in it; ``CHECKS`` lists them all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

KUBERNETES = "1.34"
"""The version whose schemas manifests are held against."""

Check = Callable[[Path], Iterator[str]]
Manifest = dict[str, Any]


def main() -> None:
    """Run all checks, two at a time, and exit 1 if one finds a fault."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = dict(
            zip(CHECKS, pool.map(lambda check: list(check(root)), CHECKS.values()), strict=True)
        )
    for name, faults in found.items():
        print(f"{name}: {'as it should be' if not faults else 'FAULTS'}")
        for fault in faults:
            print(f"  {fault}")
    sys.exit(1 if any(found.values()) else 0)


def files(root: Path, *patterns: str) -> list[str]:
    """The paths that match, relative to the checkout."""
    return sorted(str(path.relative_to(root)) for each in patterns for path in root.glob(each))


def run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment in a checkout."""
    tool = Path(sys.executable).with_name(command[0])
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [str(tool), *command[1:]],
        cwd=root,
        env={**kept, "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> Iterator[str]:
    """Yield what a tool that failed says."""
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        yield from [line for line in lines if line.strip()] or [f"status {done.returncode}"]


def spelling(root: Path) -> Iterator[str]:
    """YAML, by yamllint."""
    yield from said(
        run(root, "yamllint", "--format=parsable", "-c", "infra/.yamllint.yaml", "infra")
    )


def shell(root: Path) -> Iterator[str]:
    """Scripts, by shellcheck."""
    scripts = files(root, "infra/**/*.sh", "infra/**/*.sbatch", "scripts/*.sh")
    yield from said(
        run(root, "shellcheck", "--shell=bash", "--external-sources", "--format=gcc", *scripts)
    )


def images(root: Path) -> Iterator[str]:
    """Dockerfiles, by hadolint."""
    yield from said(run(root, "hadolint", "--no-color", *files(root, "docker/*/Dockerfile")))


def policies(root: Path) -> Iterator[str]:
    """Images, manifests, OpenTofu files and secrets, by checkov's policies."""
    done = run(
        root,
        *("checkov", "--config-file", "infra/.checkov.yaml", "--output", "json"),
        *("--directory", "docker", "--directory", "infra"),
    )
    reports, rest = [], done.stdout.strip()
    while rest:  # one report for each folder
        try:
            report, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            yield from [*said(done), f"checkov gives no report: {rest[:200]}"]
            return
        reports += report if isinstance(report, list) else [report]
        rest = rest[end:].strip()
    if not reports:
        yield f"checkov gives no report: {done.stderr.strip()[-500:]}"
    for report in reports:
        results = report.get("results", {})
        yield from (f"{path}: cannot be read" for path in results.get("parsing_errors", []))
        for failed in results.get("failed_checks", []):
            line = failed["file_line_range"][0]
            yield f"{failed['repo_file_path']}:{line}: {failed['check_id']} {failed['check_name']}"


def manifests(root: Path) -> Iterator[tuple[str, Manifest]]:
    """Yield every object of the manifests, with the file that it is in."""
    for path in files(root, "infra/kubernetes/*.yaml", "infra/kuberay/*.yaml"):
        try:
            objects = list(yaml.safe_load_all((root / path).read_text(encoding="utf-8")))
        except yaml.YAMLError:
            continue  # yamllint says so
        yield from ((path, each) for each in objects if each)


def schemas(root: Path) -> Iterator[str]:
    """Kubernetes' kinds by kubernetes-validate, those of KubeRay and Kueue by infra/schemas."""
    import kubernetes_validate

    for path, manifest in manifests(root):
        kind, version = str(manifest.get("kind")), str(manifest.get("apiVersion"))
        own = root / "infra" / "schemas" / f"{version.replace('/', '-')}.yaml"
        if own.is_file():
            yield from (f"{path}: {kind}: {fault}" for fault in _against(own, manifest))
            continue
        try:
            kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{path}: {kind}: {_place(error.path)}{error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield f"{path}: {error.message}"


def _against(schema: Path, manifest: Manifest) -> Iterator[str]:
    """Compare an object with the schema of its kind, whose pods are Kubernetes' own."""
    from jsonschema import Draft202012Validator
    from kubernetes_validate.utils import all_versions, schema_contents
    from referencing import Registry, Resource

    described = yaml.safe_load(schema.read_text(encoding="utf-8"))
    if (kind := manifest["kind"]) not in described["kinds"]:
        yield f"not in {schema.name}; there are: {', '.join(described['kinds'])}"
        return
    version = next(each for each in all_versions() if each.startswith(KUBERNETES))
    folder = f"kubernetes-json-schema/v{version}-local-strict"
    pods = Resource.from_contents(schema_contents(f"{folder}/_definitions.json", version))
    validator = Draft202012Validator(
        {"$defs": described["$defs"], **described["kinds"][kind]}, registry=pods @ Registry()
    )
    envelope = {"apiVersion", "kind", "metadata"}
    content = manifest.get("spec", {k: v for k, v in manifest.items() if k not in envelope})
    for error in validator.iter_errors(content):
        yield f"{_place(error.absolute_path)}{error.message}"


def _place(path: Any) -> str:
    return "".join(f"{each}." for each in path).removesuffix(".") + ": " if path else ""


def names(root: Path) -> Iterator[str]:
    """Whatever a manifest names is there: namespaces, accounts, claims, queues, pools of nodes."""
    there = {("Namespace", "kube-system"), ("StorageClass", "")}
    objects = list(manifests(root))
    for _, manifest in objects:
        there.add((manifest.get("kind"), manifest.get("metadata", {}).get("name")))
    there |= {("Secret", "tomrl")}  # infra/kubernetes/secrets.sh makes it
    pools = root / "infra" / "opentofu" / "nodes.tf"
    if pools.is_file():
        there |= {
            ("pool", name)
            for name in re.findall(r"^    (\S+) += \{ types", pools.read_text(), re.M)
        }
    for path, manifest in objects:
        for kind, name in _named(manifest):
            if (kind, name) not in there:
                yield f"{path}: {manifest['kind']} names {kind} {name}, which nothing here makes"


def pulled(root: Path) -> Iterator[str]:
    """Every image of a manifest has a registry, by infra/kustomization.yaml, which lists all."""
    path = "infra/kustomization.yaml"
    try:
        listed = yaml.safe_load((root / path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        yield f"{path}: cannot be read: {error}"
        return
    named = {image["name"]: image.get("newName", "") for image in listed.get("images", [])}
    for each in dict.fromkeys(path for path, _ in manifests(root)):
        if each.removeprefix("infra/") not in listed["resources"]:
            yield f"{path}: {each} is not among its resources"
    for each, manifest in manifests(root):
        if "tomrl/step" not in manifest["metadata"].get("labels", {}):
            yield f"{each}: {manifest['kind']} has no label tomrl/step, by which it is applied"
        for container in _containers(manifest):
            name, _, _ = container["image"].partition(":")
            if "." not in named.get(name, name).partition("/")[0]:
                yield f"{each}: image {container['image']} comes from no registry; see {path}"


def written(root: Path) -> Iterator[str]:
    """What runs the project on a read-only root has told DVC where it may write."""
    dockerfile = "docker/orchestrator/Dockerfile"
    found = re.search(r"DVC_SITE_CACHE_DIR=(\S+)", (root / dockerfile).read_text(encoding="utf-8"))
    for path, manifest in manifests(root):
        for container in _containers(manifest):
            if not container.get("securityContext", {}).get("readOnlyRootFilesystem"):
                continue
            mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
            if not found or not any(found[1].startswith(f"{mount}/") for mount in mounts):
                yield (
                    f"{path}: DVC writes to /var/tmp on a read-only root: set DVC_SITE_CACHE_DIR "
                    f"in {dockerfile} to a folder below one of {', '.join(mounts)}"
                )


def _containers(value: Any) -> Iterator[Manifest]:
    """Yield the containers of an object, anywhere in it."""
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict) and "image" in inner:
            yield inner
        if isinstance(inner, dict | list):
            yield from _containers(inner)


_REFERENCES = {
    "serviceAccountName": "ServiceAccount",
    "claimName": "PersistentVolumeClaim",
    "storageClassName": "StorageClass",
    "clusterQueue": "ClusterQueue",
    "kueue.x-k8s.io/queue-name": "LocalQueue",
    "kueue.x-k8s.io/priority-class": "WorkloadPriorityClass",
    "tomrl/pool": "pool",
    "namespace": "Namespace",
}
_NAMED_WITHIN = {
    "configMapRef": "ConfigMap",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
    "flavors": "ResourceFlavor",
}


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """Yield kind and name of what an object refers to, anywhere in it."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in _REFERENCES and isinstance(inner, str):
            yield _REFERENCES[key], inner
        if key in _NAMED_WITHIN:
            for each in inner if isinstance(inner, list) else [inner]:
                yield _NAMED_WITHIN[key], each["name"]
        yield from _named(inner)


def opentofu(root: Path) -> Iterator[str]:
    """OpenTofu files: parsed, formatted if a program for that is there, and every name declared."""
    import hcl2

    texts = {
        path: (root / path).read_text(encoding="utf-8")
        for path in files(root, "infra/opentofu/*.tf")
    }
    declared: set[str] = set()
    for path, text in texts.items():
        try:
            declared |= set(_declared(hcl2.loads(text)))
        except Exception as error:
            yield f"{path}: cannot be parsed: {str(error).splitlines()[0]}"
    for path, text in texts.items():
        without = re.sub(r"(#.*|heredoc)", "", text)
        for name in re.findall(r"\b((?:data\.)?aws_\w+\.\w+|(?:var|local)\.\w+)", without):
            if name not in declared:
                yield f"{path}: {name} is declared nowhere"
    if program := shutil.which("tofu") or shutil.which("terraform"):
        command = [program, "fmt", "-check", "-diff", "-no-color", "infra/opentofu"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            yield from done.stdout.splitlines()
    else:
        print(
            "skipped: the formatting of OpenTofu files, since neither tofu nor terraform is there"
        )


def _declared(document: dict[str, Any]) -> Iterator[str]:
    yield from (f"var.{name}" for each in document.get("variable", []) for name in each)
    yield from (f"local.{name}" for each in document.get("locals", []) for name in each)
    for section, prefix in (("resource", ""), ("data", "data.")):
        for each in document.get(section, []):
            yield from (f"{prefix}{kind}.{name}" for kind, named in each.items() for name in named)


def rented(root: Path) -> Iterator[str]:
    """SkyPilot's task files, read by SkyPilot."""
    program = (
        "import sys, sky\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        sky.Task.from_yaml(path)\n"
        "    except Exception as error:\n"
        "        sys.exit(f'{path}: {error}')\n"
    )
    yield from said(run(root, "python", "-c", program, *files(root, "infra/skypilot/*.yaml")))


CHECKS: dict[str, Check] = {
    "policies (checkov)": policies,
    "rented machines (SkyPilot)": rented,
    "OpenTofu files": opentofu,
    "YAML (yamllint)": spelling,
    "shell scripts (shellcheck)": shell,
    "images (hadolint)": images,
    "manifests (schemas)": schemas,
    "names in manifests": names,
    "registries of images": pulled,
    "read-only roots": written,
}

if __name__ == "__main__":
    main()
