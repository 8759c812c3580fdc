"""DVC as flows run it: the same files as DVC itself writes, in less time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
from dvc.utils.serialize import YAMLFileCorruptedError, load_yaml, modify_yaml

from pipeline.ops.driver.dvc import modify
from tests.conftest import PROJECT

PIPELINE = """# A comment.
stages:
  copy:
    foreach: [a, b, c]
    do:
      cmd: python -c "open('${item}', 'w').write(open('from').read())" and more words
      deps: [from]
      params: [text]
      outs: ['${item}']
"""
WRAPPED = ("-m", "pipeline.ops.driver.dvc")
OWN = ("-m", "dvc")


def test_a_lock_file_is_written_as_dvc_writes_it(tmp_path: Path) -> None:
    for name, how in (("ours", modify), ("theirs", modify_yaml)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "dvc.lock"
        shutil.copy(PROJECT / "dvc.lock", path)
        with how(str(path)) as content:
            for stage in content["stages"].values():
                stage.pop("params", None)  # stages of this project have none
            stage["cmd"] = "python -m pipeline.stages.train " + 12 * "long-key- "
            stage["outs"] = [{"path": f"{n}", "md5": n} for n in ("12e5", "0189", "null", "0o7")]
            content["stages"]["again"] = deepcopy(stage)
    ours, theirs = ((tmp_path / name / "dvc.lock").read_bytes() for name in ("ours", "theirs"))
    assert ours == theirs and b"again:" in ours
    assert load_yaml(str(path)) == content


def test_comments_of_other_files_stay(tmp_path: Path) -> None:
    path = tmp_path / "dvc.yaml"
    path.write_text(PIPELINE)
    with modify(str(path)) as content:
        content["stages"]["copy"]["foreach"] = ["a"]
    assert path.read_text().startswith("# A comment.")


def test_a_damaged_lock_file_is_dvc_s_to_name(tmp_path: Path) -> None:
    path = tmp_path / "dvc.lock"
    path.write_text("stages: {")
    with pytest.raises(YAMLFileCorruptedError, match="dvc.lock"), modify(str(path)):
        pass
    assert path.read_text() == "stages: {"


def test_stages_run_as_with_dvc_itself(tmp_path: Path) -> None:
    """Either leaves a lock file that the other takes for up to date."""

    def dvc(folder: Path, program: tuple[str, ...], *arguments: str) -> str:
        command = [sys.executable, *program, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for name, program in (("ours", WRAPPED), ("theirs", OWN)):
        folder = tmp_path / name
        folder.mkdir()
        dvc(folder, OWN, "init", "--no-scm", "--quiet")
        (folder / "dvc.yaml").write_text(PIPELINE)
        (folder / "params.yaml").write_text("text: one\n")
        (folder / "from").write_text("what is copied")
        dvc(folder, program, "repro")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert (ours / "dvc.lock").read_bytes() == (theirs / "dvc.lock").read_bytes()
    assert dvc(ours, OWN, "status", "--json").strip() == "{}"
    (theirs / "params.yaml").write_text("text: two\n")
    assert '"copy@b"' in dvc(theirs, WRAPPED, "status", "--json")
