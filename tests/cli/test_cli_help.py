"""Every command of ``tomrl`` stands on a page, and what pages show of them exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest
import typer

from pipeline.cli.app import app
from tests.pages import PAGES
from tests.said import tomrl


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*path, name))


COMMANDS = list(walk(typer.main.get_command(app)))


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(option: str) -> None:
    assert re.fullmatch(r"tomrl \d+\.\d+\.\d+\n", tomrl(option))


def test_pages_name_every_command() -> None:
    text = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert not [path for path in COMMANDS if " ".join(("tomrl", *path)) not in text]


def documented() -> Iterator[str]:
    """Yield every command that a page shows, in a block or in running text."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        yield from re.findall(r"^(?:    )?(tomrl .*)$", text, re.MULTILINE)
        yield from re.findall(r"`(tomrl [^`]+)`", text)


VALUES = ("MissingParameter", "BadParameter", "BadOptionUsage", "NoArgsIsHelpError")
"""Errors about values, which may be placeholders on a page, or left out in running text."""


def test_commands_and_options_of_pages_exist() -> None:
    lines = list(documented())
    assert len(lines) > 150
    for line in lines:
        words = [word.rstrip(",") for word in shlex.split(line.partition("&&")[0], comments=True)]
        command: Any = typer.main.get_command(app)
        while (below := getattr(command, "commands", {})) and words[1:] and words[1][0] != "-":
            assert words[1] in below, line
            command, words = below[words[1]], words[1:]
        try:
            command.make_context(words[0], words[1:])
        except Exception as error:  # of the click inside typer
            assert type(error).__name__ in VALUES, f"{line}: {error}"
