"""Reading rows: what each accessor takes, what it refuses in which words, and where rows are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from re import escape

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]

from pipeline.base.errors import UserError
from pipeline.tasks import reading
from pipeline.tasks.reading import (
    LARGEST_TEXT,
    SourceRow,
    read_csv,
    read_json,
    read_json_rows,
    read_jsonl,
    read_lines,
    read_parquet,
    read_xlsx,
    unique,
)

VALUES: dict[str, object] = {
    **{"text": "so", "blank": " ", "long": "x" * (LARGEST_TEXT + 1), "most": "x" * LARGEST_TEXT},
    **{"four": 4, "whole": 4.0, "half": 4.5, "endless": float("inf"), "true": True, "none": None},
    **{"inner": {"a": 1}, "texts": ["a", "b"], "mixed": ["a", 1], "blanks": ["a", ""], "no": []},
    **{"rows": [{"a": 1}, {"a": 2}], "list": [{"a": 1}, 2]},
}
ROW = SourceRow("here", VALUES)


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda: ROW.text("text"), "so"),
        (lambda: ROW.text("most"), "x" * LARGEST_TEXT),
        (lambda: ROW.one_of("text", ["so", "or"]), "so"),
        (lambda: ROW.integer("four"), 4),
        (lambda: ROW.integer("whole", range(4, 5)), 4),
        (lambda: ROW.flag("true"), True),
        (lambda: ROW.get("true", bool, int), True),
        (lambda: ROW.get("four", str, int), 4),
        (lambda: ROW.inner("inner"), SourceRow("here, inner", {"a": 1})),
        (lambda: ROW.rows("rows"), [SourceRow(f"here, rows[{n}]", {"a": n + 1}) for n in (0, 1)]),
        (lambda: ROW.texts("texts"), ("a", "b")),
        (lambda: ROW.texts("no"), ()),
    ],
    ids=range(12),
)
def test_values(read: Callable[[], object], found: object) -> None:
    assert read() == found and type(read()) is type(found)


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (lambda: ROW.get("gone", str), "field 'gone' is missing"),
        (lambda: ROW.get("none", str), "field 'none' is NoneType, which is the wrong type"),
        (lambda: ROW.get("true", int), "field 'true' is bool, which is the wrong type"),
        (lambda: ROW.flag("four"), "field 'four' is int, which is the wrong type"),
        (lambda: ROW.text("blank"), "field 'blank' is blank"),
        (lambda: ROW.text("long"), "field 'long' has 1,048,577 characters, at most 1,048,576"),
        (lambda: ROW.one_of("text", ["or"]), "field 'text' is 'so', not one of or"),
        (lambda: ROW.integer("half"), "field 'half' is 4.5, not a whole number"),
        (lambda: ROW.integer("endless"), "field 'endless' is inf, not a whole number"),
        (lambda: ROW.integer("four", range(5, 8)), "field 'four' is 4, not in 5..7"),
        (lambda: ROW.texts("mixed"), "field 'mixed' is not a list of texts"),
        (lambda: ROW.texts("blanks"), "field 'blanks' is not a list of texts"),
    ],
    ids=range(12),
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
    path = put(tmp_path / "a", '\ufeff{"a": 1}\n\n{"a": 2}\n')
    assert read_jsonl(path) == [
        SourceRow(f"{path}, line 1", {"a": 1}),
        SourceRow(f"{path}, line 3", {"a": 2}),
    ]
    assert read_lines(put(path, "a\x0cb\u2028c\n\nd\n\n")) == ["a\x0cb\u2028c", "", "d", ""]
    put(path, '{"rows": [{"a": 1}, {"a": 2}], "one": 1}')
    first, second = (SourceRow(f"{path}, record {n}", {"a": n}) for n in (1, 2))
    assert read_json_rows(path, "rows") == [first, second]
    assert read_json_rows(put(path, '[{"a": 1}]')) == [first]
    put(path, 'a,b\n1,"2\n3"\n4,5\n')
    assert read_csv(path, ["b"]) == [
        SourceRow(f"{path}, line 3", {"a": "1", "b": "2\n3"}),
        SourceRow(f"{path}, line 4", {"a": "4", "b": "5"}),
    ]
    book = Workbook()
    for line in (["a", "b"], [1, "x"], [2, "=1+1"]):  # nobody has computed the formula yet
        book.active.append(line)
    book.save(tmp_path / "a.xlsx")
    name = tmp_path / "a.xlsx"
    values = ({"a": 1, "b": "x"}, {"a": 2, "b": None})
    assert read_xlsx(name, ["a"]) == [
        SourceRow(f"{name}, row {n}", v) for n, v in enumerate(values, 2)
    ]


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), path)
    assert read_parquet(path, ["a"]) == [SourceRow(f"{path}, row {n}", {"a": n}) for n in (1, 2)]
    with pytest.raises(UserError, match="column c, d missing"):
        read_parquet(path, ["a", "c", "d"])


@pytest.mark.parametrize(
    ("read", "content", "why"),
    [
        (read_json, '{"a": 1, "b": 2, "b": 3}', "key 'b' occurs twice"),
        (read_json, r'{"a": "\ud800"}', r"it holds '\ud800', half of a surrogate pair"),
        (read_json, r'{"a": "\UD800"}', "not JSON (Invalid \\escape"),
        (read_json, "[" * 100_000, "nested too deeply"),
        (read_json, '{"a": \n"b" "c"}', "not JSON (Expecting ',' delimiter, line 2, column 5)"),
        (read_json, b"ab\ncd\n\xffe", ", line 3: not UTF-8 (invalid start byte)"),
        (read_json_rows, '{"a": 1}', "holds dict, not a list"),
        (lambda path: read_json_rows(path, "a"), "[1]", "field 'a' is missing"),
        (lambda path: read_json_rows(path, "a"), '{"a": 1}', "field 'a' is int"),
        (read_jsonl, '{"a": 1}\n\n[]', ", line 3: list instead of a record"),
        (lambda path: read_csv(path, ["a"]), 'a,b\n"1"x,2\n', "',' expected after '\"'"),
        (lambda path: read_csv(path, ["c", "d"]), "a,b\n1,2\n", "column c, d missing"),
        (lambda path: read_csv(path, ["c"]), "", "column c missing"),
    ],
    ids=range(13),
)
def test_what_is_wrong_with_a_file(
    tmp_path: Path, read: Callable[[Path], object], content: str | bytes, why: str
) -> None:
    with pytest.raises(UserError, match=escape(why)):
        read(put(tmp_path / "a", content))
    assert read_json(put(tmp_path / "b", r'{"a": "\ud83d\ude00"}')) == {"a": "😀"}


def test_a_file_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading.LARGEST_FILE == 256 * 1024**2
    monkeypatch.setattr(reading, "LARGEST_FILE", 4)
    assert read_lines(put(tmp_path / "a", "abc\n")) == ["abc"]
    with pytest.raises(UserError, match="a: 5 bytes, at most 4"):
        read_lines(put(tmp_path / "a", "abcd\n"))
