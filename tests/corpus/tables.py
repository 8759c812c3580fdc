"""One table in every form that people have it in, and forms that could be read in two ways."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

STORY = "Ann and Bob entered the hall.\nThe hat is in the red_box.\nBob exited the hall."
QUESTION = "Where does Bob really think the hat is?"
ROWS: list[dict[str, Any]] = [
    {
        "id": name,
        "story": STORY,
        "question": QUESTION,
        "answer": "red_box",
        "order": order,
        "response": f"Café, {quoted}x</think><answer>red_box</answer>",
    }
    for name, order, quoted in (("a", 1, ""), ("b", 2, '"so", '), ("c", None, "a\nb"))
]
Form = tuple[str, Callable[[], bytes]]
"""The ending of a file's name, and its content."""


def _frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS)


def _lines(rows: list[dict[str, Any]] = ROWS, **how: Any) -> str:
    return "".join(json.dumps(row, **how) + "\n" for row in rows)


def _csv(**how: Any) -> str:
    return str(_frame().to_csv(**how))


def _csv_of_objects() -> str:
    options = [["blue_jar", "it's"]] * len(ROWS)
    objects = [json.loads("{}") for _ in ROWS]
    return str(_frame().assign(choices=options, meta=objects).to_csv())


def _parquet(frame: pd.DataFrame) -> bytes:
    to = io.BytesIO()
    frame.to_parquet(to)
    return to.getvalue()


def _columns_twice() -> bytes:
    to = io.BytesIO()
    columns = {"id": ["a"], "story": [STORY], "question": [QUESTION], "response": ["x"]}
    names = [*columns, "response"]
    pq.write_table(pa.table([*columns.values(), ["y"]], names=names), to)
    return to.getvalue()


def _harness(*more: str) -> str:
    """Samples as lm-evaluation-harness logs them."""
    return _lines(
        [
            {
                "doc_id": place,
                "doc": {**_without(row, "response", "order"), "belief_order": str(row["order"])},
                "target": row["answer"],
                "resps": [[row["response"], *more]],
                "filtered_resps": ["red_box"],
            }
            for place, row in enumerate(_known_orders())
        ]
    )


def _samples() -> list[dict[str, Any]]:
    """Samples of Inspect."""
    return [
        {
            "id": row["id"],
            "epoch": 1,
            "input": "?",
            "target": [row["answer"]],
            "metadata": _without(row, "response", "answer"),
            "output": {"choices": [{"message": {"content": _parts(row["response"])}}]},
        }
        for row in ROWS
    ]


def _parts(response: str) -> list[dict[str, str]]:
    thought, said = response.split("</think>")
    return [{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": said}]


def _eval(samples: list[dict[str, Any]]) -> bytes:
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", "{}")
        for sample in samples:
            log.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    return to.getvalue()


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _known_orders() -> list[dict[str, Any]]:
    return [{**row, "order": "null" if row["order"] is None else row["order"]} for row in ROWS]


def _with_orders(*orders: object) -> list[dict[str, Any]]:
    return [{**row, "order": order} for row, order in zip(ROWS, orders, strict=True)]


def _renamed(**names: str) -> list[dict[str, Any]]:
    return [{names.get(name, name): value for name, value in row.items()} for row in ROWS]


READ: Mapping[str, Form] = {
    "JSON lines": (".jsonl", lambda: _lines().encode()),
    "JSON lines, as they are": (".jsonl", lambda: _lines(ensure_ascii=False).encode()),
    "JSON lines with a mark": (".jsonl", lambda: _lines(ensure_ascii=False).encode("utf-8-sig")),
    "JSON lines in UTF-16": (".jsonl", lambda: _lines(ensure_ascii=False).encode("utf-16")),
    "JSON lines of Windows": (".jsonl", lambda: _lines().replace("\n", "\r\n").encode()),
    "JSON lines with blank ones": (".jsonl", lambda: ("\n" + _lines() + " \n").encode()),
    "JSON lines without an end": (".jsonl", lambda: _lines().rstrip().encode()),
    "JSON lines by another name": (".ndjson", lambda: _lines().encode()),
    "JSON lines in capitals": (".JSONL", lambda: _lines().encode()),
    "JSON lines in a file of JSON": (".json", lambda: _lines().encode()),
    "JSON, a list": (".json", lambda: json.dumps(ROWS).encode()),
    "JSON, a list in lines": (".json", lambda: json.dumps(ROWS, indent=2).encode()),
    "JSON with a mark": (".json", lambda: json.dumps(ROWS).encode("utf-8-sig")),
    "JSON of pandas, columns": (".json", lambda: _frame().to_json().encode()),
    "JSON of pandas, split": (".json", lambda: _frame().to_json(orient="split").encode()),
    "JSON of pandas, table": (".json", lambda: _frame().to_json(orient="table").encode()),
    "CSV": (".csv", lambda: _csv(index=False).encode()),
    "CSV with pandas' index": (".csv", lambda: _csv().encode()),
    "CSV with a named index": (".csv", lambda: _csv(index_label="row").encode()),
    "CSV with a mark": (".csv", lambda: _csv().encode("utf-8-sig")),
    "CSV in UTF-16": (".csv", lambda: _csv().encode("utf-16")),
    "CSV of Windows": (".csv", lambda: _csv(lineterminator="\r\n").encode("cp1252")),
    "CSV, all quoted": (".csv", lambda: _csv(quoting=1).encode()),
    "CSV with tabs": (".tsv", lambda: _csv(index=False, sep="\t").encode()),
    "CSV with semicolons": (".csv", lambda: _csv(index=False, sep=";").encode()),
    "CSV that tells Excel": (".csv", lambda: f"sep=;\n{_csv(index=False, sep=';')}".encode()),
    "CSV with lists and objects of pandas": (".csv", lambda: _csv_of_objects().encode()),
    "parquet": (".parquet", lambda: _parquet(_frame())),
    "parquet with an index": (".parquet", lambda: _parquet(_frame().set_index("id", drop=False))),
    "parquet with categories": (".parquet", lambda: _parquet(_frame().astype({"answer": "category"}))),
    "parquet with objects": (".parquet", lambda: _parquet(_frame().astype({"order": "object"}))),
    "orders as texts": (".jsonl", lambda: _lines(_with_orders("1", "2.0", "")).encode()),
    "orders as floats": (".jsonl", lambda: _lines(_with_orders(1.0, 2e0, None)).encode()),
    "orders that are NaN": (".jsonl", lambda: _lines(_with_orders(1, 2, float("nan"))).encode()),
    "names of Study 1": (
        ".jsonl",
        lambda: _lines(_renamed(response="model_answer", order="question_order")).encode(),
    ),
    "names of verl": (".jsonl", lambda: _lines(_renamed(response="completion", answer="ground_truth")).encode()),
    "samples of lm-evaluation-harness": (".jsonl", lambda: _harness().encode()),
    "a log of Inspect": (".eval", lambda: _eval(_samples())),
    "a log of Inspect as JSON": (".json", lambda: json.dumps({"samples": _samples()}).encode()),
}  # fmt: skip
"""Forms of :data:`ROWS`; all hold the same."""

_ROW = json.dumps({**ROWS[0], "id": "z"})
REFUSED: Mapping[str, tuple[str, bytes, str]] = {
    "a workbook": (".xlsx", b"PK", "not a readable Excel workbook"),
    "plain text": (".txt", b"x", "not read; allowed: .jsonl"),
    "a column twice": (".csv", b"id,story,question,response,response\na,b,c,d,e\n", "'response' occurs twice"),
    "a column twice in parquet": (".parquet", _columns_twice(), "'response' occurs twice"),
    "a key twice": (".jsonl", b'{"id": "a", "response": "x", "response": "y"}\n', "'response' appears twice"),
    "two names that differ": (".jsonl", json.dumps({**ROWS[0], "completion": "y"}).encode(), "response and completion both"),
    "a row that is longer": (".csv", b"id,story,question,answer,response\na,b,c,d,e,f\n", "more or fewer fields"),
    "a quote that is open": (".csv", b'id,story\n"a,b\n', "not CSV"),
    "JSON in code page 1252": (".jsonl", _lines(ensure_ascii=False).encode("cp1252"), "line 1: byte .* not UTF-8"),
    "CSV in no encoding": (".csv", b"id,story\n\x81,b\n", "convert it to UTF-8"),
    "half a line": (".jsonl", _ROW[:40].encode(), "line 1: not valid JSON"),
    "a list in lines": (".jsonl", b"[1]\n", "line 1: expected a JSON object"),
    "no list in JSON": (".json", b"5", "not a table"),
    "columns of other lengths": (".json", b'{"id": {"0": "a"},\n "story": {}}', "not a table"),
    "half a pair": (".jsonl", b'{"id": "\\ud800"}', "surrogate"),
    "no parquet": (".parquet", b"PAR1", "not a readable parquet"),
    "no log": (".eval", b"PK\x03\x04", "not a readable log of Inspect"),
    "several responses": (".jsonl", _harness("other").encode(), "2 responses to one question"),
    "an order of 400 digits": (".jsonl", _lines(_with_orders(int("9" * 400), 1, 1)).encode(), "order.* whole number"),
    "an order with a line in it": (".jsonl", _lines(_with_orders("1_0", 1, 1)).encode(), "order.* whole number"),
    "an id that is an object": (".jsonl", _lines([{**ROWS[0], "id": {"a": 1}}]).encode(), "id.* must be text or a whole number"),
    "choices of an array": (".jsonl", _lines([{**row, "choices": "['blue_jar' 'red_box']"} for row in ROWS]).encode(), "choices"),
    "an order of one and a half": (".jsonl", _lines(_with_orders(1.5, 1, 1)).encode(), "order.* whole number"),
}  # fmt: skip
"""What nobody can be sure of: the ending, the content, and words of the message."""
