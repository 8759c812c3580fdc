"""The solver against the labels of the real benchmarks, every disagreement explained.

Reads the upstream files from the folder named by TOMRL_DATA_MIRROR; skipped without it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from pipeline.tom.belief import beliefs
from pipeline.tom.check import Agreement, Disagreement, check
from pipeline.tom.parse import hi_tom, tomi
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import EXPLORE_TOM, TOMI_PLAIN, TOMI_RELEASED, Rules
from pipeline.tom.solve import solve
from pipeline.tom.story import Enter, Place, Story, agents_of

Row = dict[str, Any]


def orders(report: Agreement) -> dict[str, int]:
    """The number of disagreements by order."""
    return {order: total - agreed for order, (agreed, total) in report.by_order.items()}


# Hi-ToM


def test_generated_hi_tom_of_tom_rl_all_agree(mirror: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        row
        for name in ("ToM_train_HiEx_hint", "ToM_test_HiExTi_hint")
        for row in parquet.read_table(
            mirror / "tom_rl" / f"{name}.parquet",
            columns=["story", "question", "answer", "data_source"],
        ).to_pylist()
        if row["data_source"] == "hi_tom"
    ]
    report = check("hi_tom", rows)
    assert (report.agreed, report.total) == (3000, 3000)


def hi_tom_rows(mirror: Path, variant: str) -> list[Row]:
    data = json.loads((mirror / "hi_tom" / "Hi-ToM_data.json").read_text(encoding="utf-8"))["data"]
    return [row for row in data if row["prompting_type"] == variant]


def test_released_hi_tom_agrees_but_for_17_of_600(mirror: Path) -> None:
    report = check("hi_tom", hi_tom_rows(mirror, "CoTP"))
    assert (report.agreed, report.total) == (583, 600)
    assert orders(report) == {"0": 0, "1": 0, "2": 5, "3": 5, "4": 7}


def test_the_17_have_no_support_in_the_release_or_need_more_than_the_rules(mirror: Path) -> None:
    # The same question appears twice in the release. In 12 of the 17 its other copy has the answer
    # of the engine. Of the 5 others, all in stories that come back to a room of an earlier chapter,
    # the table says which other reading gives the label.
    twins = {row["sample_id"] - 300: row["answer"] for row in hi_tom_rows(mirror, "VP")}
    disagreements = check("hi_tom", hi_tom_rows(mirror, "CoTP")).disagreements
    assert all(found.row["story_length"] > 1 for found in disagreements)
    lone = [found for found in disagreements if twins[found.row["sample_id"]] != found.answer]
    assert len(disagreements) - len(lone) == 12
    assert {found.row["sample_id"]: reading(found) for found in lone} == {
        292: "the later visit, without the one who missed it",
        296: "the later visit, without the one who missed it",
        774: "the claim, taken to chains of more than two",
        794: "the claim, taken to chains of more than two",
        881: "the later visit, without the one who missed it",
    }


def reading(found: Disagreement) -> str:
    """Say which other reading of the story gives the label."""
    story = hi_tom.parse_story(found.row["story"])
    question = hi_tom.parse_question(found.row["question"])
    known = beliefs(story.events)
    label = found.row["answer"]
    inner = question.chain[1:]
    claimed = [o for o in known.observations if not o.real and o.value == label]
    if any(set(inner[-2:]) >= set(chain) for o in claimed for chain in o.chains):
        return "the claim, taken to chains of more than two"
    visits = later(story.events, question.chain)
    return "the later visit, without the one who missed it" if label in visits else "?"


def later(story: Story, chain: tuple[str, ...]) -> set[str | None]:
    """What the chain believes of objects in rooms that one of it did not come back to.

    That person is left out of the chain, and any object that lay there at the later visit counts.
    """
    known, found = beliefs(story), set()
    for index, (event, following) in enumerate(pairwise(story)):
        if not isinstance(event, Enter) or not isinstance(following, Place):
            continue
        before = {entered.room for entered in story[:index] if isinstance(entered, Enter)}
        present = [agent for agent in chain if agent in event.agents]
        if event.room in before and len(present) == len(chain) - 1:
            found.add(known.of(present, following.object))
    return found


# ToMi


def tomi_rows(mirror: Path) -> list[Row]:
    with (mirror / "tom_rl" / "ToMi_cleaned.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def released_rows(mirror: Path, split: str = "test") -> Iterator[Row]:
    with ZipFile(mirror / "tomi" / "tomi_balanced_story_types.zip") as archive:
        text = archive.read(f"tomi_balanced_story_types/fb_all_{split}.txt").decode()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("1 "):
            lines = []
        if "\t" in line:
            question, answer, _ = line.split(" ", 1)[1].split("\t")
            yield {"story": "\n".join(lines), "question": question, "answer": answer}
        else:
            lines.append(line)


def test_tomi_agrees_with_the_third_agent_quirk(mirror: Path) -> None:
    report = check("tomi", [without_type(row) for row in tomi_rows(mirror)])
    assert report.total == 5994
    assert report.share > 0.997
    assert orders(report) == {"0": 0, "1": 4, "2": 12}


def without_type(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "question_type"}


def test_the_remaining_tomi_labels_are_stale_registrations(mirror: Path) -> None:
    # Upstream lists the two containers in their room and leaves them listed in a random one, so
    # whoever enters that other room is shown the object where it is by then. The text does not
    # tell which room that is; but each of these labels is the true place at such an entrance.
    disagreements = check("tomi", tomi_rows(mirror)).disagreements
    assert len(disagreements) == 16
    for found in disagreements:
        assert found.row["answer"] in shown_elsewhere(found.row), found


def shown_elsewhere(row: Mapping[str, Any]) -> set[str | None]:
    """Where the object is whenever somebody enters another room than its own."""
    story = tomi.parse_story(row["story"]).events
    thing = tomi.parse_question(row["question"]).object
    room = next(event.room for event in story if isinstance(event, Place))
    known = beliefs(story, TOMI_PLAIN)
    entrances = [
        (moment, event.agents[0])
        for moment, event in enumerate(story)
        if isinstance(event, Enter) and event.room != room
    ]
    places = {known.until(moment).of((), thing) for moment, _ in entrances}
    third = set(agents_of(story)) - main_agents(story)
    if any(agent in third for _, agent in entrances):
        places.add(known.of((), thing))  # the third agent's entrance takes effect after the end
    return places


def main_agents(story: Story) -> set[str]:
    """The agents who are in the object's room when it is placed there."""
    known = beliefs(story, TOMI_PLAIN)
    return set(next(o.group for o in known.observations))


def test_share_of_tomi_labels_that_contradict_a_plain_reading(mirror: Path) -> None:
    copy = check("tomi", [without_type(row) for row in tomi_rows(mirror)], TOMI_PLAIN)
    assert orders(copy) == {"0": 0, "1": 4, "2": 232}  # 11.6 % of the second-order labels
    released = check("tomi", released_rows(mirror), TOMI_PLAIN)
    assert orders(released) == {"0": 0, "1": 0, "2": 464}  # 23.2 %


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_the_released_tomi_archive_follows_its_own_rule(mirror: Path, split: str) -> None:
    report = check("tomi", released_rows(mirror, split), TOMI_RELEASED)
    assert (report.agreed, report.total) == (5994, 5994)


# ExploreToM


@pytest.fixture(scope="module")
def explore_rows(mirror: Path) -> list[Row]:
    pandas = pytest.importorskip("pandas")
    table = pandas.read_excel(mirror / "explore_tom" / "explore_tom.xlsx")
    return [
        {
            "story": row["story_structure"],
            "question": row["question"],
            "answer": row["expected_answer"],
            "order": row["qprop=nth_order"],
        }
        for row in table.to_dict("records")
    ]


def test_explore_tom_by_kind_of_question(explore_rows: list[Row]) -> None:
    by_type = check("explore_tom", explore_rows).by_type
    assert by_type["container, now"] == (1714, 1714)
    assert by_type["container, beginning"] == (249, 249)
    assert by_type["room, now"] == (2891, 2891)
    assert by_type["room, beginning"] == (45, 45)
    assert by_type["room, before"] == (6, 6)
    assert by_type["container, before"] == (272, 273)
    assert by_type["knows"] == (6801, 6804)
    assert by_type["state"] == (1321, 1327)


def test_every_explore_tom_miss_is_explained(explore_rows: list[Row]) -> None:
    labels: dict[tuple[str, str], set[str]] = {}
    same_story: dict[str, int] = {}
    for row in explore_rows:
        labels.setdefault((row["story"], row["question"]), set()).add(row["answer"])
        same_story[row["story"]] = same_story.get(row["story"], 0) + 1
    hidden = Rules(containers_hide=True, states_show=False)
    for found in check("explore_tom", explore_rows).disagreements:
        row = dict(found.row)
        contradictory = len(labels[row["story"], row["question"]]) > 1
        unshown = solve("explore_tom", row["story"], row["question"], rules=hidden).answer
        twin = "summer event marketing strategies" in row["question"]
        # One label of two for the same text; a state that does not show; or a story whose text was
        # made twice from different topics, so that one copy tells of a talk that the text does not.
        assert contradictory or unshown == row["answer"] or twin, found


def test_the_distracted_quirk_decides_two_rows(explore_rows: list[Row]) -> None:
    plain = Rules(containers_hide=True)
    quirk = len(check("explore_tom", explore_rows, EXPLORE_TOM).disagreements)
    assert len(check("explore_tom", explore_rows, plain).disagreements) == quirk + 2


def test_where_questions_know_their_order() -> None:
    assert [WhereQuestion("hat", ("A",) * n).order for n in range(5)] == [0, 1, 2, 3, 4]
