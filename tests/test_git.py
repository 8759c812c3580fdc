"""Asking git about a checkout, in every state that people's checkouts are in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.commits import check_commit
from flows.sweeps.pin import pin
from flows.sweeps.tree import link_tree
from pipeline.base.errors import UserError
from pipeline.base.git import HEAD, agrees, checked_out, git
from pipeline.base.home import home_of
from pipeline.ops.check.doctor import diagnose
from pipeline.ops.driver.checkout import ask_dvc
from pipeline.stages.followed import COMMIT, circumstances
from tests.conftest import commit
from tests.test_commits import LOG

_OLD = """#!/bin/sh
[ "$1" = version ] && echo "git version 2.17.1" && exit
for each; do
  [ "$each" = --no-renames ] && echo "error: unknown option \\`no-renames'" >&2 && exit 129
done
exec {git} "$@"
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a commit, in a folder with a space and another script in its name."""
    root = tmp_path / "a folder 文件"
    root.mkdir()
    (root / "dvc.yaml").write_text("stages: {}\n")
    commit(root)
    return root


def _of_another_user(root: Path, to: pytest.MonkeyPatch) -> None:
    to.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")


def _without_git(root: Path, to: pytest.MonkeyPatch) -> None:
    to.setenv("PATH", str(root))


def _old(root: Path, to: pytest.MonkeyPatch) -> None:
    folder = root.parent / "old"
    folder.mkdir()
    (folder / "git").write_text(_OLD.format(git=shutil.which("git")))
    (folder / "git").chmod(0o755)
    to.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def _archive(root: Path, to: pytest.MonkeyPatch) -> None:
    shutil.rmtree(root / ".git")


def _without_commit(root: Path, to: pytest.MonkeyPatch) -> None:
    shutil.rmtree(root / ".git")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)


def _led_away(root: Path, to: pytest.MonkeyPatch) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").write_text("gitdir: /nowhere/.git/worktrees/a\n")


def _led_nowhere(root: Path, to: pytest.MonkeyPatch) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to("/nowhere")


def _damaged(root: Path, to: pytest.MonkeyPatch) -> None:
    (root / ".git" / "config").write_text("[core\n")


def _without_branch(root: Path, to: pytest.MonkeyPatch) -> None:
    """As a full disk leaves it: this is no branch before its first commit."""
    (branch,) = (root / ".git" / "refs" / "heads").iterdir()
    branch.write_text("")


def _without_objects(root: Path, to: pytest.MonkeyPatch) -> None:
    shutil.rmtree(root / ".git" / "objects")
    (root / ".git" / "objects").mkdir()


def _newer(root: Path, to: pytest.MonkeyPatch) -> None:
    (root / ".git" / "config").write_text("[core]\nrepositoryformatversion = 99\n")


def _bare(root: Path, to: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "config", "core.bare", "true"], cwd=root, check=True)


def _elsewhere(root: Path, to: pytest.MonkeyPatch) -> None:
    """As tools for dotfiles keep it, which name a repository by a variable."""
    (root / ".git").rename(root.parent / "elsewhere.git")
    to.setenv("GIT_DIR", str(root.parent / "elsewhere.git"))
    to.setenv("GIT_WORK_TREE", str(root))


State = Callable[[Path, pytest.MonkeyPatch], None]
STATES: dict[State, str] = {
    _of_another_user: r"another user.*git config --global --add safe\.directory '/",
    _without_git: "git is not installed; install it",
    _old: r"install git 2\.18 or newer",
    _archive: "not a git repository.*git init && git add",
    _without_commit: "no commit.*git add",
    _led_away: "git worktree repair",
    _led_nowhere: "git worktree repair",
    _damaged: "config",
    _without_branch: "damaged.*git fsck",
    _without_objects: "damaged.*git fsck",
    _newer: "a newer git",
    _bare: r"bare.*config core\.bare false",
    _elsewhere: r"no \.git, and GIT_DIR=/.*elsewhere\.git is not looked at",
}


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__.strip("_"))
def test_what_cannot_be_looked_up_is_an_error_with_its_repair(
    state: State, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = checked_out(repository)
    state(repository, monkeypatch)
    with pytest.raises(UserError, match=STATES[state]):
        git(repository, *HEAD)
        git(repository, "status", "--no-renames")
    said = [each for each in diagnose(repository) if each.subject in ("git", "commit")]
    assert any(each.ok is False and re.search(STATES[state], each.repair) for each in said)
    if state is not _old:
        assert COMMIT not in circumstances(repository)
    if state in (_archive, _elsewhere, _without_commit):  # these are answers: there is no commit
        assert checked_out(repository) == ""
    elif state not in (_old, _bare):
        with pytest.raises(UserError, match=STATES[state]):
            checked_out(repository)
        with pytest.raises(UserError, match=STATES[state]):
            check_commit(repository, known, LOG)


def test_a_shallow_clone_does_not_know_what_it_has(repository: Path, tmp_path: Path) -> None:
    first = checked_out(repository)
    (repository / "more").write_text("")
    commit(repository)
    shallow = tmp_path / "shallow"
    address = repository.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth", "1", address, str(shallow)], check=True)
    assert checked_out(shallow) == checked_out(repository)
    with pytest.raises(UserError, match="shallow clone.*git fetch --unshallow"):
        check_commit(shallow, first, LOG)


def test_dvc_in_a_downloaded_archive_names_the_repair(repository: Path) -> None:
    shutil.rmtree(repository / ".git")
    assert checked_out(repository) == ""
    with pytest.raises(UserError, match="not a git repository.*git init"):
        ask_dvc(repository, "status", "--json")


def test_dvc_for_a_user_without_a_home_names_the_repair(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(*_: object) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.raises(UserError, match="has none; set HOME"):
        ask_dvc(repository, "status", "--json")


def test_a_hook_of_another_repository_changes_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = checked_out(repository)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere/objects")  # as before a push is accepted
    assert checked_out(repository) == known
    assert agrees(repository, "cat-file", "-e", known)
    assert not agrees(repository, "cat-file", "-e", "0" * 40)


def test_a_folder_of_a_larger_repository_is_not_pinned(repository: Path) -> None:
    inside = repository / "tomrl"
    inside.mkdir()
    with pytest.raises(UserError, match="folder tomrl/ of a larger repository.*use tomrl run"):
        pin(inside, "mini", allow_edits=False)


def test_a_sparse_checkout_is_pinned_whole(repository: Path) -> None:
    for name in ("pipeline", "studies"):
        (repository / name).mkdir()
        (repository / name / "file").write_text("")
    commit(repository)
    git(repository, "sparse-checkout", "set", "--cone", "pipeline")
    (repository / "pipeline" / "file").write_text("edited")
    found = pin(repository, "mini", allow_edits=True)
    assert found.edited == ("pipeline/file",)
    assert "studies/file" in git(repository, "ls-tree", "-r", "--name-only", found.commit)
    (said,) = [each for each in diagnose(repository) if each.subject == "sparse checkout"]
    assert said.found == "1 file left out, such as studies/file" and said.ok is None


def test_worktrees_have_the_home_of_what_they_belong_to(repository: Path, tmp_path: Path) -> None:
    """A worktree that of its main checkout, also where that is a submodule."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "a")
    for main in (repository, project / "a"):
        tree = tmp_path / f"tree of {main.name}"
        git(main, "worktree", "add", "--detach", str(tree))
        assert home_of(main) == main
        assert home_of(tree) == main


@pytest.mark.parametrize("how", [shutil.move, shutil.copytree])
def test_a_worktree_comes_along_with_its_checkout(
    how: Callable[[Path, Path], object], repository: Path
) -> None:
    inside = Path("work", "tree")
    git(repository, "worktree", "add", "--detach", str(repository / inside))
    entry = repository / ".git" / "worktrees" / "tree" / "gitdir"
    kept = entry.read_text()
    here = repository.with_name("after")
    how(repository, here)
    link_tree(here, here / inside)
    assert home_of(here / inside) == here
    found = git(here, "worktree", "list", "--porcelain").splitlines()
    assert [each.split(maxsplit=1)[1] for each in found if each.startswith("worktree")] == [
        str(here),
        str(here / inside),
    ]
    assert git(here / inside, "status", "--porcelain") == ""
    assert not entry.exists() or entry.read_text() == kept
