"""A real Prefect server in this environment: its lists answer, and nothing of it is left."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from flows.proof import list_all, server


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
