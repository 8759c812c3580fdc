"""The names of what a row of answers holds: ours, guesses at others, and what a person says.

A row of somebody else's file becomes rows with our names. A guess is made for what our own names
leave out, it is told, and ``--columns`` overrules it. A prompt that holds story and question, a
chat and a list of responses are taken apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from pipeline.base.errors import UserError, did_you_mean

Row = Mapping[str, Any]

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "story": ("story",),
    "question": ("question",),
    "choices": ("choices",),
    "answer": ("answer", "ground_truth"),
    "order": ("order", "question_order"),
    "question_type": ("question_type",),
    "answer_kind": ("answer_kind",),
    "meta": ("meta",),
    "response": ("response", "model_answer", "completion"),
}
"""What a column or field may be called, by what it holds; the first name found counts."""

_GUESSES: Mapping[str, tuple[str, ...]] = {
    "story": ("context", "actions", "passage", "scenario", "narrative", "dialogue"),
    "question": ("query",),
    "choices": ("options",),
    "answer": (
        *("gold", "gts", "label", "target", "expected", "expected_answer", "correct_answer"),
        *("correct_answers", "process_target"),
    ),
    "response": (
        *("prediction", "predictions", "responses", "completions", "generation", "generations"),
        *("generated_text", "output", "outputs", "model_output", "model_response", "gpt_response"),
        *("raw_response", "pred"),
    ),
    "prompt": (
        *("prompt", "input", "gpt_prompt", "process_prompt"),
        *("messages", "conversation", "conversations"),
    ),
}
"""What other people call these; ``prompt`` holds story and question, or a whole chat."""

_ROLES = {"human": "user", "gpt": "assistant"}  # ShareGPT's names
_LABEL = re.compile(
    r"^\W{0,4}(story|context|passage|scenario|question|choices|options|answer)\W{0,3}:",
    re.IGNORECASE | re.MULTILINE,
)
_BEFORE = re.compile(r"\s*(?:<\|endoftext\|>|<\|begin_of_text\|>|<s>)?\s*")
_HEADS = (  # of a chat's turns, with ChatML's marks and without
    re.compile(r"<\|im_start\|>(\w+)\r?\n"),
    re.compile(r"^(system|user|assistant)\r?\n", re.MULTILINE),
)
_TURN_ENDS = "<|im_end|>"
_MARKS = re.compile(r"(?:\s*(?:<\|\w+\|>|<end_of_turn>|</s>))+\s*$")
_STORY, _CHOICES = ("story", "context", "passage", "scenario"), ("choices", "options")
_SENTENCE_ENDS = ".!?\n"


@dataclass(frozen=True, slots=True)
class Naming:
    """How the fields of a file are named.

    Attributes:
        said: Fields by what they hold, as a person says; a dot leads into a nested field or, with
            a number, into a list: ``response.choices.0.text``.
        guessed: Fields by what they hold, as guessed from the first row.
    """

    said: Mapping[str, str] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)

    def told(self) -> str:
        """The guesses in words; empty where there are none."""
        return ", ".join(f"{name!r} for the {thing}" for thing, name in self.guessed.items())

    def rows(self, place: str, row: Row) -> Iterator[Row]:
        """Yield a row under our names, once for each of its responses.

        Raises:
            UserError: If a field that a person named is not there.
        """
        found = dict(row)
        for thing, name in self.said.items():
            found[thing] = _held(place, row, name)
            for other in NAMES.get(thing, ())[1:]:
                found.pop(other, None)
        for thing, name in self.guessed.items():
            if name in row and not is_named(found, thing):
                found[thing] = _inside(thing, row[name])
        response = next((name for name in NAMES["response"] if name in found), "response")
        _take_apart(found, response)
        said = found.get(response)
        if not isinstance(said, list):
            yield found
            return
        for sample, each in enumerate(said):
            yield found | {response: _said(each, _turns(each)), "sample": sample}


def parse_columns(text: str | None) -> dict[str, str]:
    """``story=actions,response=gpt_response`` as fields by what they hold.

    Raises:
        UserError: If it has another form, or names something that no row holds.
    """
    found: dict[str, str] = {}
    allowed = (*NAMES, "prompt")
    for part in filter(None, (each.strip() for each in (text or "").split(","))):
        thing, equals, name = (each.strip() for each in part.partition("="))
        if not equals or not name or thing not in allowed:
            raise UserError(
                f"--columns: found {part!r}{did_you_mean(thing, allowed)}; write what a field "
                f"holds and its name, such as story=actions; allowed: {', '.join(allowed)}"
            )
        found[thing] = name
    return found


def naming_of(place: str, first: Row, said: Mapping[str, str]) -> Naming:
    """How the fields of a file are named, by its first row.

    Raises:
        UserError: If two fields could hold the same thing, and differ.
    """
    guessed: dict[str, str] = {}
    known = {thing for thing in NAMES if thing in said or is_named(first, thing)}
    for thing, names in _GUESSES.items():
        there = [name for name in names if name in first]
        if thing == "prompt" and {"story", "response"} <= known:
            continue  # there is nothing that only a prompt holds
        if not there or thing in known or thing in said:
            continue
        if any(first[name] != first[there[0]] for name in there):
            raise UserError(
                f"{place}: {' and '.join(there)} could each hold the {thing}; say which one does: "
                f"--columns {thing}={there[0]}"
            )
        guessed[thing] = there[0]
        known.add(thing)
    return Naming(said, guessed)


def _inside(thing: str, value: object) -> object:
    """What a guessed field holds inside: ToMEval keeps an answer in a list, and a response beside
    its thought; RobustToM-RL an answer beside its trace.
    """
    if thing == "answer":
        with suppress(ValueError):
            value = json.loads(value) if isinstance(value, str) and value[:1] == "{" else value
        value = value.get("answer") if isinstance(value, Mapping) else value
        return value[0] if isinstance(value, list) and len(value) == 1 else value
    if thing == "response" and isinstance(value, Mapping) and "content" in value:
        content, thought = value["content"], value.get("reasoning")
        return f"<think>{thought}</think>{content}" if content and thought else content
    return value


def is_named(row: Row, thing: str) -> bool:
    """Whether a row has a field of one of our names for something."""
    return any(name in row for name in NAMES.get(thing, ()))


def _held(place: str, row: Row, name: str) -> object:
    """The value of a field, which may be nested."""
    if name in row:
        return row[name]
    value: object = row
    for part in name.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise UserError(
                f"{place}: --columns names {name!r}; found the fields {', '.join(map(str, row))}"
            )
    return value


def _take_apart(row: dict[str, Any], response: str) -> None:
    """Make story, question, choices and response of the prompt and the chats of a row."""
    prompt = row.get("prompt")
    if response in row:
        said = _turns(row[response])
        prompt = prompt or said  # a whole chat, with what was asked
        row[response] = _said(row[response], said)
    if turns := _turns(prompt):
        if response not in row and (answer := _last(turns, "assistant")) is not None:
            row[response] = answer
        prompt = _last(turns, "user")
    if isinstance(prompt, str) and "story" not in row:
        row |= {name: text for name, text in split_prompt(prompt).items() if name not in row}


def _said(response: object, turns: Sequence[Mapping[str, Any]]) -> object:
    """The last answer of a chat; what is no chat stays as it is, but for marks at its end."""
    if isinstance(response, str) and not turns:
        return _MARKS.sub("", response) if response.rstrip().endswith(">") else response
    return _last(turns, "assistant") if turns else response


def _turns(value: object) -> Sequence[Mapping[str, Any]]:
    """The turns of a chat, which may be decoded by a tokenizer of ChatML's form, as in verl's
    rollouts; none where it is no chat.
    """
    if _is_chat(value):
        return value
    if not isinstance(value, str) or not (before := _BEFORE.match(value)):
        return []
    start = before.end()
    heads = next((list(h.finditer(value, start)) for h in _HEADS if h.match(value, start)), [])
    ends = [*(head.start() for head in heads[1:]), len(value)]
    return [
        {"role": head[1], "content": _turn(value[head.end() : end])}
        for head, end in zip(heads, ends, strict=False)  # without heads, one end is left
    ]


def _turn(text: str) -> str:
    return _MARKS.sub("", text.split(_TURN_ENDS)[0]).strip()


def split_prompt(text: str) -> dict[str, str]:
    """Story, question and choices of a prompt that holds them, by its labels or its last question.

    >>> split_prompt("Story: Ann is out.\\nQuestion: Where is Ann?\\nAnswer:")
    {'story': 'Ann is out.', 'question': 'Where is Ann?'}
    """
    labels = list(_LABEL.finditer(text))
    ends = [*(label.start() for label in labels[1:]), len(text)]
    held = {
        label[1].lower(): text[label.end() : end].strip("* \n")
        for label, end in zip(labels, ends, strict=False)  # without labels, one end is left
    }
    story = next((held[name] for name in _STORY if name in held), None)
    if story is None or "question" not in held:
        return _before_last_question(text)
    choices = next((held[name] for name in _CHOICES if name in held), None)
    found = {"story": story, "question": held["question"].split("\n")[0].strip()}
    return found if choices is None else found | {"choices": choices.split("\n")[0].strip()}


def _before_last_question(text: str) -> dict[str, str]:
    end = text.rfind("?")
    start = 1 + max(text.rfind(mark, 0, max(end, 0)) for mark in _SENTENCE_ENDS)
    if end < 0 or not text[:start].strip():
        return {}
    question = text[start : end + 1].strip().removeprefix("Question:").strip()
    return {"story": text[:start].strip().removesuffix("Question:").strip(), "question": question}


def _is_chat(value: object) -> TypeGuard[list[Mapping[str, Any]]]:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(turn, Mapping) and _role(turn) is not None for turn in value)
    )


def _role(turn: Mapping[str, Any]) -> str | None:
    role = turn.get("role", turn.get("from"))
    return _ROLES.get(role, role) if isinstance(role, str) else None


def _last(turns: Sequence[Mapping[str, Any]], role: str) -> str | None:
    """What was said last in a role; parts that are no text are left out."""
    for turn in reversed(turns):
        if _role(turn) == role:
            content = turn.get("content", turn.get("value"))
            if isinstance(content, list):
                parts = (part.get("text", "") for part in content if isinstance(part, Mapping))
                return "".join(map(str, parts))
            return content if isinstance(content, str) else None
    return None
