"""Bad files that are given to ``tomrl tom`` and ``tomrl reward``."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.case import BINARY, BadInput, becomes

_STORY = '"story": "1 Ann entered the hall.\\n2 The box is in the hall."'
_DEEP = 200_000 * "[" + 200_000 * "]"

# (what, content, words of the message), for tom solve
_QUESTIONS: tuple[tuple[str, str | bytes, tuple[str, ...]], ...] = (
    ("empty", "", ("holds no rows",)),
    ("blank lines", "\n \n", ("holds no rows",)),
    ("binary", BINARY, ("in.jsonl, line 1", "not valid JSON")),
    ("Latin-1", b'{"story": "\xe9"}\n', ("in.jsonl, line 1", "UTF-8")),
    ("no JSON", "story\n", ("in.jsonl, line 1", "not valid JSON")),
    ("a list", "[]\n", ("in.jsonl, line 1", "expected a JSON object")),
    ("an empty object", "{}\n", ("in.jsonl, line 1", "'story'", "missing")),
    ("no question", "{" + _STORY + "}\n", ("in.jsonl, line 1", "'question'", "missing")),
    ("a number for a story", '{"story": 5, "question": "q"}\n', ("in.jsonl, line 1", "'story'", "text")),
    ("null for a question", "{" + _STORY + ', "question": null}\n', ("in.jsonl, line 1", "'question'", "text")),
    ("an id that is a list", "{" + _STORY + ', "question": "q", "id": []}\n', ("in.jsonl, line 1", "'id'")),
    ("choices that are a number", "{" + _STORY + ', "question": "q", "choices": 5}\n', ("in.jsonl, line 1", "'choices'")),
    ("an id twice", 2 * ("{" + _STORY + ', "question": "q", "id": "a"}\n'), ("in.jsonl, line 2", "'a'", "line 1")),
    ("cut off", "{" + _STORY + ', "quest', ("in.jsonl, line 1", "not valid JSON")),
    ("deep nesting", '{"a": ' + _DEEP + "}\n", ("in.jsonl, line 1", "not valid JSON")),
    ("a number of 5,000 digits", "{" + _STORY + ', "question": "q", "order": ' + 5000 * "1" + "}\n", ("in.jsonl, line 1", "not valid JSON")),
    ("a story of 1 MB", '{"story": "' + 1_000_000 * "x" + '", "question": "q"}\n', ("in.jsonl, line 1", "1,000,000")),
    ("half a surrogate pair", '{"story": "\\ud800", "question": "q", "id": "\\ud800"}\n', ("in.jsonl, line 1", "surrogate")),
)  # fmt: skip

# (what, content, words of the message), for reward score
_RESPONSES: tuple[tuple[str, str | bytes, tuple[str, ...]], ...] = (
    ("empty", "", ("holds no rows",)),
    ("no JSON", "{\n", ("in.jsonl, line 1", "not valid JSON")),
    ("a list", "[]\n", ("in.jsonl, line 1", "expected a JSON object")),
    ("an empty object", "{}\n", ("in.jsonl, line 1", "'completion'", "missing")),
    ("no ground truth", '{"completion": "x"}\n', ("in.jsonl, line 1", "'ground_truth'", "missing")),
    ("a number for a completion", '{"completion": 5, "ground_truth": "x"}\n', ("in.jsonl, line 1", "'completion'", "text")),
    ("null for a ground truth", '{"completion": "x", "ground_truth": null}\n', ("in.jsonl, line 1", "'ground_truth'", "text")),
    ("an unknown task", '{"completion": "x", "ground_truth": "x", "task": "none"}\n', ("in.jsonl, line 1", "'none'")),
    ("a task that is a list", '{"completion": "x", "ground_truth": "x", "task": []}\n', ("in.jsonl, line 1", "'task'")),
    ("half a surrogate pair", '{"completion": "\\udfff", "ground_truth": "x"}\n', ("in.jsonl, line 1", "surrogate")),
    ("a bad second line", '{"completion": "x", "ground_truth": "x"}\n{\n', ("in.jsonl, line 2", "not valid JSON")),
)  # fmt: skip


def input_files() -> Iterator[BadInput]:
    """Yield the bad files."""
    solve = ("tomrl", "tom", "solve", "in.jsonl", "-b", "hi_tom", "-o", "out.jsonl")
    score = ("tomrl", "reward", "score", "in.jsonl", "-p", "rlvr", "-o", "out.jsonl")
    for command, files in ((solve, _QUESTIONS), (score, _RESPONSES)):
        for what, content, says in files:
            name = f"{' '.join(command[1:3])}: {what}"
            yield BadInput(name, command, ("in.jsonl", *says), {"in.jsonl": becomes(content)})
    for what, content, says in (
        ("empty", b"", ("story.txt",)),
        ("binary", BINARY, ("story.txt", "UTF-8")),
        ("1 MB", 1_000_000 * b"x", ("story.txt", "1,000,000")),
        ("no story", b"Once upon a time.\n", ("story.txt",)),
    ):
        explain = ("tomrl", "tom", "explain", "story.txt", "-b", "hi_tom")
        yield BadInput(f"tom explain: {what}", explain, says, {"story.txt": becomes(content)})
