"""DVC as flows run it: what it says is what it says alone, from fewer readings of one file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from pipeline.ops.driver.dvc import dumped, reading_once
from tests.conftest import PROJECT


def test_a_file_is_read_again_only_if_it_changed(tmp_path: Path) -> None:
    path, read = tmp_path / "params.yaml", list[str]()

    def load(path: str, fs: object = None) -> dict[str, str]:
        read.append(path)
        return {"text": Path(path).read_text()}

    once = reading_once(load)
    path.write_text("a: 1")
    assert once(str(path)) == once(str(path)) == {"text": "a: 1"} and len(read) == 1
    path.write_text("a: 2")
    os.utime(path, ns=(1, 1))
    assert once(str(path)) == {"text": "a: 2"} and len(read) == 2


def test_a_file_of_another_commit_is_read_from_there(tmp_path: Path) -> None:
    """Where DVC compares commits, a path of the checkout names another content."""

    class Git:
        protocol = "git"

    (tmp_path / "params.yaml").write_text("a: 1")
    once = reading_once(lambda path, fs=None: "theirs" if fs else "ours")
    path = str(tmp_path / "params.yaml")
    assert [once(path), once(path, fs=Git()), once(path)] == ["ours", "theirs", "ours"]


PIPELINE = """
stages:
  copy:
    foreach: ${cells}
    do:
      cmd: python -c "print('made', '${item.text}', file=open('${key}', 'w'))"
      params:
        - cells.${key}
      outs:
        - ${key}
"""


def test_stages_run_as_with_dvc_itself(tmp_path: Path) -> None:
    """They see parameters that changed between two commands, and files are read once in each."""
    counted = (
        "import sys\n"
        "from dvc.utils import serialize\n"
        "from pipeline.ops.driver import dvc\n"
        "parse, count = serialize.LOADERS['.yaml'], []\n"
        "def load(path, fs=None):\n"
        "    count.append(path)\n"
        "    return parse(path, fs=fs)\n"
        "serialize.LOADERS['.yaml'] = load\n"
        "status = dvc.main()\n"
        "print('read', sum(path.endswith('params.yaml') for path in count), file=sys.stderr)\n"
        "sys.exit(status)"
    )

    def dvc(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", counted, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert dvc("init", "--no-scm", "--quiet").returncode == 0
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    cells = tmp_path / "params.yaml"
    cells.write_text("cells: {a: {text: one}, b: {text: two}, c: {text: three}}")
    made = dvc("repro")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "a").read_text() == "made one\n"
    asked = dvc("status", "--json")
    assert asked.stdout.strip() == "{}" and "read 1" in asked.stderr, asked.stderr
    cells.write_text("cells: {a: {text: one}, b: {text: four}, c: {text: three}}")
    asked = dvc("status", "--json")
    assert '"copy@b"' in asked.stdout and '"copy@a"' not in asked.stdout
    again = dvc("repro")
    assert again.returncode == 0 and (tmp_path / "b").read_text() == "made four\n"
    wrong = dvc("repro", "nothing")
    assert wrong.returncode == 255 and "nothing" in wrong.stderr


KINDS: dict[str, object] = {
    "none": None,
    "small": 1e-05,
    "text": "1e5",
    "yes": "yes",
    "long": "a b: " * 40,
    "list": [{}],
}


def test_what_it_writes_is_what_dvc_writes(tmp_path: Path) -> None:
    """Stages, one after the other, with parameters of all kinds."""
    stages = {
        name: {"cmd": f"echo {name} > {name}", "params": ["kinds", f"own.{name}"], "outs": [name]}
        for name in ("one", "two")
    }
    for folder, command in (("theirs", "dvc"), ("ours", "pipeline.ops.driver.dvc")):
        root = tmp_path / folder
        root.mkdir()
        (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
        (root / "params.yaml").write_text(yaml.safe_dump({"kinds": KINDS, "own": {"one": 1}}))
        for words in (["init", "--no-scm", "-q"], ["repro", "one"]):
            subprocess.run([sys.executable, "-m", command, *words], cwd=root, check=True)
        (root / "params.yaml").write_text(
            yaml.safe_dump({"kinds": KINDS, "own": {"one": [2.5], "two": None}})
        )
        subprocess.run([sys.executable, "-m", command, "repro"], cwd=root, check=True)
        status = [sys.executable, "-m", "dvc", "status", "--json"]
        assert subprocess.run(status, cwd=root, capture_output=True).stdout.strip() == b"{}"
    theirs, ours = ((tmp_path / name / "dvc.lock").read_bytes() for name in ("theirs", "ours"))
    assert ours == theirs and b"none:\n" in ours
    committed = (PROJECT / "dvc.lock").read_text()
    assert dumped(yaml.load(committed, yaml.CSafeLoader)) == committed
