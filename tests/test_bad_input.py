"""Bad input that the corpus has not, through the commands a user types: one clear error."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import TINY, Run, shrink


def test_all_mistakes_of_a_study_are_reported_at_once(typed: Run, checkout: Path) -> None:
    study = (TINY / "studies/mini.yaml").read_text()
    for right, wrong in (
        ("  combinations: [hi]", "  combinations: [high]"),
        ("  models: [nano, micro]", "  models: [nano, giant]"),
        ("  reward: rlvr", "  reward: rlhf"),
        ("  rollouts: 16", "  rollouts: many"),
    ):
        assert right in study
        study = study.replace(right, wrong)
    (checkout / "studies/wrong.yaml").write_text(study.replace("name: mini", "name: wrong"))
    before = (checkout / "params.yaml").read_bytes()
    shown = typed("tomrl", "study", "use", "wrong")
    assert shown.returncode == 2
    assert "wrong.yaml has 4 mistakes" in shown.stderr
    assert "grid.combinations.0: found 'high'; allowed: hi" in shown.stderr
    assert "grid.models.1: found 'giant'; allowed: nano, micro" in shown.stderr
    assert "train.reward: found 'rlhf'; allowed: 'tom-rl'" in shown.stderr
    assert "train.rollouts: found 'many'; allowed:" in shown.stderr
    assert (checkout / "params.yaml").read_bytes() == before


def test_outside_a_checkout(typed: Run, tmp_path: Path) -> None:
    shown = typed("bash", "-c", f"cd '{tmp_path}' && tomrl study list")
    assert shown.returncode == 2
    assert "not inside a tomrl checkout" in shown.stderr


def test_truncated_and_altered_files_in_the_mirror(
    typed: Run, checkout: Path, tmp_path: Path, mirror: Path
) -> None:
    assert typed("tomrl", "study", "use", "mini-real").returncode == 0
    copy = tmp_path / "mirror" / "gsm8k"
    copy.mkdir(parents=True)
    good = (mirror / "gsm8k" / "test.jsonl").read_bytes()
    (copy / "train.jsonl").write_bytes((mirror / "gsm8k" / "train.jsonl").read_bytes())
    for bad in (good[:1000], good.replace(b"eggs", b"ebbs", 1)):
        (copy / "test.jsonl").write_bytes(bad)
        shown = typed("dvc", "repro", "acquire@gsm8k", TOMRL_DATA_MIRROR=str(tmp_path / "mirror"))
        assert shown.returncode != 0
        assert "test.jsonl" in shown.stderr and "error: acquire:" in shown.stderr
        assert not (checkout / "data/mini-real/raw/gsm8k").exists()


def test_full_disk(typed: Run, checkout: Path) -> None:
    """A limit on the size of files stands in for a full disk: writing fails in the same place."""
    shrink(checkout)
    assert typed("tomrl", "study", "use", "mini").returncode == 0
    command = "ulimit -f 8; python -m pipeline.stages.acquire hi_tom_style"
    shown = typed("bash", "-c", command)
    assert shown.returncode == 1
    assert "no room to write" in shown.stderr and "nothing half-written was left" in shown.stderr
    assert [path for path in (checkout / "data").rglob("*") if path.is_file()] == []


def test_doctor_names_what_is_missing(typed: Run, tmp_path: Path) -> None:
    shown = typed("tomrl", "doctor", TOMRL_DATA_MIRROR=str(tmp_path / "gone"))
    assert shown.returncode == 1
    assert "lacks the folders" in shown.stdout
    assert typed("tomrl", "doctor").returncode == 0


def test_doctor_says_which_results_other_libraries_made(typed: Run, checkout: Path) -> None:
    folder = checkout / "runs" / "mini" / "nano-hi"
    for name, version in (("train", "2.0.0"), ("evaluate", "2.0.0")):
        (folder / name).mkdir(parents=True)
        (folder / name / "metrics.json").write_text(f'{{"libraries": {{"torch": "{version}"}}}}')
    shown = typed("tomrl", "doctor")
    assert shown.returncode == 1
    assert "2 files made with torch 2.0.0, installed is " in shown.stdout
    assert "dvc repro --force" in shown.stdout
