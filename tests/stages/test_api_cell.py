"""A study with a model behind an address: reported, with that model's rows marked absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from pipeline.analysis.collect import collect
from pipeline.analysis.table import markdown
from pipeline.analysis.ways import ways_compared
from pipeline.config.expand import expand
from pipeline.config.params import ApiCell, Params
from pipeline.config.study import Study
from pipeline.data.card import BaseCard
from tests.conftest import shrink
from tests.evaluate.test_openai_engine import Reply, completion, serving
from tests.stages.made import run_cells


def with_gpt(folder: Path, asked: Mapping[str, object] = {}, **fields: object) -> Params:
    """The mini study, small, with GPT beside it; its own models are left out."""
    shrink(folder)
    study = yaml.safe_load((folder / "studies" / "mini.yaml").read_text())
    gpt = {"kind": "api", "title": "GPT", "model": "gpt-4o", **fields}
    study["base"]["models"]["gpt"] = gpt
    study["evaluate"] |= asked
    study["grid"]["evaluate_only"] = ["gpt"]
    params = expand(Study.model_validate(study))
    cells = {key: cell for key, cell in params.cells.items() if isinstance(cell, ApiCell)}
    return params.model_copy(update={"cells": cells})


def test_it_is_reported_as_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, params = tmp_path / "root", with_gpt(tmp_path)
    assert list(params.cells) == ["gpt-base"]
    run_cells(root, params, "gpt")
    runs = root / "runs" / "mini"
    card = BaseCard.read_of(runs / "base" / "gpt" / "card.json", "gpt", "base@gpt")
    assert (card.note, card.shown) == ("not known beyond its name", None)
    said = capsys.readouterr().out
    assert "evaluate gpt-base: absent: gpt-4o is behind https://api.openai.com/v1, and" in said
    folder = runs / "gpt-base" / "evaluate"
    grades = pd.read_parquet(folder / "grades.parquet")
    assert grades.empty and "correct" in grades.columns
    table = markdown(collect(params, root))
    assert "| gpt-base | - | hi_tom_orders_0_2 | not known | absent | - | - |" in table
    assert not (root / "mlflow.db").exists(), "nothing ran, so no run is made"


def test_prompt_programs_ask_it_too(tmp_path: Path) -> None:
    """A vote draws several answers with seeds of their own; SimToM asks about what it was told."""

    def reply(body: dict[str, Any], _: int) -> Reply:
        asked = body["messages"][-1]["content"]
        known = "Repeat these sentences" in asked
        return 200, {}, completion("Nobody saw." if known else "So.</think><answer>box</answer>")

    with serving(reply) as server:
        address = f"http://127.0.0.1:{server.server_port}/v1"
        programs = {"vote": {"kind": "vote", "of": 3}, "sim-tom": {"kind": "sim-tom"}}
        params = with_gpt(tmp_path, {"programs": programs}, address=address, key=None)
        assert list(params.cells) == ["gpt-base", "gpt-base-vote", "gpt-base-sim-tom"]
        run_cells(tmp_path / "root", params, "gpt")
    results = collect(params, tmp_path / "root")
    asked = results.cells["gpt-base"].tasks.values()
    drawn = [each for each in server.asked if each["temperature"] == 1.0]
    assert len(drawn) == 3 * sum(task.count for task in asked)
    assert len({(str(each["messages"]), each["seed"]) for each in drawn}) == len(drawn)
    later = [each for each in server.asked if "Nobody saw." in each["messages"][-1]["content"]]
    orders = Counter[str]()
    for task in asked:
        orders.update({order: share.count for order, share in task.by_order.items()})
    assert len(later) == orders.total() - orders["0"] > 0
    lines = {line["way"]: line for line in ways_compared(results)}
    vote, plain = lines["vote"], lines["base, asked plainly"]
    assert vote["written"] == 3 * plain["written"] and vote["read"] == plain["read"] > 0
    assert vote["accuracy"] == plain["accuracy"]
