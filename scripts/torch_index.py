"""Says where pip finds torch: prints the address of an index, or nothing for pip's own.

PyPI's build for Linux carries CUDA, several GB. A machine without an NVIDIA GPU takes PyTorch's CPU
build instead if its index answers within seconds. TORCH_INDEX wins over both. Standard library
only: it runs before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Mapping
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = 4.0
_FIRST_BYTES = 1 << 16


def choose(named: str, gpu: bool, cpu_index: str = CPU_INDEX) -> tuple[str, str]:
    """The index (empty: pip's own) and why, given TORCH_INDEX and whether there is a GPU."""
    if named:
        return named, f"from {named}"
    if gpu:
        return "", "this machine has an NVIDIA GPU: from where pip finds it"
    if answers(f"{cpu_index}/torch/"):
        return cpu_index, f"no NVIDIA GPU here: the CPU build from {cpu_index}"
    return "", f"{cpu_index} does not answer: from where pip finds it"


def answers(url: str, patience: float = PATIENCE) -> bool:
    """Whether an index of torch answers in time, name resolution included."""
    found: list[bool] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(url, timeout=patience) as page:
                found.append(b"torch-" in page.read(_FIRST_BYTES))
        except (OSError, ValueError):
            found.append(False)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(patience)
    return found == [True]


def has_gpu(environment: Mapping[str, str]) -> bool:
    """Whether the driver shows an NVIDIA GPU."""
    if Path("/dev/nvidia0").exists():
        return True
    program = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if program is None:
        return False
    listed = subprocess.run([program, "-L"], capture_output=True, text=True, check=False)
    return listed.returncode == 0 and "GPU" in listed.stdout


if __name__ == "__main__":
    index, why = choose(os.environ.get("TORCH_INDEX", ""), has_gpu(os.environ))
    print(f"\033[1m==> installing torch, {why}\033[0m", file=sys.stderr)
    print(index)
