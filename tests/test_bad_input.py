"""Bad input that the corpus has not, through the commands a user types: one clear error."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run, commit


def test_outside_a_checkout(typed: Run, tmp_path: Path) -> None:
    shown = typed("bash", "-c", f"cd '{tmp_path}' && tomrl study list")
    assert shown.returncode == 2
    assert "not inside a tomrl checkout" in shown.stderr


def test_full_disk(typed: Run, checkout: Path) -> None:
    """A limit on the size of files stands in for a full disk: writing fails in the same place."""
    before = (checkout / "params.yaml").read_bytes()
    for typing, file in (("study use mini", "params.yaml"), ("run --set seed=1", "checkout.lock")):
        shown = typed("bash", "-c", f"ulimit -f 0; tomrl {typing}")
        assert shown.returncode == 1 and f"{file} (File too large)" in shown.stderr, shown.stderr
    assert (checkout / "params.yaml").read_bytes() == before


def test_doctor_names_what_is_missing(typed: Run, checkout: Path, tmp_path: Path) -> None:
    commit(checkout)
    shown = typed("tomrl", "doctor", TOMRL_DATA_MIRROR=str(tmp_path / "gone"))
    assert shown.returncode == 1
    assert "lacks the folders" in shown.stdout
    assert typed("tomrl", "doctor").returncode == 0


def test_a_variable_that_a_library_refuses_as_it_is_imported_is_named(typed: Run) -> None:
    """Not in the corpus, whose processes have imported MLflow before they see a variable."""
    shown = typed("tomrl", "sync", MLFLOW_LOGGING_LEVEL="loud")
    assert shown.returncode == 2 and "Traceback" not in shown.stderr
    assert shown.stderr.startswith("error: MLFLOW_LOGGING_LEVEL: ")
    assert "'LOUD'; allowed: CRITICAL" in shown.stderr
