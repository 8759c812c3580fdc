"""Prefect with this environment's packages, by its two doors: a flow, and a server's lists."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.server import start_temporary_server
from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports
from pipeline.ops.check.doctor import diagnose
from pipeline.ops.check.prefect_home import usable_home
from tests.prefect_server import server


@task(cache_policy=NO_CACHE)
def double(number: int) -> int:
    return 2 * number


@flow
def doubled() -> int:
    result: int = double(21)
    return result


@pytest.mark.nightly
def test_a_flow_runs_and_a_server_lists_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some releases of fastapi that resolve break one or the other."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert doubled() == 42
    before = set(psutil.Process().children(recursive=True))
    with server() as address:
        started = set(psutil.Process().children(recursive=True)) - before
        for listing, said in (
            ("work-pool", "No work pools found"),
            ("deployment", "Deployments"),
            ("flow-run", "No flow runs found"),
        ):
            shown = subprocess.run(
                [sys.executable, "-m", "prefect", listing, "ls"],
                env={**os.environ, "PREFECT_API_URL": address},
                check=True,
                capture_output=True,
                text=True,
            )
            assert said in shown.stdout
    assert started and not any(process.is_running() for process in started)


def test_an_address_where_no_server_answers_is_refused() -> None:
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}/api"
    with (
        temporary_settings({PREFECT_API_URL: address}),
        pytest.raises(UserError, match=f"PREFECT_API_URL={address}: no Prefect server answers"),
    ):
        start_temporary_server()


@pytest.mark.parametrize(
    "home", ["/proc", "/dev/null", "/proc/1/root/nowhere", "@file", "@profiles"]
)
def test_a_home_that_cannot_be_used_is_named(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "profiles" / ".prefect" / "profiles.toml").mkdir(parents=True)
    home = home.replace("@", f"{tmp_path}/")
    monkeypatch.delenv("PREFECT_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    with pytest.raises(UserError, match=f"HOME is {home}; set PREFECT_HOME to a folder"):
        usable_home()
    (found,) = (each for each in diagnose(tmp_path) if each.subject == "prefect's home")
    assert not found.ok and "PREFECT_HOME" in found.repair
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "a home"))
    assert usable_home() == tmp_path / "a home"
