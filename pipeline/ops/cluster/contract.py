"""The contract with a job's environment: it imports what the job needs, in versions that fit, and
every node of its cluster sees the files that the job is given by their paths.

The environment reports what it has (`command` runs in it and prints one line); the judgement is
made here, so that the other side needs nothing but a Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from packaging.specifiers import SpecifierSet

from pipeline.base.errors import UserError

_REPORT_LINE, _UNSEEN_LINE = "TOMRL_ENVIRONMENT ", "TOMRL_UNSEEN "
_REPORT = f"""
import importlib, importlib.metadata, json, os, sys
split = sys.argv.index("--")
found, paths = {{}}, sys.argv[split + 1:]
for name in sys.argv[1:split]:
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
print("\\n{_REPORT_LINE}" + json.dumps(found), flush=True)
if paths:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
    ray.init(address="auto", log_to_driver=False)
    look = ray.remote(num_cpus=0)(lambda: [path for path in paths if not os.path.exists(path)])
    nodes = [node for node in ray.nodes() if node["Alive"]]
    places = [On(node["NodeID"], soft=False) for node in nodes]
    asked = [look.options(scheduling_strategy=place).remote() for place in places]
    names = [node["NodeManagerAddress"] for node in nodes]
    seen = dict(zip(names, ray.get(asked, timeout=300)))
    unseen = {{name: missing for name, missing in seen.items() if missing}}
    print("\\n{_UNSEEN_LINE}" + json.dumps(unseen), flush=True)
"""


class _Found(TypedDict, total=False):
    """What an environment reports of a module: why it cannot be imported, or its version."""

    error: str
    version: str | None


def command(python: str, requires: Mapping[str, str], paths: Sequence[str] = ()) -> tuple[str, ...]:
    """The command that reports on the modules of an environment, and on what its nodes see."""
    return (python, "-c", _REPORT, *requires, "--", *paths)


def check(
    lines: Iterable[str], requires: Mapping[str, str], where: str, paths: Sequence[str] = ()
) -> None:
    """Judge the report of an environment.

    Raises:
        UserError: If it lacks a module, has it in a version that does not fit, or did not report;
            or if a node does not see a path.
    """
    lines = list(lines)
    found = _said(lines, _REPORT_LINE, where)
    faults = [fault for name, need in requires.items() if (fault := _fault(name, need, found))]
    if faults:
        needed = ", ".join(f"{name}{need}" for name, need in requires.items())
        raise UserError(
            f"{where} does not fit: {'; '.join(faults)}. It needs {needed}: use the trainer image "
            "on the cluster's nodes, or run `make test-engines` for the environment of a private "
            "head"
        )

    for node, missing in _said(lines, _UNSEEN_LINE, where).items() if paths else ():
        raise UserError(
            f"{where}: its node {node} does not see {missing[0]}: the checkout must "
            "lie in a folder that this machine and every node of the cluster see under the same "
            "path"
        )


def _said(lines: Sequence[str], begin: str, where: str) -> Any:
    """What a line of a report holds."""
    reports = [line.removeprefix(begin) for line in lines if line.startswith(begin)]
    if not reports:
        tail = "\n".join(line for line in lines[-10:] if line.strip())
        raise UserError(f"{where} could not be checked; its last output was:\n{tail}")
    return json.loads(reports[-1])


def _fault(name: str, need: str, found: Mapping[str, _Found]) -> str | None:
    report = found[name]
    if "error" in report:
        return f"{name} cannot be imported ({report['error']})"
    version = report["version"]
    if need and (version is None or not SpecifierSet(need).contains(version, prereleases=True)):
        return f"{name} is {version or 'of unknown version'}, not {need}"
    return None
