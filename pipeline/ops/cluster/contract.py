"""The contract with a job's environment: it imports what the job needs, in versions that fit.

The environment reports what it has (`command` runs in it and prints one line); the judgement is
made here, so that the other side needs nothing but a Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypedDict

from packaging.specifiers import SpecifierSet

from pipeline.base.errors import UserError

_REPORT_LINE = "TOMRL_ENVIRONMENT "
_REPORT = f"""
import importlib, importlib.metadata, json, sys
found = {{}}
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        found[name] = {{"error": f"{{type(error).__name__}}: {{error}}"}}
        continue
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = getattr(module, "__version__", None)
    found[name] = {{"version": version}}
print("\\n{_REPORT_LINE}" + json.dumps(found))
"""


class _Found(TypedDict, total=False):
    """What an environment reports of a module: why it cannot be imported, or its version."""

    error: str
    version: str | None


def command(python: str, requires: Mapping[str, str]) -> tuple[str, ...]:
    """The command that reports on the modules of an environment."""
    return (python, "-c", _REPORT, *requires)


def check(lines: Iterable[str], requires: Mapping[str, str], where: str) -> None:
    """Judge the report of an environment.

    Raises:
        UserError: If it lacks a module, has it in a version that does not fit, or did not report.
    """
    lines = list(lines)
    reports = [line.removeprefix(_REPORT_LINE) for line in lines if line.startswith(_REPORT_LINE)]
    if not reports:
        tail = "\n".join(line for line in lines[-10:] if line.strip())
        raise UserError(f"{where} could not be checked; its last output was:\n{tail}")
    found = json.loads(reports[-1])
    faults = [fault for name, need in requires.items() if (fault := _fault(name, need, found))]
    if faults:
        needed = ", ".join(f"{name}{need}" for name, need in requires.items())
        raise UserError(
            f"{where} does not fit: {'; '.join(faults)}. It needs {needed}: use the trainer image "
            "on the cluster's nodes, or run `make test-engines` for the environment of a private "
            "head"
        )


def _fault(name: str, need: str, found: Mapping[str, _Found]) -> str | None:
    report = found[name]
    if "error" in report:
        return f"{name} cannot be imported ({report['error']})"
    version = report["version"]
    if need and (version is None or not SpecifierSet(need).contains(version, prereleases=True)):
        return f"{name} is {version or 'of unknown version'}, not {need}"
    return None
