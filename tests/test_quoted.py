"""What pages say of results is what the stored results say: neither tables nor prose go stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.quoted import data, one_run, over_seeds, real
from benchmarks.quoted.pages import NOT_RUN, PAGES, outside, write_pages, written
from benchmarks.stored import Share, Stored, Verdict, read_stored
from pipeline.analysis.results import Figure, Row
from pipeline.analysis.seeds import LAST, SeedChange, SeedEstimate
from pipeline.analysis.steps import StepChange
from pipeline.base.errors import UserError
from tests.conftest import PROJECT

RESULTS = PROJECT / "docs/results"
NUMBER = re.compile(r"\d+(?:\.\d+)? (?:%|points)|[±+-]\d|\b\d+\.\d+\b")
CHOSEN = {
    "README.md": {"60 %"},  # what no rule reaches, by the choice of questions
    "docs/learning.md": {"95 %"},  # the level of intervals
    "docs/mini.md": set(),
    "docs/smol.md": set(),
    "docs/verdict.md": {"95 %"},
}
"""Numbers that may stand outside of blocks: they are settings, and no results."""

SECTIONS = {
    "README.md": ("## What it shows", "## How it works"),
    "docs/mini.md": ("# The ten-minute run", ""),
    "docs/smol.md": ("# A real model on a laptop", ""),
    "docs/learning.md": ("# Learning", ""),
    "docs/verdict.md": ("## What the recorded models show", ""),
}
"""The parts of pages that tell of results, by what they begin and end with."""


def page_text(page: str) -> str:
    return (PROJECT / page).read_text(encoding="utf-8")


# --- the pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_what_stored_results_say_to_the_letter(page: str) -> None:
    assert written(PROJECT, page, page_text(page)) == page_text(page)


@pytest.mark.parametrize("page", SECTIONS)
def test_no_result_stands_outside_of_what_is_written(page: str) -> None:
    begin, end = SECTIONS[page]
    text = outside(page, page_text(page))
    section = text[text.index(begin) : text.index(end) if end else None]
    assert set(NUMBER.findall(" ".join(section.split()))) <= CHOSEN[page]


@pytest.mark.parametrize("path", [*RESULTS.glob("mini*.json"), *RESULTS.glob("smol*.json")])
def test_results_name_what_they_were_made_on(path: Path) -> None:
    found = read_stored(PROJECT, path.stem)
    assert found is not None
    assert found.study == path.stem and found.processor
    assert set(found.libraries) >= {"torch", "scikit-learn"}
    assert re.fullmatch(r"[0-9a-f]{7}", found.commit)


def test_a_changed_number_is_noticed() -> None:
    text = page_text("docs/mini.md")
    begin = text.index("<!-- table -->")
    changed = text[:begin] + re.sub(r"\d\d\.\d", "12.3", text[begin:], count=1)
    assert changed != text
    assert written(PROJECT, "docs/mini.md", changed) == text


def test_a_page_without_its_block_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="must stand there once"):
        written(tmp_path, "docs/ledger.md", "# The ledger\n")


def test_what_is_not_there_yet_is_marked(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "ledger.md"
    page.write_text("<!-- decided -->\n<!-- /decided -->\n")
    assert write_pages(tmp_path) == ["docs/ledger.md"]
    assert NOT_RUN in page.read_text()
    assert write_pages(tmp_path) == []


# --- one run --------------------------------------------------------------------------------------


def verdict(cell: str, combination: str = "", by: str | None = None) -> Verdict:
    share = Share(value=0.74, low=0.7, high=0.78)
    return Verdict(
        cell=cell,
        model="nano",
        combination=combination,
        task="hi_tom_style",
        answers="simpler mind" if by else "undecided",
        by=by,
        explained=0.91,
        found={"beliefs": 0.647, "rule": None},
        copied=share if by else None,
        reasoning="unfaithful",
        true=share,
        used=None,
        signatures=[],
    )


def row(task: str, change: float, p_value: float | None, pairs: bool = False) -> Row:
    beside = {
        "pair accuracy": Figure(
            base=0.015, trained=0.035, change=0.02, change_interval=None, table_p_value=0.5
        )
    }
    return Row(
        cell="nano-cued",
        model="nano",
        combination="cued",
        algorithm="grpo",
        task=task,
        mark=None,
        side_check=False,
        count=400,
        base=0.5,
        base_strict=0.5,
        trained=0.5 + change,
        trained_strict=0.5 + change,
        interval=None,
        rule=1.0,
        rule_name="earliest exit",
        change=change,
        change_interval=(change - 0.05, change + 0.05),
        p_value=p_value,
        table_p_value=p_value,
        absent=None,
        beside=beside if pairs else {},
    )


def kept(**parts: object) -> Stored:
    given = {
        "study": "mini",
        "title": "Made up",
        "commit": "0123456",
        "processor": "a processor",
        "libraries": {"torch": "2", "scikit-learn": "1"},
        "steps": 160,
        "prompts": 16,
        "rollouts": 16,
        **{name: [] for name in ("verdicts", "rows", "over_seeds", "standings")},
        "training": {},
    }
    return Stored.model_validate({**given, **parts})


def one(p_value: float | None = 0.001) -> Stored:
    return kept(
        verdicts=[verdict("nano-base"), verdict("nano-cued", "cued", "reality")],
        rows=[
            row("rule_right", 0.132, p_value),
            row("rule_wrong", -0.148, p_value),
            row("pairs", 0.02, None if p_value is None else 0.4, pairs=True),
        ],
    )


def test_where_nothing_holds_that_is_told_and_where_nothing_is_known_nothing() -> None:
    assert "No change of its scores holds" in one_run.what_it_shows(one(0.3))
    unknown = " ".join(one_run.what_it_shows(one(None)).split())
    assert "No change" not in unknown and "rises" not in unknown


# --- a real model ---------------------------------------------------------------------------------


def step(task: str, change: float) -> StepChange:
    return StepChange(
        cell="smollm2-cued-grpo",
        starts_from="smollm2-plain-warm",
        task=task,
        base=0.0,
        before=0.5,
        after=0.5 + change,
        change=change,
        interval=(change - 0.05, change + 0.05),
        whole=0.5 + change,
        whole_interval=None,
    )


def test_a_real_model_is_told_step_by_step() -> None:
    cells = {
        "smollm2-plain-warm": "plain",
        "smollm2-cued-grpo": "cued",
        "smollm2-balanced-grpo": "balanced",
    }
    tasks = (*real.COLUMNS, "pairs")
    changes = {"rule_right": 0.12, "rule_wrong": -0.2, "hi_tom": 0.01}
    found = kept(
        study="smol",
        verdicts=[
            verdict("smollm2-base"),
            *(verdict(cell, data, "reality") for cell, data in cells.items()),
        ],
        rows=[
            row(task, changes.get(task, 0.0), None, pairs=task == "pairs").model_copy(
                update={"cell": cell, "base_no_answer": 1.0, "trained_no_answer": 0.25}
            )
            for cell in cells
            for task in tasks
        ],
        chained=[step(task, change) for task, change in changes.items()],
        stalled={"smollm2-balanced-grpo": (10, 0.0)},
    )
    said = real.first_screen(found)
    assert "| - | nothing | 50.0 | 50.0 | 50.0 | 1.5 | 100.0 | undecided |" in said
    then = "| `cued` | then GRPO | 62.0 | 30.0 | 51.0 | 3.5 | 25.0 | simpler mind (reality) |"
    assert said.splitlines()[6] == then
    text = " ".join(said.split())
    assert "GRPO on `cued` changes accuracy by +12.0 ± 5.0 points where the rule is right" in text
    assert "On `balanced` it collapsed: from step 10 on all completions of a prompt" in text
    assert "The mind *reality* answers" in text


# --- several seeds --------------------------------------------------------------------------------


def change(group: str, measure: str, low: float) -> SeedChange:
    moved = SeedEstimate(mean=low + 0.1, low=low, high=low + 0.2, seeds=5)
    return SeedChange(group=group, measure=measure, before=0.4, after=0.5, change=moved)


def several(random: float = -0.1) -> Stored:
    """Four kinds of cells on two sets; `balanced` rises with right answers, nothing else moves."""
    changes, verdicts = [], []
    for combination in over_seeds.SETS:
        for arm in over_seeds.ARMS:
            low = {"grpo": 0.02 if combination == "balanced" else -0.3, "random": random}
            group = f"nano-{combination}-{arm}"
            changes += [
                change(group, measure, low.get(arm, -0.1))
                for measure in (LAST, *over_seeds.COLUMNS)
            ]
            verdicts += [
                verdict(f"{group}-s{seed}", f"{combination}-s{seed}", "reality" if seed else None)
                for seed in range(5)
            ]
    return kept(study="mini-seeds", verdicts=verdicts, over_seeds=changes)


def test_what_a_coin_changes_is_told_beside_chance() -> None:
    nothing = "Of the 6 changes after a random reward, none has an interval on one side of zero."
    assert nothing in " ".join(over_seeds.what_holds(several()).split())
    moves = " ".join(over_seeds.what_holds(several(0.01)).split())
    many = "6 have intervals on one side of zero (by chance 0.3 would): on `rule_right` of `cued`"
    assert f"{many} it gains" in moves
    unsure = over_seeds.moved(change("", "", -0.1).change)
    assert unsure == "changes by +0.0 (-10.0 to +10.0) points, which may be chance"


# --- published sets -------------------------------------------------------------------------------


def test_sets_without_a_source_or_a_learned_rule_are_told() -> None:
    learned = {"accuracy": 0.9, "readable": "initial", "readable_accuracy": 0.8, "pairs": None}
    found = {"rows": 5994, "rule": "last", "accuracy": 0.7}
    sets = {
        "tomi": {**found, "learned": learned},
        "fantom_list": {**found, "learned": None},
        "rlvr/hi": {**found, "learned": {**learned, "accuracy": 0.6}},
        "fantom_v1": {"absent": True},
    }
    said = data.learned_table(sets)
    assert "| ToMi, 5,994 | 90.0 | initial | 80.0 | last | 70.0 |" in said
    assert "| FANToM list, 5,994 | - | - | - | last | 70.0 |" in said
    text = " ".join(said.split())
    assert "Trees gain most over the best listed rule on *ToMi*: 20.0 points." in text
    assert "They gain nothing over it on *Study 2, training set `hi`*." in text
    assert "Sources that were not at hand: *FANToM*." in text
