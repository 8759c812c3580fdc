"""A real Prefect server in this environment: its lists answer, and nothing of it is left."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from flows.proof import list_all, server
from flows.server import start_temporary_server
from pipeline.base.errors import UserError
from pipeline.base.ports import free_ports


@pytest.mark.nightly
def test_a_server_lists_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Some releases of fastapi that resolve make Prefect refuse every list with 422."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    before = set(psutil.Process().children(recursive=True))
    with server() as address:
        started = set(psutil.Process().children(recursive=True)) - before
        list_all(address)
    shown = capfd.readouterr().out
    for listing in ("No work pools found", "Deployments", "No flow runs found"):
        assert listing in shown
    assert started and not any(process.is_running() for process in started)


def test_an_address_where_no_server_answers_is_refused() -> None:
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}/api"
    with (
        temporary_settings({PREFECT_API_URL: address}),
        pytest.raises(UserError, match=f"PREFECT_API_URL={address}: no Prefect server answers"),
    ):
        start_temporary_server()


@pytest.mark.parametrize("home", ["/proc", "/dev/null"])
def test_a_home_that_cannot_be_written_is_named(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    with (
        temporary_settings(
            {PREFECT_HOME: Path(home) / ".prefect"}, restore_defaults={PREFECT_API_URL}
        ),
        pytest.raises(UserError, match=f"HOME is {home}; set PREFECT_HOME to a folder"),
    ):
        start_temporary_server()
