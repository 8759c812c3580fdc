"""Rows of other tools' logs: samples of lm-evaluation-harness, logs of Inspect, results of batches.

Rows get this project's column names. Fields of the example, in ``doc`` or ``metadata``, keep their
own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pipeline.base.errors import UserError

INSPECT = "samples"
FAILED = "failed"
"""The field with the reason why a row has no answer: a limit, an error of a server."""

_THINK_END = "</think>"
_AS_JSON = ("choices", "belief_order", "meta")  # fields that ``datasets`` wants to be of one type
_OTHERS = (("belief_order", "order"),)
_LARGEST = 256 << 20
"""Maximum bytes of one unpacked sample."""


@dataclass(slots=True)
class OtherTool:
    """State of reading a file, in which the harness logs each response once per ``filter``."""

    path: Path
    filter: object = None

    def is_new(self, row: Mapping[str, Any]) -> bool:
        """A row is no repetition for another filter."""
        if not _is_harness(row) or "filter" not in row:
            return True
        self.filter = self.filter or row["filter"]
        return bool(row["filter"] == self.filter)

    def read(self, where: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row with this project's column names, or as it is; UserError for several responses."""
        if _is_harness(row):
            return _renamed(row["doc"]) | _of_harness(self.path, where, row)
        if isinstance(row.get("output"), dict) and "target" in row:
            metadata = row.get("metadata")
            return _renamed(metadata if isinstance(metadata, dict) else {}) | _of_inspect(row)
        return _of_batch(row) if _is_batch(row) else row


def _is_harness(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("doc"), dict) and "resps" in row


def _of_harness(path: Path, where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    responses = list(_flat(row["resps"]))
    if len(responses) != 1:
        raise UserError(
            f"{path}, {where}: {len(responses)} responses to one question; keep one, or write a "
            "row for each"
        )
    found = {"response": responses[0]}
    if not isinstance(row["doc"].get("id"), str | int):
        found["id"] = str(row.get("doc_id"))
    if isinstance(row.get("target"), str):
        found["answer"] = row["target"]
    return found


def _of_inspect(row: Mapping[str, Any]) -> dict[str, Any]:
    target, epoch = row["target"], row.get("epoch", 1)
    if row.get("error") or not row["output"].get("choices"):
        return {FAILED: _reason(row.get("error"))}
    found = {
        "id": str(row.get("id")),
        "answer": target if isinstance(target, str) else next(iter(target or ()), ""),
        "response": _said(row["output"]["choices"][0]),
        "sample": epoch - 1 if isinstance(epoch, int) else 0,
    }
    if isinstance(row.get("choices"), list):
        found["choices"] = row["choices"]
    if isinstance(row.get("input"), str):
        found.setdefault("question", row["input"])
    return found


def _is_batch(row: Mapping[str, Any]) -> bool:
    response = row.get("response", row)
    answered = response is None or (isinstance(response, dict) and "body" in response)
    return row.get("custom_id") is not None and answered


def _of_batch(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the results of a batch, as OpenAI and ``vllm run-batch`` write them."""
    body = (row["response"] or {}).get("body")
    said = _answers(body) if isinstance(body, dict) else []
    if not said:
        return {FAILED: _reason(row.get("error") or body)}
    return {
        **row,
        "id": str(row["custom_id"]),
        "response": said[0] if len(said) == 1 else said,
    }


def _answers(body: Mapping[str, Any]) -> list[str]:
    """What a server answered: to chats and prompts several choices, to ``/v1/responses`` items."""
    choices, items = body.get("choices"), body.get("output")
    if isinstance(choices, list):
        return [_said(choice) for choice in choices if isinstance(choice, dict)]
    content = [
        {"reasoning": part.get("text")} if item.get("type") == "reasoning" else part
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict)
        for part in item.get("content") or item.get("summary") or ()
        if isinstance(part, dict)
    ]
    return [_said({"message": {"content": content}})] if content else []


def _reason(error: object) -> str:
    """Why there is no answer, which servers put at several depths."""
    while isinstance(error, dict):
        error = error.get("message") or error.get("error")
    return str(error or "no answer")


def _said(choice: Mapping[str, Any]) -> str:
    """A model's answer; reasoning that a server split off is put before ``</think>``."""
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content = message.get("content") or choice.get("text") or ""
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    if not isinstance(content, str):
        listed = content if isinstance(content, list) else ()
        parts = [part for part in listed if isinstance(part, dict)]
        thought = "".join(str(part.get("reasoning") or "") for part in parts)
        content = "".join(str(part.get("text") or "") for part in parts)
    return f"{thought}{_THINK_END}{content}" if thought else content


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an example, with JSON texts parsed."""
    found = dict(fields)
    for name in _AS_JSON:
        if isinstance(text := found.get(name), str):
            try:
                found[name] = json.loads(text)
            except ValueError:
                continue  # a text of its own, such as "A. red_box, B. blue_jar"
    for theirs, here in _OTHERS:
        if theirs in found:
            found.setdefault(here, found.pop(theirs))
    return found


def eval_rows(path: Path, file: IO[bytes]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the samples of a log of Inspect.

    Raises:
        UserError: If it is no such log, or is damaged.
    """
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        from backports.zstd import zipfile  # reads what is packed with zstandard

    try:
        with zipfile.ZipFile(file) as log:
            members = [each for each in log.infolist() if each.filename.startswith(f"{INSPECT}/")]
            for member in members:
                if member.file_size > _LARGEST:
                    raise UserError(
                        f"{path}, {member.filename}: {member.file_size:,} bytes; allowed: "
                        f"{_LARGEST:,}"
                    )
                yield member.filename, dict(json.loads(log.read(member)))
    except UserError:
        raise
    except Exception as error:  # a packed file can be damaged in any way
        raise UserError(f"{path}: not a readable log of Inspect ({error})") from None
