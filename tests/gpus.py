"""Accelerators by name only, on a machine that has none."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def path_with_gpus(folder: Path, count: int, prefix: str = f"GPU-{os.getpid()}-") -> str:
    """A ``PATH`` with an nvidia-smi, written to a folder, that names some accelerators."""
    program = folder / "nvidia-smi"
    listed = "".join(f"{n}, {prefix}{n}{n}\n" for n in range(count))
    program.write_text(f"#!{sys.executable}\nprint({listed!r}, end='')\n")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
