"""What pages say of results is what the stored results say: neither tables nor prose go stale."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.circumstances import circumstances_of_study
from benchmarks.quoted.pages import BLOCKS, NOT_RUN, filled, outside, pages, write_pages
from benchmarks.stored import read_stored
from pipeline.base.errors import UserError
from pipeline.stages.followed import Ended, processor
from tests.conftest import PROJECT

RESULTS = PROJECT / "docs/results"
NUMBER = re.compile(r"\d+(?:\.\d+)? (?:%|points)|[±+-]\d|\b\d+\.\d+\b")
SECTIONS = {
    # What no rule reaches, by the choice of questions.
    "README.md": ("## What it shows", "## How it works", {"60 %"}),
    "docs/results.md": ("# Results", "", {"95 %"}),  # the level of intervals
    "docs/field.md": ("# The field", "## The ledger", {"95 %", "-4", "-1"}),
}
"""The parts of pages that tell of results, by what they begin and end with, and numbers that may
stand outside of blocks: they are settings, and no results, or stand in names of models."""


def page_text(page: str) -> str:
    return (PROJECT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages(PROJECT), ids=lambda page: page.stem)
def test_a_page_holds_what_stored_results_say_to_the_letter(page: Path) -> None:
    assert filled(PROJECT, page) == page.read_text(encoding="utf-8")


def test_every_block_stands_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages(PROJECT))
    assert set(re.findall(r"<!-- (\w[^>]*) -->", text)) == set(BLOCKS)


@pytest.mark.parametrize("page", SECTIONS)
def test_no_result_stands_outside_of_what_is_written(page: str) -> None:
    begin, end, chosen = SECTIONS[page]
    text = outside(page_text(page))
    section = text[text.index(begin) : text.index(end) if end else None]
    assert set(NUMBER.findall(" ".join(section.split()))) <= chosen


@pytest.mark.parametrize("path", [*RESULTS.glob("mini*.json"), *RESULTS.glob("smol*.json")])
def test_results_name_what_they_were_made_on(path: Path) -> None:
    found = read_stored(PROJECT, path.stem)
    assert found is not None
    assert found["study"] == path.stem and found["processor"]
    assert set(found["libraries"]) >= {"torch", "scikit-learn"}
    assert re.fullmatch(r"[0-9a-f]{7}", found["commit"])


def test_what_another_machine_made_is_named_after_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    here = circumstances_of_study(tmp_path, "a")
    assert here["processor"] == processor()
    told = {
        "hardware.processor": "a processor",
        "hardware.accelerators": "an accelerator",
        "version.torch": "2.0",
    }
    for stage in ("train", "evaluate"):
        Ended("FINISHED", 0.0, 1.0, told).leave(tmp_path / "logs" / "a" / "cell" / stage)
    found = circumstances_of_study(tmp_path, "a")
    assert found["processor"] == "an accelerator"
    assert found["libraries"] == here["libraries"] | {"torch": "2.0"}
    assert circumstances_of_study(tmp_path, "another") == here


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    text = page_text("docs/results.md")
    begin = text.index("<!-- table -->")
    changed = text[:begin] + re.sub(r"\d\d\.\d", "12.3", text[begin:], count=1)
    assert changed != text
    page = tmp_path / "results.md"
    page.write_text(changed, encoding="utf-8")
    assert filled(PROJECT, page) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!-- decided -->\n", "must stand there once"),
        ("<!-- decided -->\n<!-- /decided -->\n" * 2, "must stand there once"),
        ("<!-- undecided -->\n<!-- /undecided -->\n", "found block 'undecided'"),
    ],
)
def test_a_block_that_nothing_fills_is_refused(tmp_path: Path, text: str, why: str) -> None:
    page = tmp_path / "ledger.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=why):
        filled(PROJECT, page)


def test_what_is_not_there_yet_is_marked_on_any_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "another.md"
    page.write_text("".join(f"<!-- {n} -->\n<!-- /{n} -->\n" for n in ("decided", "seeds")))
    assert write_pages(tmp_path) == [page]
    assert page.read_text().count(NOT_RUN) == 2
    assert write_pages(tmp_path) == []
