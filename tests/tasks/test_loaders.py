"""The loaders on small files of each form, and on what the real files must hold."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]

from pipeline.base.errors import UserError
from pipeline.data.prompt import compact
from pipeline.tasks import bigtom, explore_tom, fantom, gsm8k, hi_tom, tom_rl, tombench, tomi
from pipeline.tasks.registry import all_tasks, get


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Hi-ToM


def hi_tom_rows() -> list[dict[str, Any]]:
    row = {
        "prompting_type": "CoTP",
        "deception": False,
        "story_length": 1,
        "question_order": 1,
        "sample_id": 0,
        "story": "1 Ann entered the den.\n2 The hat is in the red_box.\n\n***",
        "question": "Where does Ann really think the hat is?",
        "choices": ", ".join(f"{letter}. c_{letter}" for letter in "ABCDEFGHIJKLMNO"),
        "answer": "c_B",
    }
    twin = row | {"prompting_type": "VP", "sample_id": 300, "answer": "c_C"}
    return [row, twin | {"story": f"Read this.\n{row['story']}"}]


def hi_tom_file(folder: Path, rows: list[dict[str, Any]]) -> Path:
    put(folder, "hi_tom/Hi-ToM_data.json", json.dumps({"data": rows}))
    return folder


def test_hi_tom_twins(tmp_path: Path) -> None:
    raw = hi_tom_file(tmp_path, hi_tom_rows())
    (mine,), (twin,) = hi_tom.load(raw, "CoTP", "hi_tom"), hi_tom.load(raw, "VP", "hi_tom_vp")
    assert mine.story == twin.story == "Ann entered the den.\nThe hat is in the red_box."
    assert (mine.answer, twin.answer) == ("c_B", "c_C")
    assert mine.meta["label_conflict"] and twin.meta["label_conflict"]
    assert (mine.meta["twin_answer"], twin.meta["instruction"]) == ("c_C", "Read this.")
    assert mine.story_id == twin.story_id


# ToM-RL


def tom_rl_row() -> dict[str, Any]:
    return {
        "data_source": "hi_tom",
        "story": "Ann entered the den.",
        "question": "Where does Ann think Bob thinks the hat is?",
        "answer": "red_box",
        "reward_model": {"style": "rule", "ground_truth": "red_box"},
        "extra_info": {"question_order": 2.0, "story_length": 1.0, "deception": True},
    }


def tom_rl_file(folder: Path, *rows: dict[str, Any]) -> Path:
    (folder / "tom_rl").mkdir()
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "tom_rl" / tom_rl.TEST)
    return folder


def test_tom_rl(tmp_path: Path) -> None:
    retold = {
        "data_source": "explore_tom",
        "question": "In which room was the hat at the beginning?",
        "extra_info": {"infilled_story": "Once, in a den...", "question_type": "memory"},
    }
    raw = tom_rl_file(tmp_path, tom_rl_row(), tom_rl_row() | retold)
    plain, explore = tom_rl.load(raw, tom_rl.TEST, "t")
    assert (plain.order, plain.question_type) == (2, "order_2")
    assert plain.meta == {"deception": True, "story_length": 1}
    assert (explore.order, explore.question_type) == (-1, "memory")
    _, infilled = tom_rl.load(raw, tom_rl.TEST, "t", infilled=True)
    assert infilled.story == "Once, in a den..."
    assert infilled.story_id == explore.story_id
    assert infilled.id != explore.id


# ToMi

STORY = "1 Ann entered the den.\n2 The hat is in the box.\n"
TRACE = "enter_agent_0,first_order_0_tom,false_belief\n"


def tomi_files(folder: Path, text: str | bytes, trace: str) -> Path:
    put(folder, "tomi/fb_all_test.txt", text)
    put(folder, "tomi/fb_all_test.trace", trace)
    return folder


def test_tomi(tmp_path: Path) -> None:
    text = (STORY + "3 Where will Ann look for the hat?\tbox\t1\n") * 2
    first, _ = tomi.load(tomi_files(tmp_path, text, TRACE * 2))
    assert first.story == "Ann entered the den.\nThe hat is in the box."
    assert (first.question, first.answer) == ("Where will Ann look for the hat?", "box")
    assert (first.order, first.question_type) == (1, "first_order_0_tom")
    assert first.meta == {"story_type": "false_belief", "events": ["enter_agent_0"]}


# GSM8K


def test_gsm8k(tmp_path: Path) -> None:
    lines = '{"question": "How many?", "answer": "<<1+1=2>>\\n#### -1,234"}\n\n'
    put(tmp_path, "gsm8k/test.jsonl", lines)
    (example,) = gsm8k.load(tmp_path, "test.jsonl", "gsm8k")
    assert (example.answer, example.answer_kind, example.story) == ("-1234", "number", "")


# ExploreToM


def explore_row() -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(explore_tom._COLUMNS, 1)
    row.update(dict.fromkeys([key for key in row if "is_false" in key or "unique" in key], True))
    row.update({"qprop=params": "()", "param=story_type": "tomi", "infilled_story": "Once..."})
    row["story_structure"] = (
        "Ann entered the den. Ann moved the hat, a red one to the box, which is also located in "
        "the den. Ann painted the hat blue Bob moved the hat to the tin, which is also located in "
        "the den. Bob moved the hat to the attic, leaving the tin in its original location."
    )
    row["question"] = "In which container will Ann search for the hat?"
    row["expected_answer"] = "box"
    return row


def explore_file(folder: Path, row: dict[str, Any]) -> Path:
    book = Workbook()
    book.active.append(list(row))
    book.active.append(list(row.values()))
    (folder / "explore_tom").mkdir()
    book.save(folder / "explore_tom" / "explore_tom.xlsx")
    return folder


def test_explore_tom(tmp_path: Path) -> None:
    (example,) = explore_tom.load(explore_file(tmp_path, explore_row()), "t")
    assert (example.question_type, example.answer_kind) == ("container", "span")
    assert explore_tom.candidates(example.story, example.question) == ["box", "tin"]
    assert explore_tom.candidates(example.story, "In which room was") == ["den", "attic"]
    assert example.meta["candidates"] == 2
    assert explore_tom.match_contained("In the BOX, surely", example)
    assert not explore_tom.match_contained("tin", example)


# FANToM's belief files

ROW = {"context": "Ann: Hi.", "question": "Q?", "answer_choices": "['r', 'w']", "gt_answer": "r"}
QUESTION = {
    "index": "0",
    "question": "Q?\n(a) w\n(b) r\n\nChoose an answer from above:",
    "question_type": "tom:belief:accessible:multiple-choice",
    "set_id": "0-0-0",
}


def csv_file(path: Path, *rows: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def fantom_files(folder: Path, row: dict[str, str], question: dict[str, str]) -> Path:
    csv_file(folder / "percept_fantom" / "flattened_fantom.csv", question)
    for accessibility in ("accessible", "inaccessible"):
        for order in ("first", "second"):
            name = f"FANToM_tom_belief_{accessibility}_short_context_{order}-order.csv"
            csv_file(folder / "fantom" / name, row)
    return folder


def test_fantom_beliefs(tmp_path: Path) -> None:
    raw = fantom_files(tmp_path, ROW, QUESTION)
    (choice,) = fantom.load_beliefs(raw, "t", "short")
    assert (choice.choices, choice.answer) == (("(a) w", "(b) r"), "(b) r")
    (free,) = fantom.load_beliefs(raw, "t", "short", free=True)
    assert (free.question, free.answer, free.meta["wrong_answer"]) == ("Q?", "r", "w")


# BigToM

CELLS = (
    *(
        "S1. S2. S3. Ann believes it is full. Bob empties it.",
        "Ann sees it.",
        "Ann does not see it.",
    ),
    *(
        "Ann refills it.",
        "Ann pours.",
        "Full or empty?",
        "What does she want?",
        "What will Ann do?",
    ),
    *("It is empty.", "Tea.", "She refills it.", "It is full.", "Tea.", "She pours."),
    *("A mug falls.", "Ann sees the mug.", "Ann does not see the mug.", "auto", "0"),
)


def bigtom_file(folder: Path, *rows: tuple[str, ...]) -> Path:
    put(folder, "bigtom/bigtom.csv", "".join(f"{';'.join(row)}\n" for row in rows))
    return folder


def test_bigtom(tmp_path: Path) -> None:
    found = list(bigtom.load(bigtom_file(tmp_path, CELLS, CELLS)))
    told = {(ex.question_type, ex.meta["initial_belief"]): ex for ex in found[:22]}
    assert len(told) == 22
    sees = told["forward_belief:true_belief", False]
    assert sees.story == "S1. S2. S3. Bob empties it. Ann sees it."
    assert (sees.question, sees.answer, sees.order) == ("Full or empty?", "It is empty.", 1)
    acts = told["forward_action:false_belief", True]
    assert acts.story.endswith("Ann believes it is full. Bob empties it. Ann does not see it.")
    assert (acts.question, acts.answer) == ("What will Ann do?", "She pours.")
    control = told["backward_belief:true_control", False]
    assert control.story == "S1. S2. S3. A mug falls. Ann pours."
    assert control.answer == "It is full."
    assert told["backward_belief:true_belief", False].story.endswith("Ann refills it.")
    assert {ex.choices.index(ex.answer) for ex in found[:22] if ex.choices} == {0}
    assert {ex.choices.index(ex.answer) for ex in found[22:] if ex.choices} == {1}
    prompt = compact(found[22])[0]["content"]
    assert prompt.endswith("Full or empty?\nOptions:\nA. It is full.\nB. It is empty.")


# ToMBench

RIDDLE = {
    "能力\nABILITY": "Belief: Location false beliefs ",
    "STORY": "Li moves the cabbage.",
    "QUESTION": "Where is it?",
    **{f"OPTION-{letter}": f"{letter}. Bag {letter}" for letter in "ABCD"},
    "答案\nANSWER": "B. ",
}


def tombench_files(folder: Path, *rows: dict[str, Any]) -> Path:
    for kind in tombench._KINDS:
        put(folder, f"tombench/{kind}.jsonl", "")
    put(folder, "tombench/Hidden Emotions.jsonl", "".join(f"{json.dumps(r)}\n" for r in rows))
    return folder


def test_tombench(tmp_path: Path) -> None:
    two = RIDDLE | {"OPTION-C": float("nan"), "OPTION-D": float("nan"), "答案\nANSWER": "A"}
    four, yes_no = tombench.load(tombench_files(tmp_path, RIDDLE, two))
    assert (four.answer, four.choices) == ("Bag B", ("Bag A", "Bag B", "Bag C", "Bag D"))
    assert four.meta == {"kind": "Hidden Emotions", "ability": "Belief: Location false beliefs"}
    assert (yes_no.answer, yes_no.choices) == ("Bag A", ("Bag A", "Bag B"))
    right = {"[[B]]", "[B], surely", "B", "b.", "B. Bag B", "bag b"}
    wrong = ("[[A]]", "A", "E", "Bag C", "C. Bag B", "[[A]] or [[B]]", "AB", "", "Bag B, no: [[C]]")
    for said in (*right, *wrong):
        assert tombench.match_option(said, four) == (said in right), said


# Every format


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.name)
def test_missing_source_is_named(tmp_path: Path, task: Any) -> None:
    with pytest.raises(UserError, match="missing; acquire the source .* first"):
        task.examples(tmp_path)


# The real files


def test_hi_tom_is_what_study_1_evaluated_on(mirror: Path) -> None:
    with (mirror / "tom_rl" / "Hi_ToM_cleaned.csv").open(newline="") as file:
        cleaned = [
            (row["story"].strip(), row["question_old"], row["answer"], int(row["question_order"]))
            for row in csv.DictReader(file)
        ]
    mine = [(ex.story, ex.question, ex.answer, ex.order) for ex in get("hi_tom").examples(mirror)]
    assert sorted(mine) == sorted(cleaned)


def test_label_conflicts_are_those_listed(mirror: Path) -> None:
    lines = (mirror / "hi_tom" / "robusttom_label_conflicts.jsonl").read_text().splitlines()
    listed = {json.loads(line)["cotp_source_sample_id"] for line in lines}
    examples = get("hi_tom").examples(mirror)
    assert {ex.meta["sample_id"] for ex in examples if ex.meta["label_conflict"]} == listed
    assert len(listed) == 138


def test_training_rows_by_benchmark_and_order(mirror: Path) -> None:
    found = Counter((ex.benchmark, ex.order) for ex in get("tom_rl_train").examples(mirror))
    hi_tom_orders = dict(zip(range(4), (515, 487, 500, 498), strict=True))
    explore_orders = {-1: 428, 1: 158, 2: 614}
    assert found == {
        **{("hi_tom", order): n for order, n in hi_tom_orders.items()},
        **{("explore_tom", order): n for order, n in explore_orders.items()},
    }


GENERATED = {
    "story": "Ann entered the hall.",
    "question": "Where is the hat?",
    "answer": "box",
    "order": 0,
    "question_type": "order_0",
    "choices": None,
    "is_interesting": False,
    "trace": "",
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": ["a", 1]}, "line 2: field 'choices' is not a list of texts"),
        ({"trace": None}, "line 2: field 'trace' is NoneType"),
    ],
    ids=range(2),
)
def test_malformed_generated_rows(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "hi_tom_style" / "test.jsonl"
    path.parent.mkdir()
    path.write_text(f"{json.dumps(GENERATED)}\n{json.dumps(GENERATED | change)}\n")
    with pytest.raises(UserError, match=message):
        get("hi_tom_style").examples(tmp_path)
