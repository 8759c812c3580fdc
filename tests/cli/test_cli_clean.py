"""``tomrl clean``: what it names, what it keeps, what it refuses."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run
from tests.test_ownership import start_owner


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_dry_run_says_what_would_go_and_how_much(typed: Run, checkout: Path) -> None:
    write(checkout / "work" / "ab" / "state" / "a", "x" * 2000)
    write(checkout / "runs" / "mini" / "b", "x" * 500)
    left = write(checkout / ".params.yaml.0123abcd.tmp", "x" * 70)
    other = write(checkout / ".dvc" / "cache" / "c", "x" * 30)
    done = typed("tomrl", "clean", "--dry-run")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for line in (
        "runs 500 bytes",
        "work 2.0 kB",
        ".params.yaml.0123abcd.tmp 70 bytes left half-written",
        "in all 2.6 kB",
    ):
        assert line in said, said
    assert (checkout / "work" / "ab").exists() and left.exists()
    done = typed("tomrl", "clean", "--yes")
    assert done.stdout.startswith("removed runs, work, ")
    assert not (checkout / "work").exists() and not left.exists() and other.exists()
    assert (checkout / "studies/mini.yaml").exists() and (checkout / "params.yaml").exists()
    assert typed("tomrl", "clean", "--yes").stdout == "nothing to remove\n"


def test_work_under_way_is_not_cleaned(typed: Run, checkout: Path) -> None:
    folder, made = checkout / "work" / "ab", checkout / "data" / "mini"
    folder.mkdir(parents=True)
    made.mkdir(parents=True)
    owner = start_owner(folder)
    try:
        done = typed("tomrl", "clean", "--yes")
    finally:
        owner.kill()
        owner.wait()
    assert done.returncode == 2 and folder.exists()
    assert f"work/ab is in use by process {owner.pid}" in done.stderr
    assert typed("tomrl", "clean", "--yes").returncode == 0
    assert not folder.exists() and not made.exists()
