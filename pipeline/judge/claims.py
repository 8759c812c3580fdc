"""``claims.parquet`` of a cell: counts of each response's statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.formats.files import replacing
from pipeline.judge.items import Item
from pipeline.judge.reasoning import Statements

COUNTS = ("made", "true", "recounted", "recounted_true", "decisive", "stated", "held")
"""See :class:`pipeline.judge.reasoning.Statements`."""


def write_claims(
    path: Path,
    answered: Mapping[str, Sequence[Item]],
    stated: Mapping[str, Sequence[Statements | None]],
) -> None:
    """Write one row per response, with empty counts where nothing can be checked."""
    rows = [
        (item.example.id, column, said)
        for column, items in answered.items()
        for item, said in zip(items, stated[column], strict=True)
    ]
    frame = pd.DataFrame(
        {
            "id": pd.Series([name for name, _, _ in rows], dtype="string"),
            "task": pd.Series([column for _, column, _ in rows], dtype="string"),
            **{
                count: pd.Series(
                    [None if said is None else getattr(said, count) for *_, said in rows],
                    dtype="Int64",
                )
                for count in COUNTS
            },
        }
    )
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)
