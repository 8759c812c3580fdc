"""``tomrl doctor --gpu`` on a real head whose nodes say what they have."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from pipeline.ops.check import gpu, gpu_look


@pytest.mark.usefixtures("cluster")
def test_every_node_is_asked(tmp_path: Path) -> None:
    found = {finding.subject: finding for finding in gpu.diagnose(tmp_path)}
    assert found["Ray's CPUs"].ok and found["Ray's CPUs"].found == "22 with 2 GPUs"
    assert found["shared folder"].ok
    assert found["driver"].ok is False and "580" in found["driver"].repair
    assert found["torch"].ok is bool(torch.version.cuda), found["torch"]
    assert found["vllm"].ok is False and "make setup-trainer" in found["vllm"].repair


def test_nodes_that_differ_are_named() -> None:
    node = {
        "driver": "NVIDIA A100, 81920 MiB, 580.65.06",
        **dict.fromkeys(("torch", "vllm", "verl", "compiler", "Python.h"), "there"),
        "nvcc": "",
        "shared folder": "/work",
    }
    old = node | {"driver": "NVIDIA A100, 81920 MiB, 535.216.01", "shared folder": "! not seen"}
    line = gpu_look.FOUND + json.dumps({"one": node, "two": old})
    wrong = [each for each in gpu._said([line], "") if each.ok is False]
    assert [(each.subject, each.found.endswith(" on two")) for each in wrong] == [
        ("driver", True),
        ("shared folder", True),
    ]


def test_this_machine_is_asked_without_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [each.subject for each in gpu.diagnose(tmp_path)] == ["trainer"]
    monkeypatch.setenv("TOMRL_ENGINE_PYTHON", sys.executable)
    found = {finding.subject: finding for finding in gpu.diagnose(tmp_path)}
    assert found["Ray's CPUs"].ok and found["shared folder"].ok
    assert found["vllm"].ok is False
