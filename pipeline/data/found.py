"""Stories that a search has found, as rows to train on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.sources import FoundStories, HiTomSource
from pipeline.data.generated import StoryRow, fold_of, rows_of
from pipeline.formats.files import file_digest
from pipeline.tom.generate.item import GeneratedItem, GeneratedQuestion
from pipeline.tom.language import HI_TOM, PLAIN
from pipeline.tom.solve import read


def found_stories(root: Path, source: HiTomSource, found: FoundStories) -> Iterator[list[StoryRow]]:
    """Yield each story with its question; where structures are apart, none of a test structure.

    Raises:
        UserError: If the file is missing, is another one, or a line is no question of Hi-ToM whose
            gold answer the belief engine gives.
    """
    path = root / found.file
    if not path.is_file():
        raise UserError(f"acquire: found.file: there is no {found.file}; tomrl attack writes it")
    if (digest := file_digest(path)) != found.sha256:
        raise UserError(
            f"acquire: found.sha256: {found.file} has {digest}, not {found.sha256}; if these "
            "stories are meant, write that"
        )
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            item = _item(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{found.file}, line {number}: {error}") from error
        if source.structures == "any" or fold_of(item.structure) == "train":
            yield rows_of(source, item)


def _item(row: dict[str, str]) -> GeneratedItem:
    asked = HI_TOM.place_asked(row["question"])
    if asked is None:
        raise ValueError("a question that asks for no place")
    told, known = read(HI_TOM, row["story"], HI_TOM.rules[PLAIN], asked.object)
    answer = asked.answer(known)
    if answer is None or answer != row["answer"]:
        raise ValueError(f"the story implies {answer}, not {row['answer']}")
    order = len(asked.chain)
    question = GeneratedQuestion(
        row["question"], answer, order, f"order_{order}", tuple(row["choices"]), asked=asked
    )
    return GeneratedItem(row["story"], (question,), told.events, "found")
