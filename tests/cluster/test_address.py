"""Every way in which the address of a cluster can be wrong ends in one clear error."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import ray

from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports
from pipeline.ops.cluster.client import Address
from tests.cluster.conftest import Heard, MakeJob
from tests.serving import Quiet, serving


def _server(status: int, body: str) -> AbstractContextManager[str]:
    """Serve one answer to every request."""

    class Answer(Quiet):
        def do_GET(self) -> None:
            self.answer(body.encode(), status)

    return serving(Answer)


@pytest.fixture
def refusal(make_job: MakeJob, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a job in an environment, and return the error it ends in."""

    def run(**environment: str) -> str:
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
        with pytest.raises(UserError) as refused:
            heard.run(make_job("print('step 1')"))
        assert heard.lines == []
        return str(refused.value)

    return run


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("auto", "RAY_ADDRESS=http://HOST:8265"),
        ("ray://gpu-head:10001", "RAY_ADDRESS=http://gpu-head:8265"),
        ("gpu-head:6379", "RAY_ADDRESS=http://gpu-head:8265"),
        ("http://", "RAY_ADDRESS=http://HOST:8265"),
        ("[", "RAY_ADDRESS=http://HOST:8265"),
    ],
)
def test_what_is_no_dashboard_address(refusal: Callable[..., str], address: str, hint: str) -> None:
    message = refusal(RAY_ADDRESS=address)
    assert message.startswith(f"RAY_ADDRESS={address!r} is not the address of a Ray dashboard")
    assert hint in message


def test_nobody_answers(refusal: Callable[..., str]) -> None:
    (port,) = free_ports(1)
    message = refusal(RAY_ADDRESS=f"http://someone:password@127.0.0.1:{port}/")
    assert message.startswith(f"RAY_ADDRESS=http://127.0.0.1:{port}: no Ray dashboard answers")
    assert "Connection refused" in message and "password" not in message


def test_a_server_that_accepts_and_says_nothing(
    refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ops.cluster.client.PROBE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        message = refusal(RAY_ADDRESS=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert "(no answer within 0.5 s)" in message


@pytest.mark.parametrize(("status", "body"), [(404, "not here"), (200, "[]")])
def test_something_else_answers(refusal: Callable[..., str], status: int, body: str) -> None:
    with _server(status, body) as url:
        message = refusal(RAY_ADDRESS=url)
    assert f"(HTTP {status}) that is not a Ray dashboard" in message


def test_another_version(refusal: Callable[..., str]) -> None:
    with _server(200, json.dumps({"version": "4", "ray_version": "2.9.3"})) as url:
        message = refusal(RAY_ADDRESS=url)
    assert f"the cluster runs Ray 2.9.3, this environment has Ray {ray.__version__}" in message
    assert "'ray[default]==2.9.*'" in message


def test_a_missing_token(
    head: Address, refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    message = refusal(RAY_ADDRESS=head.url)
    assert "requires a token, and none was given; set RAY_AUTH_TOKEN" in message


def test_a_wrong_token(head: Address, refusal: Callable[..., str]) -> None:
    message = refusal(RAY_ADDRESS=head.url, RAY_AUTH_TOKEN="a wrong one")
    assert "refuses the token" in message and "a wrong one" not in message


def test_a_token_file(
    head: Address,
    refusal: Callable[..., str],
    heard: Heard,
    make_job: MakeJob,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / "token"
    message = refusal(RAY_ADDRESS=head.url, RAY_AUTH_TOKEN_PATH=str(file))
    assert message.startswith(f"RAY_AUTH_TOKEN_PATH={file}: No such file or directory")
    file.write_text(f"{head.token}\n")
    assert heard.run(make_job("print('step 1')")).status == "succeeded"
