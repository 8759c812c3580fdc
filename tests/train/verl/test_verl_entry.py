"""The reward as verl calls it equals the reward of the local trainer."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.base.plugins import REWARDS
from pipeline.data.codec import example_of, write_dataset
from pipeline.data.prompt import PROMPTS
from pipeline.ops.verl import collect
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.reward.verl_entry import ANSWERED, compute_score
from pipeline.tasks import registry
from pipeline.tasks.example import Example

STORY = (
    "1 Ann, Bob and Cal entered the hall.\n2 The pear is in the red_box.\n"
    "3 Ann moved the pear to the blue_box.\n4 Ann exited the hall.\n"
    "5 Bob moved the pear to the green_box.\n6 Bob exited the hall.\n7 Cal exited the hall."
)
QUESTION = "Where does Ann think Bob thinks the pear is?"


def examples() -> list[Example]:
    """Examples of several benchmarks; one task mixes two of them."""
    mixed: dict[str, Any] = {
        "task": "tom_rl_train",
        "story": STORY,
        "question": QUESTION,
        "answer": "blue_box",
    }
    return [
        Example(benchmark="hi_tom", order=2, question_type="order_2", **mixed),
        Example(benchmark="explore_tom", meta={"deception": False, "é": 1}, **mixed),
        Example("hi_tom", "hi_tom", STORY, QUESTION, "blue_box", order=2),
        Example("gsm8k", "gsm8k", "", "What is 2 + 2?", "4", answer_kind="number"),
        Example(
            "fantom", "fantom_yes_no", STORY, "Does Ann know?", "no", "yes_no", ("yes", "no"), 1
        ),
    ]


def responses(count: int) -> list[str]:
    """Varied responses: right, wrong, malformed, hostile, empty."""
    random = Random(0)
    pieces = [
        *("Ann thinks the pear is in the blue_box. ", "Bob thinks the pear is in the red_box. "),
        *("</think>", "<answer>", "</answer>", "<think>", " blue_box", "red_box", "\\boxed{4}"),
        *("4", "no", "Yes.", "\n", "<|im_end|>", "\x00", "é", "{'answer': 1}", "(" * 40, "a" * 500),
    ]
    good = [
        f"Ann thinks the pear is in the blue_box.</think><answer> {a}</answer>"
        for a in ("blue_box", "Blue box.", "red_box", "4", "no")
    ]
    made = ["".join(random.choices(pieces, k=random.randint(0, 9))) for _ in range(count)]
    return ["", *good, *made]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset as the stage writes it."""
    path = tmp_path_factory.mktemp("data") / "train.parquet"
    write_dataset(path, examples(), PROMPTS["compact"], "train")
    return path


def called(row: dict[Any, Any], response: str, **kwargs: Any) -> dict[str, float]:
    """Call the entry as verl's reward managers do."""
    info = {**row["extra_info"], "num_turns": 2, "rollout_reward_scores": {}}
    truth = row["reward_model"]["ground_truth"]
    return compute_score(row["data_source"], response, truth, extra_info=info, **kwargs)


@pytest.mark.parametrize("preset", REWARDS)
def test_the_entry_gives_the_local_trainers_reward(dataset: Path, preset: str) -> None:
    rows = pd.read_parquet(dataset).to_dict("records")
    checked, own = 0, {"weight": 0.3} if preset == "fidelity" else {}
    for row, example in zip(rows, examples(), strict=True):
        for response in responses(80):
            direct = safe_reward(load_preset(preset, own), response, example)
            found = called(row, response, preset=preset, settings=own)
            answered = float(bool(direct.grade.extracted))
            wanted = {**direct.figures(), "answered": answered}
            assert found == wanted, (row["data_source"], response)
            checked += found["checked"] > 0
    assert (checked > 0) == (preset == "fidelity")


def test_what_verl_counts_to_the_prompt_is_part_of_the_response(dataset: Path) -> None:
    row = pd.read_parquet(dataset).to_dict("records")[0]
    text = f"<answer> {row['reward_model']['ground_truth']}</answer>"
    whole = called(row, f"</think>{text}", preset="rlvr")
    assert called(row, text, preset="rlvr", begun="</think>") == whole
    assert whole["score"] == pytest.approx(1.1)
    assert called(row, text, preset="rlvr")["score"] == 0


def test_a_row_of_another_layout_is_no_response_failing(dataset: Path) -> None:
    row = pd.read_parquet(dataset).to_dict("records")[0]
    info = {key: value for key, value in row["extra_info"].items() if key != "benchmark"}
    with pytest.raises(UserError, match=r"(?s)no dataset's layout.*benchmark"):
        called({**row, "extra_info": info}, "", preset="rlvr")
    with pytest.raises(UserError, match="no dataset's layout"):
        example_of({**row["extra_info"], "meta": "{"}, "hi_tom", "blue_box")


def test_grading_that_raises_costs_one_response(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too deep")

    row = pd.read_parquet(dataset).to_dict("records")[0]
    monkeypatch.setattr(registry.Task, "grade", broken)
    found = called(row, "</think><answer> blue_box</answer>", preset="tom-rl")
    assert (found["error"], found["score"], found["acc"]) == (1, -3, 0)


def test_every_value_is_a_plain_number(dataset: Path) -> None:
    row = pd.read_parquet(dataset).to_dict("records")[0]
    found = called(row, "</think><answer> blue_box</answer>", preset="rlvr")
    assert all(type(value) is float for value in found.values())


def test_an_unknown_preset_is_no_response_failing(dataset: Path) -> None:
    row = pd.read_parquet(dataset).to_dict("records")[0]
    with pytest.raises(UserError, match="unknown reward preset 'best'"):
        called(row, "", preset="best")


def test_the_job_reads_the_figure_under_the_name_that_is_given() -> None:
    assert collect.ANSWERED == ANSWERED
