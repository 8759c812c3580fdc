"""What a node has for a GPU run: ``python gpu_look.py FOLDER``, in the environment that trains.

With ``--nodes`` every node of the running Ray cluster is asked. Prints one line, ``TOMRL_FOUND``
with what each says; what begins with ``!`` is missing. Needs nothing of this package.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

FOUND = "TOMRL_FOUND "
NODES = "--nodes"
_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")


def look(folder: str) -> dict[str, str]:
    """What this node has, by what it is for."""
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    return {
        "driver": _driver(),
        "torch": _torch(),
        "vllm": _imported("vllm"),
        "verl": _imported("verl"),
        "compiler": shutil.which("g++") or shutil.which("c++") or "! neither g++ nor c++ was found",
        "Python.h": str(header) if header.is_file() else f"! {header} was not found",
        "nvcc": shutil.which("nvcc") or "",
        "shared folder": folder if Path(folder).exists() else f"! {folder} is not visible",
    }


def _driver() -> str:
    try:
        return "; ".join(subprocess.check_output(_QUERY, text=True).strip().splitlines())
    except (OSError, subprocess.CalledProcessError) as error:
        return f"! nvidia-smi: {error}"


def _torch() -> str:
    shown = _imported("torch")
    if shown.startswith("!"):
        return shown
    cuda = sys.modules["torch"].version.cuda
    return f"{shown}, for CUDA {cuda}" if cuda else f"! {shown} is built for CPUs only"


def _imported(name: str) -> str:
    try:
        return str(getattr(importlib.import_module(name), "__version__", "there"))
    except Exception as error:  # whatever a package raises that does not fit this machine
        return f"! {type(error).__name__}: {error}"[:200]


def look_everywhere(folder: str) -> dict[str, dict[str, str]]:
    """What each node of the running Ray cluster that has GPUs has, by its address."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(address="auto", log_to_driver=False)
    asked = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("GPU"):
            where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = ray.remote(num_cpus=0, scheduling_strategy=where)(look)
            asked[f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})"] = task.remote(folder)
    return {name: ray.get(answer, timeout=240) for name, answer in asked.items()}


if __name__ == "__main__":
    everywhere = sys.argv[2:] == [NODES]
    found = look_everywhere(sys.argv[1]) if everywhere else {"here": look(sys.argv[1])}
    print(f"{FOUND}{json.dumps(found)}", flush=True)
