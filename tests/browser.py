"""A real browser without a window, for tests of the pages that people see."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, PHONE = 1400, 390
"""Widths of a window, in pixels."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 60


def _find_chromium() -> str:
    """The path of Chromium; skips the test where there is none."""
    names = filter(None, (os.environ.get("TOMRL_CHROMIUM"), *_NAMES))
    for name in names:
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium: scripts/setup_browser.sh installs it, or name it in TOMRL_CHROMIUM")


def _from_elsewhere(address: str) -> list[str]:
    """What is asked of the network: the page and the files beside it are not."""
    return [] if address.startswith("file:") else [f"asks for {address[:80]}"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium; skips the test where there is none."""
    from playwright.sync_api import sync_playwright

    program = _find_chromium()
    with sync_playwright() as playwright:
        # Without a sandbox root can start it too; what it opens is our own.
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


@contextmanager
def opened(page: Path, width: int, scheme: str = "light") -> Iterator[tuple[Page, list[str]]]:
    """Yield a page of the report in a window, with what its console says."""
    with chromium() as browser:
        window = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        window.set_default_timeout(1000 * _SECONDS)
        said = list[str]()
        window.on("console", lambda message: said.append(message.text))
        window.on("pageerror", lambda error: said.append(str(error)))
        window.on("request", lambda asked: said.extend(_from_elsewhere(asked.url)))
        window.goto(page.as_uri())
        window.wait_for_selector("body[data-ready]")
        yield window, said
