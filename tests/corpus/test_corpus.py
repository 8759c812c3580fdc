"""Every bad input ends with the status that is documented and one message, and changes nothing."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.cli.study import check
from pipeline.formats.foreign import visible
from tests.conftest import PROJECT, type_command
from tests.corpus.all import ALWAYS, CORPUS, COUNT, KINDS, STATE, STUDIES
from tests.corpus.case import BadInput
from tests.corpus.play import Stand, lacks, play
from tests.corpus.watch import damaged


@pytest.fixture(scope="module")
def stand(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Stand:
    """A copy of the reproduced checkout, which other tests use too."""
    home = tmp_path_factory.mktemp("corpus")
    shutil.copytree(reproduced, home / "a folder with spaces", symlinks=True)
    return Stand(home / "a folder with spaces", home)


def test_the_corpus_is_large_and_says_what_each_message_must_say() -> None:
    assert len(CORPUS) >= 400
    assert len({case.name for case in CORPUS}) == len(CORPUS)
    assert all(case.says for case in CORPUS)


def test_the_page_says_how_large_the_corpus_is() -> None:
    page = (PROJECT / "docs" / "reliability.md").read_text(encoding="utf-8")
    (stated,) = re.findall(r"at least ([\d,]+) inputs of (\d+) kinds", page)
    least, kinds = (int(number.replace(",", "")) for number in stated)
    assert least <= COUNT < least + 200 and kinds == len(KINDS)


def test_each_kind_has_ten_cases_of_its_own() -> None:
    assert {kind: len(cases) for kind, cases in KINDS.items() if len(cases) < 10} == {}


@pytest.mark.parametrize("part", STATE)
def test_state_names_no_place_that_a_moved_checkout_would_follow_back(
    part: str, reproduced: Path
) -> None:
    """MLflow's database does; it is brought home when it is opened."""
    root, place = str(reproduced).encode(), reproduced / part
    assert place.exists()
    files = [place] if place.is_file() else [each for each in place.rglob("*") if each.is_file()]
    assert not [file for file in files if root in file.read_bytes()]
    links = [each for each in place.rglob("*") if each.is_symlink()] if place.is_dir() else []
    assert not [link for link in links if link.readlink().is_absolute()]


@pytest.mark.parametrize("case", STUDIES, ids=lambda case: case.name)
def test_a_mistake_in_a_study_is_named(case: BadInput, tmp_path: Path) -> None:
    """By what reads studies; a sample of them, and all of them every night, through the door."""
    ((file, damage),) = case.files.items()
    (tmp_path / "studies").mkdir()
    (tmp_path / file).write_bytes(damage(b"") or b"")
    with pytest.raises(UserError) as refused:
        check(tmp_path, Path(file).stem)
    said = visible(str(refused.value))
    assert not lacks(said, case.says), said


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=() if case.name in ALWAYS else pytest.mark.nightly)
        for case in CORPUS
    ],
)
def test_bad_input(case: BadInput, stand: Stand) -> None:
    ended, problems = play(case, stand)
    assert not problems, f"{[problem.what for problem in problems]}\n{ended.stdout}{ended.stderr}"


@pytest.mark.parametrize("case", CORPUS[7::170], ids=lambda case: case.name)
def test_the_same_in_a_process_of_its_own(case: BadInput, stand: Stand) -> None:
    """A sample through the command line itself, which shows that the door above is no other."""
    program, *arguments = case.command
    started = ["-m", "pipeline.cli.app" if program == "tomrl" else f"pipeline.stages.{program}"]
    with damaged(stand.root, case.files):
        before = stand.watch.state()
        shown = type_command(
            stand.root, stand.root.parent, sys.executable, *started, *arguments, **case.environment
        )
        after = stand.watch.state()
    assert shown.returncode == case.status, shown.stderr
    assert "Traceback" not in shown.stderr
    assert after == before
