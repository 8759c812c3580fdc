"""docker/compose.yaml: pinned images, checks, secrets, and the options that tests run with."""

from __future__ import annotations

import re
from typing import Any

import click
import pytest
import yaml
from mlflow.cli import server

from tests.conftest import PROJECT
from tests.team.servers import BUCKET, DATABASES, auth_settings, mlflow_words

DOCKER = PROJECT / "docker"
PINNED = re.compile(r"^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$")
SECRETS = re.compile(r"PASSWORD|SECRET|KEY_ID|AUTH_STRING")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return found


def options(words: list[str]) -> dict[str, Any]:
    """What MLflow's own command line makes of the words after ``mlflow server``."""
    command: click.Command = server
    return dict(command.make_context("server", list(words), resilient_parsing=False).params)


def test_images_are_pinned_by_digest(compose: dict[str, Any]) -> None:
    for dockerfile in DOCKER.glob("*/Dockerfile"):
        (base,) = re.findall(r"^ARG BASE=(\S+)", dockerfile.read_text(), re.MULTILINE)
        assert PINNED.match(base), dockerfile
    for name, service in compose["services"].items():
        if "build" in service:
            assert (PROJECT / service["build"]["dockerfile"]).is_file()
        else:
            assert PINNED.match(service["image"]), name


def test_services_are_checked_come_back_and_stay_on_this_machine(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"postgres", "s3", "mlflow", "prefect", "worker"}
    for name, service in compose["services"].items():
        assert service["healthcheck"]["test"] and service["restart"] == "unless-stopped", name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"} and other in compose["services"]
    mounted = {v.split(":")[0] for s in compose["services"].values() for v in s.get("volumes", [])}
    assert mounted == {"..", *compose["volumes"]}


def test_secrets_are_named_in_the_example_and_written_nowhere(compose: dict[str, Any]) -> None:
    text = (DOCKER / "compose.yaml").read_text()
    example = (DOCKER / "example.env").read_text()
    needed = set(re.findall(r"\$\{(\w+):\?", text))
    assert needed == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
    offered = set(re.findall(r"\$\{(\w+):-", text)) - {"TOMRL_IMAGE_TAG"}
    assert offered == set(re.findall(r"^# (\w+)=", example, re.MULTILINE))
    for name, service in compose["services"].items():
        for variable, value in service.get("environment", {}).items():
            assert not SECRETS.search(variable) or str(value).startswith("${"), (name, variable)


def test_tests_start_mlflow_as_compose_does(compose: dict[str, Any]) -> None:
    program, command, *words = compose["services"]["mlflow"]["command"]
    assert (program, command) == ("mlflow", "server")
    contained = options(words)
    plain = options(mlflow_words("postgresql://a:b@c:5432/mlflow", "127.0.0.1", 5000)[1:])
    differing = {name for name, value in plain.items() if contained[name] != value}
    assert differing == {"host", "allowed_hosts", "workers", "backend_store_uri"}
    assert contained["app_name"] == "basic-auth"
    assert contained["artifacts_destination"] == f"s3://{BUCKET}/mlflow"
    ours = auth_settings("DATABASE").splitlines()
    theirs = compose["configs"]["mlflow-auth"]["content"].splitlines()
    assert [line.split(" = ")[0] for line in ours] == [line.split(" = ")[0] for line in theirs]
    made = re.findall(r"CREATE DATABASE (\w+);", compose["configs"]["databases"]["content"])
    assert tuple(made) == DATABASES
