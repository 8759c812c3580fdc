"""Recorded responses and grades that are gone, cut off or lack a column."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.judge.recorded import read_table


def test_what_cannot_be_read_is_named_with_its_stage(tmp_path: Path) -> None:
    path = tmp_path / "responses.parquet"
    with pytest.raises(UserError, match=r"does not exist; make it with: dvc repro evaluate@a"):
        read_table(path, ("id", "response"), "evaluate@a")
    pd.DataFrame({"id": ["1"], "sample": [0]}).to_parquet(path)
    assert list(read_table(path, ("id",), "evaluate@a")["sample"]) == [0]
    with pytest.raises(UserError, match=r"no column response\..*--force evaluate@a"):
        read_table(path, ("id", "response"), "evaluate@a")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"responses\.parquet is damaged.*evaluate@a"):
        read_table(path, ("id",), "evaluate@a")
