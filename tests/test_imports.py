"""Imports point one way, the belief engine stands on the standard library, and nothing is slow."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

# From the bottom up; a module may import its own layer and those below it.
LAYERS = [
    {"base"},
    {"formats"},
    {"config"},
    {"tom"},
    {"tasks"},
    {"rules"},
    {"data", "engine", "reward"},
    {"audit", "model"},
    {"train", "evaluate", "judge"},
    {"analysis"},
    {"stages"},
    {"ops"},
    {"flows"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def _modules(project: Path) -> list[Path]:
    return [
        *sorted((project / "pipeline").rglob("*.py")),
        *sorted((project / "flows").rglob("*.py")),
    ]


def _part(dotted: str) -> str | None:
    first, *rest = dotted.split(".")
    if first == "flows":
        return "flows"
    return rest[0] if first == "pipeline" and rest else None


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_imports_point_downwards(project: Path) -> None:
    wrong = []
    for path in _modules(project):
        dotted = ".".join(path.relative_to(project).with_suffix("").parts)
        own = _part(dotted)
        if own in (None, "__init__"):
            continue
        for name in _imports(path):
            other = _part(name)
            if other in LEVEL and LEVEL[other] > LEVEL[own]:  # type: ignore[index]
                wrong.append(f"{dotted} imports {name}")
    assert not wrong


def test_every_part_has_a_layer(project: Path) -> None:
    parts = {p.name for p in (project / "pipeline").iterdir() if not p.name.startswith("_")}
    assert parts == set(LEVEL) - {"flows"}


def test_tom_imports_the_standard_library_only(project: Path) -> None:
    for path in sorted((project / "pipeline" / "tom").rglob("*.py")):
        for name in _imports(path):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or name.startswith("pipeline"), (path, name)
            assert not name.startswith("pipeline.") or name.startswith("pipeline.tom"), (path, name)


@pytest.mark.parametrize("module", ["pipeline.cli.app", "pipeline.config", "pipeline.tasks"])
def test_light_modules_do_not_load_heavy_frameworks(module: str) -> None:
    heavy = ("torch", "mlflow", "prefect")
    code = f"import {module}, sys; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
