"""The gallery: every task is there, its grades are what they should be, its terms are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.data.gallery import (
    GalleryTask,
    look_alike,
    page,
    responses,
    restricted,
    show_all,
)
from pipeline.data.sources import SOURCES
from pipeline.tasks.registry import Task, all_tasks, get

RESTRICTED = [task for task in all_tasks() if restricted(task)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


@pytest.fixture(scope="module")
def shown(mirror: Path) -> list[GalleryTask]:
    return show_all([mirror])


@pytest.mark.parametrize("task", RESTRICTED, ids=lambda task: task.name)
def test_look_alikes_are_graded_by_the_task_itself(task: Task, made: Path) -> None:
    example = look_alike(task, made)
    right, wrong, empty = (task.grade(text, example) for text in responses(example))
    assert right.correct and right.strict and right.format_ok
    assert not wrong.correct and not wrong.strict
    assert not empty.correct and not empty.extracted


def test_what_may_not_be_redistributed() -> None:
    names = {task.name for task in RESTRICTED}
    assert names >= {
        "tomi",
        "tomi_released",
        "explore_tom",
        "opentom",
        "fantom_belief",
        "fantom_v1",
    }
    assert not names & {"hi_tom", "hi_tom_vp", "gsm8k", "gsm8k_train", "hi_tom_style", "arithmetic"}


def test_every_task_is_on_the_page(shown: list[GalleryTask]) -> None:
    text = page(shown)
    for task in all_tasks():
        assert f"## {task.name}\n" in text or f"`{task.name}`" in text, task.name
    for one in shown:
        right, wrong, empty = (one.task.grade(said, one.example) for said in responses(one.example))
        assert right.correct and not wrong.correct and not empty.correct, one.task.name


def test_restricted_rows_are_not_on_the_page(shown: list[GalleryTask], mirror: Path) -> None:
    for one in shown:
        if restricted(one.task):
            assert not one.real
    text = page(shown)
    for name in ("tomi", "explore_tom", "opentom", "fantom_belief"):
        assert not any(e.story in text for e in get(name).examples(mirror))


def test_the_page_is_built_where_it_is_wanted(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without upstream data too: tasks whose rows are not here are named with the repair."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("TOMRL_DATA_MIRROR", raising=False)
    target = tmp_path / "page.md"
    made = CliRunner().invoke(app, ["gallery", "--raw", str(tmp_path), "-o", str(target)])
    assert made.exit_code == 0, made.output
    text = target.read_text(encoding="utf-8")
    assert "## hi_tom_style\n" in text and "## tomi\n" in text
    assert "- gsm8k (gsm8k): " in text and "dvc repro acquire" in text
    for task in all_tasks():
        assert task.name in text, task.name


def test_real_rows_are_shown_only_outside_the_repository(
    mirror: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("TOMRL_DATA_MIRROR", str(mirror))
    inside = CliRunner().invoke(app, ["gallery", "--real", "-o", "docs/real.md"])
    assert isinstance(inside.exception, UserError)
    assert "lies in the repository" in str(inside.exception)
    assert not (project / "docs" / "real.md").exists()
    tasks = (get("tomi"), get("fantom_v1"))
    monkeypatch.setattr("pipeline.data.gallery.registry.all_tasks", lambda: tasks)
    target = tmp_path / "real.md"
    assert CliRunner().invoke(app, ["gallery", "--real", "-o", str(target)]).exit_code == 0
    text = target.read_text(encoding="utf-8")
    assert "A row of ToM-RL" in text
    assert ("## fantom_v1" in text) == (mirror / "fantom_archive").is_dir()


def test_sources_that_bear_a_limit_are_found() -> None:
    limited = {name for name, source in SOURCES.items() if source.non_commercial}
    assert limited == {"tom_rl", "tomi", "explore_tom", "opentom", "percept_fantom", "fantom"}
