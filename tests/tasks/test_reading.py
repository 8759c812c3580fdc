"""Reading rows: what each accessor takes, what it refuses in which words, and where rows are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from re import escape

import pytest

from pipeline.base.errors import UserError
from pipeline.tasks.reading import SourceRow, read_json, read_lines, read_rows, unique

VALUES: dict[str, object] = {
    **{"text": "so", "blank": " ", "four": 4, "half": 4.5, "endless": float("inf"), "true": True},
    **{"none": None, "inner": {"a": 1}, "mixed": ["a", 1], "blanks": ["a", ""]},
    "list": [{"a": 1}, 2],
}
ROW = SourceRow("here", VALUES)


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (lambda: ROW.get("gone", str), "field 'gone' is missing"),
        (lambda: ROW.get("none", str), "field 'none' is NoneType, which is the wrong type"),
        (lambda: ROW.get("true", int), "field 'true' is bool, which is the wrong type"),
        (lambda: ROW.flag("four"), "field 'four' is int, which is the wrong type"),
        (lambda: ROW.text("blank"), "field 'blank' is blank"),
        (lambda: ROW.one_of("text", ["or"]), "field 'text' is 'so', not one of or"),
        (lambda: ROW.integer("half"), "field 'half' is 4.5, not a whole number"),
        (lambda: ROW.integer("endless"), "field 'endless' is inf, not a whole number"),
        (lambda: ROW.texts("mixed"), "field 'mixed' is not a list of texts"),
        (lambda: ROW.texts("blanks"), "field 'blanks' is not a list of texts"),
    ],
    ids=range(10),
)
def test_what_is_refused(read: Callable[[], object], why: str) -> None:
    with pytest.raises(UserError, match=f"^{escape(f'here: {why}; acquire the source again')}$"):
        read()


def test_places_of_nested_rows_and_of_repeats() -> None:
    with pytest.raises(UserError, match=r"^here, list\[1\]: int instead of a record"):
        ROW.rows("list")
    with pytest.raises(UserError, match="^here, inner: field 'b' is missing"):
        ROW.inner("inner").get("b", int)
    rows = [SourceRow(f"row {n}", {"id": name}) for n, name in enumerate(["a", 1, "b", "a"])]
    assert list(unique(rows[:3], "id")) == rows[:3]
    with pytest.raises(UserError, match="^row 3: field 'id' repeats 'a' of row 0;"):
        list(unique(rows, "id"))


@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("/w/data/raw/hi_tom/a.json, record 3", ": dvc repro --single-item --force acquire@hi_tom"),
        ("data/raw/tomi/deep/er/a.txt", ": dvc repro --single-item --force acquire@tomi"),
        ("/w/data/other/hi_tom/a.json", ""),
        ("/w/mirror/raw/hi_tom/a.json", ""),
        ("/w/data/raw/a.json", ""),
        ("/w/raw", ""),
    ],
)
def test_the_command_that_mends_a_file_of_a_study(place: str, command: str) -> None:
    with pytest.raises(UserError) as caught:
        SourceRow(place, {}).fail("why")
    assert str(caught.value) == f"{place}: why; acquire the source again{command}"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_rows_say_where_they_are(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"a": 1}\n\n{"a": 2}\n')
    rows = [SourceRow(f"{path}, line 1", {"a": 1}), SourceRow(f"{path}, line 3", {"a": 2})]
    assert read_rows(path, ["a"]) == rows
    with pytest.raises(UserError, match=r"a\.jsonl: column c, d missing; acquire the source again"):
        read_rows(path, ["a", "c", "d"])
    assert read_lines(put(path, "a\x0cb\u2028c\n\nd\n\n")) == ["a\x0cb\u2028c", "", "d", ""]


@pytest.mark.parametrize(
    ("read", "content", "why"),
    [
        (read_json, '{"a": 1, "b": 2, "b": 3}', "'b' appears twice"),
        (read_rows, '{"a": 1}\n\n[]', ", line 3: expected a JSON object, found list"),
        (read_lines, b"ab\ncd\n\xffe", "byte 6 is not UTF-8"),
    ],
    ids=range(3),
)
def test_what_cannot_be_read_is_to_be_acquired_again(
    tmp_path: Path, read: Callable[[Path], object], content: str | bytes, why: str
) -> None:
    with pytest.raises(UserError, match=f"{escape(why)}.*; acquire the source again$"):
        read(put(tmp_path / "a.jsonl", content))
