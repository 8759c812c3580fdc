"""Bad input that the corpus has not, through the commands a user types: one clear error."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run, commit


def test_outside_a_checkout(typed: Run, tmp_path: Path) -> None:
    shown = typed("bash", "-c", f"cd '{tmp_path}' && tomrl study list")
    assert shown.returncode == 2
    assert "not inside a tomrl checkout" in shown.stderr


def test_an_altered_file_in_the_mirror(
    typed: Run, checkout: Path, tmp_path: Path, mirror: Path
) -> None:
    assert typed("tomrl", "study", "use", "mini-real").returncode == 0
    copy = tmp_path / "mirror" / "gsm8k"
    copy.mkdir(parents=True)
    good = (mirror / "gsm8k" / "test.jsonl").read_bytes()
    (copy / "train.jsonl").write_bytes((mirror / "gsm8k" / "train.jsonl").read_bytes())
    (copy / "test.jsonl").write_bytes(good.replace(b"eggs", b"ebbs", 1))
    shown = typed("dvc", "repro", "acquire@gsm8k", TOMRL_DATA_MIRROR=str(tmp_path / "mirror"))
    assert shown.returncode != 0
    assert "test.jsonl" in shown.stderr and "error: acquire:" in shown.stderr
    assert not (checkout / "data/mini-real/raw/gsm8k").exists()


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
