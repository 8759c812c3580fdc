"""Each check of ``make check-infra`` finds a mistake of its kind, and what is shipped has none.

All mistakes are planted in one copy, because the tools take seconds to start.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROJECT

PYTHON = PROJECT / ".venv-infra" / "bin" / "python"
# File, what stands there, what is planted in its place, the check that says so, and how.
MISTAKES = [
    ("kubernetes/settings.yaml", "\n  name: tomrl", "\n   name: tomrl", "YAML", "syntax error"),
    (
        "slurm/cluster.sbatch",
        'cd "$SLURM_SUBMIT_DIR"',
        "cd $SLURM_SUBMIT_DIR",
        "shell scripts",
        "SC2086",
    ),
    ("cpu/Dockerfile", "WORKDIR /checkout", "WORKDIR checkout", "images", "DL3000"),
    ("orchestrator/Dockerfile", "USER 1000", "USER root", "policies", "CKV_DOCKER_8"),
    ("trainer/Dockerfile", "HEALTHCHECK", "# ", "policies", "CKV_DOCKER_2"),
    ("kubernetes/data.yaml", "drop: [ALL]", "drop: []", "policies", "CKV_K8S_37"),
    ("opentofu/bucket.tf", "= true", "= false", "policies", "CKV_AWS_5"),
    ("skypilot/node.yaml", "HF_TOKEN: ", "KEY: AKIAIOSFODNN7EXAMPLQ #", "policies", "CKV_SECRET"),
    (
        "kubernetes/storage.yaml",
        "ReadWriteMany]",
        "ReadWriteMany, 1]",
        "manifests",
        "is not of type",
    ),
    ("kubernetes/data.yaml", "workingDir:", "workDir:", "manifests", "workDir"),
    ("kuberay/raycluster.yaml", "groupName:", "name:", "manifests", "'groupName' is a required"),
    ("kuberay/proof.yaml", "mode: token", "mode: tokens", "manifests", "'tokens' is not one of"),
    ("kuberay/study.yaml", "claimName:", "claim:", "manifests", "claim"),
    ("kubernetes/queues.yaml", "LowerPriority", "Lower", "manifests", "'Lower' is not one of"),
    ("kubernetes/network.yaml", "namespace: tomrl", "namespace: other", "names", "Namespace other"),
    ("kuberay/raycluster.yaml", "-name: tomrl", "-name: all", "names", "LocalQueue all"),
    ("kubernetes/queues.yaml", "pool: a100-80}", "pool: a100}", "names", "pool a100"),
    (
        "opentofu/files.tf",
        "var.subnets)",
        "var.networks)",
        "OpenTofu",
        "var.networks is declared",
    ),
    ("opentofu/outputs.tf", "value ", "value} ", "OpenTofu", "outputs.tf: cannot be parsed"),
    ("kustomization.yaml", "{name: tomrl,", "{name: other,", "registries", "from no registry"),
    (
        "kustomization.yaml",
        "  - kuberay/study.yaml\n",
        "",
        "registries",
        "not among its",
    ),
    ("orchestrator/Dockerfile", "SITE_CACHE_DIR=/tmp", "SITE_CACHE_DIR=/var", "read-only", "/tmp"),
    ("skypilot/node.yaml", "num_nodes: 1", "num_nodes: one", "rented machines", "one"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each check says of a copy with all mistakes, by the beginning of its name."""
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} is not there; make check-infra makes it")
    copy = tmp_path_factory.mktemp("planted")
    for folder in ("docker", "infra", "scripts"):
        shutil.copytree(PROJECT / folder, copy / folder)
    for path, right, wrong, _, _ in MISTAKES:
        file = copy / ("docker" if path.endswith("Dockerfile") else "infra") / path
        text = file.read_text()
        assert right in text, f"{path} has no {right!r}"
        file.write_text(text.replace(right, wrong, 1))
    done = subprocess.run(
        [PYTHON, PROJECT / "scripts" / "check_infra.py", copy],
        env={name: text for name, text in os.environ.items() if not name.startswith("SKY")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    sections = re.split(r"^(\S.*): (?:FAULTS|as it should be)$", done.stdout, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True))


@pytest.mark.parametrize(
    ("path", "check", "says"),
    [(path, check, says) for path, _, _, check, says in MISTAKES],
    ids=[f"{check}: {says}" for *_, check, says in MISTAKES],
)
def test_a_mistake_is_found(found: dict[str, str], path: str, check: str, says: str) -> None:
    (section,) = [text for name, text in found.items() if name.startswith(check)]
    faults = [line for line in section.splitlines() if Path(path).name in line and says in line]
    assert faults, section


def test_every_check_has_a_mistake(found: dict[str, str]) -> None:
    planted = {check for *_, check, _ in MISTAKES}
    assert [name for name in found if not name.startswith(tuple(planted))] == []
