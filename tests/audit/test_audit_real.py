"""The figures of docs/audit.md, on the real data; skipped without TOMRL_DATA_MIRROR."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from benchmarks.audited import FILE, kept
from pipeline.audit.cheats import won_without_answer
from pipeline.audit.contamination import Fingerprints
from pipeline.audit.records import ColumnAudit, WonWithoutAnswer
from pipeline.audit.sets import set_audit
from pipeline.config.study_files import find_study
from pipeline.data.build import select_parts
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tasks.registry import get
from tests.conftest import PROJECT

Audited = Callable[[str], ColumnAudit]


@lru_cache(maxsize=4)
def examples_of(name: str, mirror: Path) -> list[Example]:
    return get(name).examples(mirror)


@pytest.fixture(scope="module")
def audited(mirror: Path) -> Audited:
    """Audit a task by name."""
    return lru_cache(maxsize=8)(lambda name: set_audit(examples_of(name, mirror)))


@pytest.fixture(scope="module")
def listed(mirror: Path) -> Audited:
    """The same without learned rules, whose fits take most of the time."""

    def audit(name: str) -> ColumnAudit:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pipeline.audit.sets.learned_baseline", lambda _: None)
            return set_audit(examples_of(name, mirror))

    return lru_cache(maxsize=8)(audit)


def percent(share: float) -> float:
    return round(100 * share, 1)


@pytest.mark.parametrize(
    "task",
    [
        *("hi_tom", "tomi", "explore_tom"),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("fantom_belief", "opentom")),
    ],
)
def test_what_tables_are_written_from_is_what_an_audit_finds(audited: Audited, task: str) -> None:
    stored = json.loads((PROJECT / FILE).read_text(encoding="utf-8"))["sets"][task]
    found = json.loads(json.dumps(kept(audited(task))))
    for name in ("accuracy", "wording"):
        fitted = [each["learned"].pop(name) for each in (stored, found)]
        assert fitted[1] == pytest.approx(fitted[0], abs=0.005)  # other processors round anew
    assert found == stored


def test_hi_tom_labels_conflict_with_their_twins(audited: Audited) -> None:
    assert audited("hi_tom").twin_conflicts == {"2": 35, "3": 48, "4": 55}


def test_tomi_as_published(mirror: Path) -> None:
    """35.5 is what the first "is in the" of the text gives, also where it tells of a person: that
    answer, a room, is wrong in all 426 rows.
    """
    rows = examples_of("tomi", mirror)
    people = set(re.findall(r"(\w+) (?:entered|exited)", " ".join(row.story for row in rows)))
    first = [re.search(r"(\w+) is in the ([^.]+)", row.story) for row in rows]
    found = [(m[1] in people, m[2] == row.answer) for m, row in zip(first, rows, strict=True) if m]
    assert percent(sum(right for _, right in found) / len(rows)) == 35.5
    assert [right for person, right in found if person] == [False] * 426


def test_explore_tom_as_published(mirror: Path) -> None:
    """70.4: candidates are the gold answers of the test set that the story holds, of equals the
    first in the alphabet.
    """
    rows = examples_of("explore_tom", mirror)
    right = 0
    for row in rows:
        place = row.question.split()[2]
        known = {other.answer for other in rows if other.question.split()[2] == place}
        named = sorted(name for name in known if name in row.story)
        right += max(named, key=row.story.count) == row.answer
    assert right == 750
    assert percent(right / 1066) == 70.4


@pytest.mark.parametrize(
    ("scenario", "guessing", "sure"), [("inaccessible", 90.9, 82.1), ("accessible", 5.5, 0.0)]
)
def test_fantom_phrase_cue(listed: Audited, scenario: str, guessing: float, sure: float) -> None:
    types = listed("fantom_belief").baselines.by_type
    group = types[f"tom:belief:{scenario}:multiple-choice"]
    assert percent(group.rules["phrase cue"]) == sure
    assert percent(group.with_guess["phrase cue"]) == guessing


@pytest.mark.parametrize(
    ("task", "flagged"),
    [
        ("hi_tom", True),
        ("tomi", True),
        ("explore_tom", True),
        ("fantom_belief", True),
        ("opentom", False),
    ],
)
def test_flags_agree_with_the_published_audit(listed: Audited, task: str, flagged: bool) -> None:
    kinds = {flag.kind for flag in listed(task).flags}
    assert bool(kinds & {"rule", "lexical"}) == flagged


def test_leakage_of_study_1(mirror: Path) -> None:
    known = Fingerprints.of(examples_of("tom_rl_train", mirror))
    expected = {
        "tom_rl_validation": (400, 400, 400, 400, 0, 0),
        "hi_tom_order4": (600, 600, 600, 600, 0, 0),
        "explore_tom": (1066, 1027, 1027, 1027, 0, 2),
        "explore_tom_infilled": (1066, 1027, 0, 0, 1066, 0),  # the same stories in other words
        "tomi": (5994, 0, 0, 0, 0, 0),
        "hi_tom": (600, 0, 0, 95, 0, 0),  # other stories with the same events
    }
    for name, counts in expected.items():
        found = known.overlap(get(name).examples(mirror)).record()
        assert (
            found.rows,
            found.leaked,
            found.normalised_story,
            found.structure,
            found.unread,
            found.item,
        ) == counts, name


def test_an_audit_reads_ten_thousand_examples(listed: Audited) -> None:
    audit = listed("explore_tom_sample")
    assert (audit.rows, audit.unread, audit.label_conflicts) == (13309, 0, 1)


def won_in_training(study: str, combination: str, mirror: Path) -> WonWithoutAnswer:
    found = find_study(PROJECT, study)
    parts = found.dataset.combinations[combination].train
    return won_without_answer(read_all(select_parts(mirror, parts, found.seed)))


def test_explore_tom_pays_whoever_names_every_candidate(mirror: Path) -> None:
    won = won_without_answer(read_all(get("explore_tom_sample").examples(mirror)))
    assert won.cheat.what == "every possible answer in one sentence"
    assert (won.cheat.published, won.cheat.strict) == (1, 0)


def test_study_2s_training_set_pays_one_constant_sentence(mirror: Path) -> None:
    won = won_in_training("rlvr", "exp", mirror)
    assert (round(900 * won.constant.published), won.constant.strict) == (775, 0)
    assert round(900 * won.strict_constant.strict) == 294


def test_study_1s_training_set_pays_a_list_of_places(mirror: Path) -> None:
    won = won_in_training("tom-rl", "hi-exp", mirror)
    assert (percent(won.cheat.published), won.cheat.strict) == (34.7, 0)
    assert (percent(won.constant.published), percent(won.constant.strict)) == (3.4, 3.2)


def test_fantom_pays_whoever_names_both_letters(listed: Audited) -> None:
    shares = {won.what: won for won in listed("fantom_belief").without_answer.cheats}
    assert (shares["(a) or (b)"].published, shares["(a) or (b)"].strict) == (1, 0)
