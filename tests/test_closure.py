"""Digests of what a module imports: what is in them, what is not, and which edits change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base.closure import closure


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose module ``top`` imports ``deep`` inside a function, and reads a table."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""A package."""\n')
    (folder / "deep.py").write_text("VALUE = 1\n")
    (folder / "typed.py").write_text("class Shape: ...\n")
    (folder / "apart.py").write_text("VALUE = 2\n")
    (folder / "table.json").write_text("{}")
    (folder / "top.py").write_text(
        '"""What it is for."""\n'
        "from typing import TYPE_CHECKING\n\n"
        "if TYPE_CHECKING:\n    from made.typed import Shape\n\n\n"
        'def value():\n    """Say it."""\n    from made.deep import VALUE\n\n'
        '    return VALUE, "table.json"  # as read\n'
    )
    return tmp_path


def test_what_is_imported_belongs_to_it_and_nothing_else(package: Path) -> None:
    found = closure(package, ["made.top"])
    assert set(found) == {"made", "made.deep", "made.top", "made.top:table.json"}
    assert set(closure(package, ["made.top"], without={"made.deep"})) == set(found) - {"made.deep"}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("top.py", "  # as read", "  # as read, or so"),
        ("top.py", '"""Say it."""', '"""Say what it is."""'),
        ("top.py", '"""What it is for."""\n', ""),
        ("top.py", "\n\n\ndef", "\n\ndef"),
        ("apart.py", "2", "3"),
        ("typed.py", "Shape", "Form"),
    ],
)
def test_what_changes_no_result_changes_no_digest(
    package: Path, file: str, old: str, new: str
) -> None:
    before = closure(package, ["made.top"])
    _edit(package / "made" / file, old, new)
    assert closure(package, ["made.top"]) == before


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("deep.py", "1", "2", "made.deep"),
        ("top.py", "VALUE, ", "-VALUE, ", "made.top"),
        ("table.json", "{}", "[]", "made.top:table.json"),
    ],
)
def test_what_can_change_a_result_changes_its_digest(
    package: Path, file: str, old: str, new: str, changed: str
) -> None:
    before = closure(package, ["made.top"])
    _edit(package / "made" / file, old, new)
    after = closure(package, ["made.top"])
    assert {name for name in after if after[name] != before[name]} == {changed}


def test_a_module_that_is_not_there_is_named(package: Path) -> None:
    with pytest.raises(ValueError, match=r"no module made\.gone"):
        closure(package, ["made.gone"])


def test_every_data_file_of_the_package_belongs_to_a_module(project: Path) -> None:
    modules = [
        ".".join(path.relative_to(project).with_suffix("").parts)
        for path in (project / "pipeline").rglob("*.py")
        if path.name != "__init__.py"
    ]
    known = {name.split(":")[1] for name in closure(project, modules) if ":" in name}
    files = {
        path.name
        for path in (project / "pipeline").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert files and files <= known


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
