"""``tomrl judge`` and ``tom claims``: what people type, see and mistype."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from tests.said import told, tomrl

STORY = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nBob exited the hall.\n"
    "Ann moved the hat to the blue_jar.\nAnn exited the hall.\nCleo exited the hall."
)
QUESTION = "Where does Bob really think the hat is?"
ROW: dict[str, object] = {
    "story": STORY,
    "question": QUESTION,
    "choices": "A. red_box, B. blue_jar",
    "answer": "red_box",
    "question_order": 1,
    "model_answer": "Bob thinks the hat is in the red_box.</think><answer>red_box</answer>",
}
RECORDED = Path(os.environ.get("TOMRL_DATA_MIRROR") or "/nowhere") / "recorded"
NAMES = {"0.5B": "0.5b-instruct", "1.5B": "1.5b-instruct", "3B": "3b-instruct"}
NAMES |= {"7B": "7b-instruct", "7B-1M": "7b-instruct-1m"}
PUBLISHED = {
    ("base", "expanded"): (30.33, 40.67, 39.17, 52.17, 40.67),
    ("base", "strict"): (29.33, 38.33, 37.67, 46.00, 36.33),
    ("rl800", "tags"): (70.83, 79.17, 81.17, 83.33, 84.50),
}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def accuracy(*words: object) -> dict[str, Any]:
    return dict(told("judge", "--match", "tags", *words)["accuracy"])


def recorded(name: str) -> Path:
    path = RECORDED / f"qwen2.5-{name}_hi_tom.csv"
    if not path.is_file():
        pytest.skip("TOMRL_DATA_MIRROR names no folder with the recorded responses")
    return path


@pytest.mark.parametrize(("stage", "match"), list(PUBLISHED))
def test_the_published_figures_come_out_again(stage: str, match: str) -> None:
    for model, published in zip(NAMES.values(), PUBLISHED[stage, match], strict=True):
        found = accuracy(recorded(f"{model}_{stage}"), "--match", match)
        assert round(100 * found["all"]["value"], 2) == published, model
        assert set(found) == {"0", "1", "2", "3", "4", "all"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_same_answers_in_any_file(tmp_path: Path, encoding: str) -> None:
    rows = [{**ROW, "story": f"Café. {STORY}"}, {**ROW, "model_answer": "<answer>jar</answer>"}]
    sheet = tmp_path / "in.csv"
    with sheet.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerows(rows)
    pd.DataFrame(rows).to_parquet(tmp_path / "in.parquet")
    files = [sheet, tmp_path / "in.parquet", lines(tmp_path / "in.jsonl", *rows)]
    for path in files:
        found = accuracy(path)
        assert (found["1"]["value"], found["all"]["count"]) == (0.5, 2), path


def test_regrade_says_what_it_did_not_find(tmp_path: Path) -> None:
    fenced = '```json\n{"thinking": "x", "answer": "The red box."}\n```'
    path = lines(tmp_path / "in.jsonl", {**ROW, "model_answer": fenced})
    assert "did you mean --match expanded?" in tomrl("judge", "--match", "tags", path)
    assert accuracy(path, "--match", "expanded")["all"]["value"] == 1
    assert accuracy(path, "--match", "strict")["all"]["value"] == 0  # a space for the underscore


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("in.csv", "story,question,text\na,b,c\n", ("story, question, text", "missing: answer")),
        ("in.csv", "answer,response\n", ("holds no answers",)),
        ("in.csv", "", ("holds no answers",)),
        ("in.jsonl", '{"answer": true, "response": "x"}', ("answer must be text", "bool")),
        ("in.jsonl", '{"answer": null, "response": "x"}', ("line 1", "answer is empty")),
        ("in.jsonl", '{"answer": "a", "response": [["b"]]}', ("response must be text",)),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, words: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as error:
        tomrl("judge", "--match", "tags", path)
    assert all(word in str(error.value) for word in (str(path), *words)), error.value


def test_a_task_that_needs_more_fields_says_which(tmp_path: Path) -> None:
    path = lines(tmp_path / "in.jsonl", ROW)
    with pytest.raises(UserError, match="is missing; grading fantom_sets needs it"):
        tomrl("judge", "--match", "tags", path, "-b", "fantom_sets")


def test_judge_gives_the_verdict_in_words_and_as_json(tmp_path: Path) -> None:
    rows = [json.dumps(ROW).replace("hat", f"hat{place}") for place in range(40)]
    path = lines(tmp_path / "in.jsonl", *map(json.loads, rows))
    text = tomrl("judge", path)
    assert "answers follow  undecided" in text and "reasoning is    plausible" in text
    found = told("judge", path)
    assert (found["answers"], found["by"], found["reasoning"]) == ("undecided", None, "plausible")
    assert found["evidence"]["reasoning"]["true"]["value"] == 1


def test_a_long_field_is_read_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ROW)
        writer.writeheader()
        writer.writerows({**ROW, "model_answer": "so " * 60_000} for _ in range(3))
    before = csv.field_size_limit()
    assert before < 180_000
    assert told("judge", path)["reasoning"] == "absent"
    assert csv.field_size_limit() == before


def test_judge_compares_with_what_was_answered_before(tmp_path: Path) -> None:
    before = lines(tmp_path / "before.jsonl", *({**ROW, "model_answer": "so " * 90},) * 40)
    after = lines(tmp_path / "after.jsonl", *({**ROW, "model_answer": "so " * 9},) * 40)
    found = told("judge", after, "--before", before)
    named = {each["name"]: each["present"] for each in found["signatures"]}
    assert named["response collapse"]


def test_judge_needs_stories(tmp_path: Path) -> None:
    path = lines(tmp_path / "in.jsonl", {"answer": "a", "response": "b"})
    with pytest.raises(UserError, match="missing: story, question"):
        tomrl("judge", path)


FOLLOWED = {
    "0.5B": ("rule", "learned rule, near earliest exit"),
    "1.5B": ("mixture", "beliefs and guesses on some kinds of question"),
    "3B": ("mixture", "beliefs and guesses on some kinds of question"),
    "7B": ("undecided", None),
    "7B-1M": ("simpler mind", "returns missed and sight alone"),
}


@pytest.mark.parametrize(
    "size",
    [
        *("0.5B", "7B", "7B-1M"),
        *(pytest.param(size, marks=pytest.mark.nightly) for size in ("1.5B", "3B")),
    ],
)
def test_what_is_known_of_the_recorded_models(size: str) -> None:
    """Right on 76 to 91 % where the rule is right, on 32 to 48 % where it is wrong."""
    name = NAMES[size]
    before, after = recorded(f"{name}_base"), recorded(f"{name}_rl800")
    found = told("judge", after, "--before", before)
    rules = found["evidence"]["answers"]["rules"]
    best = next(each for each in rules if each["kind"] == "listed")
    assert best["rule"] == "earliest exit" and best["where_wrong"]["count"] >= 50
    assert found["evidence"]["answers"]["contradicted"] == 17
    assert 0.75 < best["where_right"]["value"] < 0.93
    faculties = {each["without"]: each for each in found["profile"]}
    assert faculties["absence unseen"]["state"] == "there"
    claims = faculties["sight alone"]["whole"]
    assert claims["count"] <= 22 and claims["value"] < 0.15
    assert (found["answers"], found["by"]) == FOLLOWED[size]
    assert found["reasoning"] == ("absent" if size == "0.5B" else "unfaithful")
    present = {each["name"] for each in found["signatures"] if each["present"]}
    assert "inverted difficulty" in present
    assert ("response collapse" in present) == (size != "7B-1M")


def test_claims_of_every_response(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"id": "a", "story": STORY, "question": QUESTION, "response": ROW["model_answer"]},
        {"story": STORY, "question": f"{QUESTION} (red_box / blue_jar)", "response": "Well."},
        {"id": 3, "story": "It rained.", "question": QUESTION, "response": "Bob thinks so."},
    ]
    source = lines(tmp_path / "in.jsonl", *rows)
    text = tomrl("tom", "claims", source, "-o", tmp_path / "out.jsonl")
    said = " ".join(text.split())
    assert "1 claim in 3 responses" in said and "1 of them true" in said
    assert "the stories of 1 response could not be read" in said
    first, second, third = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["id"], second, third) == ("a", {"id": 2, "claims": []}, {"id": 3, "claims": []})
    (claim,) = first["claims"]
    assert claim == {
        "holders": ["Bob"],
        "object": "hat",
        "place": "red_box",
        "negated": False,
        "when": "end",
        "true": True,
        "start": 0,
        "end": 36,
    }
