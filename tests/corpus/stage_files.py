"""Every file that a stage or command reads, damaged in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from tests.corpus.case import DAMAGES, BadInput, Damage, becomes

Change = Callable[[object], object]


def _json(change: Change) -> Damage:
    return lambda content: json.dumps(change(json.loads(content))).encode()


def _without(name: str) -> Damage:
    def change(content: object) -> object:
        assert isinstance(content, dict)
        return {key: value for key, value in content.items() if key != name}

    return _json(change)


def _renamed(name: str, old: str, new: str) -> Damage:
    def change(content: object) -> object:
        assert isinstance(content, dict)
        return content | {name: {new if key == old else key: v for key, v in content[name].items()}}

    return _json(change)


def _with(name: str, value: object) -> Damage:
    def change(content: object) -> object:
        assert isinstance(content, dict)
        return content | {name: value}

    return _json(change)


# What each command reads, with the stage that makes it. A file that has content of another study's,
# or lacks a field, stands with that beside it.
_NO_MORE: dict[str, Damage] = {}
_SCORES = {
    "another study's": _renamed("tasks", "hi_tom_order_3", "opentom_location"),
    "without a field": _without("tasks"),
    "with a text for a number": lambda content: content.replace(
        b'"count": ', b'"count": "x" ,"c": ', 1
    ),
}
_AUDIT = {
    "another study's": _renamed("columns", "hi_tom_order_3", "opentom_location"),
    "with other training sets": _renamed("leakage", "hi", "fan"),
    "without a field": _without("leakage"),
}
_MANIFEST = {
    "another study's": _with("model", "giant"),
    "without its checkpoint": _with("checkpoints", {}),
    "with a path for a digest": lambda content: content.replace(
        b'"digest": "', b'"digest": "../../', 9
    ),
    "behind an address": becomes('{"model": "nano", "api": "gpt-4o"}'),
}
_BASE_MANIFEST = {**_MANIFEST, "of a trained model": _with("use", "best")}
_CARD = {
    "another study's": _with("prompt", "tom-rl"),
    "without a field": _without("sets"),
}
_ORIGINS = {
    "another study's": _renamed("columns", "hi_tom_order_3", "opentom_location"),
    "with other training sets": _renamed("training", "hi", "fan"),
    "without a field": _without("training"),
}
_BASE_CARD = {"another model's": _with("model", "giant"), "without a field": _without("note")}
_BASE_SHOWN = {"another model's": _with("model", "giant"), "without a field": _without("origin")}
_CURVE: dict[str, Damage] = {
    "another study's": becomes('{"epoch": 1, "loss": 0.5}\n'),
    "lists in lines": becomes("[]\n[]\n"),
    "with a text for a number": becomes('{"step": "one", "validation_accuracy": 0.5}\n'),
}
_ROWS: dict[str, Damage] = {
    "another study's": becomes('{"prompt": "x", "completion": "y"}\n'),
    "with a list": becomes("[]\n"),
    "a key twice": becomes('{"story": "a", "story": "b"}\n'),
}

_READ: tuple[tuple[str, str, str, dict[str, Damage]], ...] = (
    # (command, file, stage that makes it, further damages)
    ("train nano-hi", "data/mini/combos/hi/train.parquet", "dataset@hi", _NO_MORE),
    ("dataset hi", "params/shared.json", "expand", {"without a field": _without("suite")}),
    ("train nano-hi", "params/shared.json", "expand", _NO_MORE),
    ("train nano-hi", "params/cells/nano-hi/cell.json", "expand", {"without a field": _without("train")}),
    ("report", "params/report.json", "expand", {"without a field": _without("cells")}),
    ("train nano-hi", "data/mini/combos/hi/validation.parquet", "dataset@hi", _NO_MORE),
    ("train nano-hi", "runs/mini/base/nano/checkpoints.json", "base@nano", _BASE_MANIFEST),
    ("train nano-base", "runs/mini/base/nano/checkpoints.json", "base@nano", _BASE_MANIFEST),
    ("evaluate nano-hi", "data/mini/suite/hi_tom_order_3.parquet", "suite", _NO_MORE),
    ("evaluate nano-hi", "runs/mini/nano-hi/train/checkpoints.json", "train@nano-hi", _MANIFEST),
    ("suite", "data/mini/raw/arithmetic/test.jsonl", "acquire@arithmetic", _ROWS),
    ("dataset hi", "data/mini/raw/hi_tom_style/train.jsonl", "acquire@hi_tom_style", _ROWS),
    ("dataset hi", "data/mini/sources/dataset-hi.json", "sources", {"another study's": _json(lambda _: {"tasks": {}})}),
    ("dataset hi", "data/mini/sources/prompts/compact.json", "sources", {"another form": _json(lambda _: {"frame": "Story:"})}),
    ("evaluate nano-hi", "data/mini/sources/prompts/compact.json", "sources", _NO_MORE),
    ("suite", "data/mini/raw/hi_tom_style/test.jsonl", "acquire@hi_tom_style", _NO_MORE),
    ("suite", "data/mini/sources/suite.json", "sources", {"another study's": _json(lambda _: {"tasks": {}})}),
    ("audit", "data/mini/suite/hi_tom_order_3.parquet", "suite", _NO_MORE),
    ("audit", "data/mini/combos/hi/train.parquet", "dataset@hi", _NO_MORE),
    ("audit", "data/mini/combos/hi/card.json", "dataset@hi", _CARD),
    ("audit", "data/mini/raw/hi_tom_style/train.jsonl", "acquire@hi_tom_style", _NO_MORE),
    ("base nano", "data/mini/combos/hi/train.parquet", "dataset@hi", _NO_MORE),
    ("report", "runs/mini/nano-hi/evaluate/metrics.json", "evaluate@nano-hi", _SCORES),
    ("report", "runs/mini/nano-base/evaluate/metrics.json", "evaluate@nano-base", _NO_MORE),
    ("report", "runs/mini/nano-hi/train/metrics.jsonl", "train@nano-hi", _CURVE),
    ("report", "runs/mini/nano-hi/train/checkpoints.json", "train@nano-hi", _MANIFEST),
    ("report", "runs/mini/audit/audit.json", "audit", _AUDIT),
    ("report", "runs/mini/audit/origins.json", "audit", _ORIGINS),
    ("report", "runs/mini/base/nano/card.json", "base@nano", _BASE_CARD),
    ("report", "runs/mini/base/nano/shown.json", "base@nano", _BASE_SHOWN),
    ("report", "data/mini/combos/hi/card.json", "dataset@hi", _CARD),
    ("tomrl report", "runs/mini/nano-hi/evaluate/metrics.json", "evaluate@nano-hi", _NO_MORE),
    ("tomrl report", "runs/mini/nano-hi/train/metrics.jsonl", "train@nano-hi", _NO_MORE),
    ("tomrl sync", "runs/mini/nano-hi/evaluate/metrics.json", "evaluate@nano-hi", _SCORES),
    ("tomrl sync", "runs/mini/nano-hi/train/metrics.jsonl", "train@nano-hi", _CURVE),
    ("tomrl sync", "runs/mini/nano-hi/train/checkpoints.json", "train@nano-hi", _MANIFEST),
)  # fmt: skip

_UNREAD_BY_SYNC = {"missing"}  # what has no results yet is not sent

# (command, pattern of a file of weights, stage that makes it again)
_WEIGHTS = (
    ("train nano-hi", "weights/mini/base/nano/*/model.safetensors", "base@nano"),
    ("evaluate nano-hi", "weights/mini/nano-hi/*/model.safetensors", "train@nano-hi"),
    ("evaluate nano-hi", "weights/mini/nano-hi/*/tokenizer.json", "train@nano-hi"),
    ("evaluate nano-hi", "weights/mini/nano-hi/*/config.json", "train@nano-hi"),
)


def stage_files(most: int = len(DAMAGES)) -> Iterator[BadInput]:
    """Yield damages to every file: at most so many of those that any file may have, in turn."""
    for number, (command, file, made_by, more) in enumerate(_READ):
        damages = _turned(number, most) | more
        if file.endswith(".jsonl"):
            damages = damages | {"half a line": lambda content: content[:-10]}
        for what, damage in damages.items():
            if command == "tomrl sync" and what in _UNREAD_BY_SYNC and "train/c" not in file:
                continue
            says = (_named(file, what), "dvc repro", made_by)
            yield BadInput(f"{command}: {file} {what}", _words(command), says, {file: damage})
    for number, (command, file, made_by) in enumerate(_WEIGHTS):
        for what in ("missing", "empty", "cut off", "binary"):
            if what in _turned(number, most):
                says = ("weights/mini", "dvc repro", made_by)
                name = f"{command}: {file} {what}"
                yield BadInput(name, _words(command), says, {file: DAMAGES[what]})


def _turned(number: int, most: int) -> dict[str, Damage]:
    """So many damages, others for each file, so that all files together have all."""
    names = list(DAMAGES)
    return {name: DAMAGES[name] for name in (names * 2)[number % len(names) :][:most]}


def _named(file: str, what: str) -> str:
    """What the message must name: an empty source is one without rows, not a bad file."""
    path = PurePosixPath(file)
    return path.parent.name if what == "empty" and "raw" in path.parts else path.name


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())
