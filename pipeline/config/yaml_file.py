"""YAML as the pipeline reads and writes it: values with the lines they stand in, nothing ambiguous.

Beside YAML's own grammar: a name stands once in a section, a number like ``1e-6`` is a number as in
YAML 1.2, and a file can be neither too large, too deep nor expanded without end by aliases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from pipeline.base.errors import UserError
from pipeline.config.mistakes import Mistake, Place, is_writable, shown

LARGEST_FILE = 512 << 10
"""Bytes; the largest study in ``studies/`` has 7,000, expanded 80,000."""
DEEPEST = 20
"""Levels; ``params.yaml`` has 8."""
MOST_VALUES = 50_000
"""Values, with those of aliases each time they are used; the largest study has 6,000, expanded."""
LONGEST_NUMBER = 40
"""Characters."""

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_SCALARS = tuple(f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp"))
_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")

_READ_IN_TWO_WAYS = re.compile(r"[-+]?(?:0[\d_]+|0b[01_]+|[\d_]+_[\d_.]*|\d+(?::[\d.]+)+)")
"""Octal numbers, binary ones, those with lines in them, and those to the base of 60."""


class _Loader(yaml.SafeLoader):
    """YAML's safe loader with limits on depth and size."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._nodes = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self._depth, self._nodes = self._depth + 1, self._nodes + 1
        if self._depth > DEEPEST:
            self._refuse(f"nested more than {DEEPEST} levels deep")
        if self._nodes > MOST_VALUES:
            self._refuse(f"too many values, more than {MOST_VALUES:,}")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _refuse(self, problem: str) -> None:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.peek_event().start_mark)


class _Dumper(yaml.SafeDumper):
    """YAML's safe dumper, which quotes every text that the loader takes for something else."""


for _kind in (_Loader, _Dumper):
    _kind.add_implicit_resolver(f"{_TAG}float", _EXPONENT, list("-+0123456789"))


def write_yaml(content: object, **style: Any) -> str:
    """A content as YAML; ``style`` is what PyYAML's ``dump`` takes."""
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 100, **style}
    text: str = yaml.dump(content, Dumper=_Dumper, **options)
    return text


@dataclass(frozen=True)
class Document:
    """The content of a YAML file.

    Attributes:
        content: Its values.
        lines: The line of every value, by the way to it.
        mistakes: What is ambiguous or no plain value.
    """

    content: object
    lines: Mapping[Place, int]
    mistakes: tuple[Mistake, ...]


def read_yaml(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        UserError: If it is missing, too large, no UTF-8, no YAML, or holds nothing.
    """
    return parse_yaml(path, read_bytes(path))


def parse_yaml(path: Path, data: bytes) -> Document:
    """The content of a YAML file that holds, or is to hold, these bytes.

    Raises:
        UserError: As :func:`read_yaml` does.
    """
    text = _text(path, data)
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None or node.tag == f"{_TAG}null":
            raise UserError(f"{path} holds nothing")
        reading = _Reading(loader)
        content = reading.value(node, ())
        return Document(content, reading.lines, tuple(reading.mistakes))
    except ReaderError as error:
        raise UserError(
            f"{path} is not valid YAML: line {text.count(chr(10), 0, error.position) + 1}: the "
            f"character {shown(chr(error.character))} cannot stand in it"
        ) from None
    except yaml.MarkedYAMLError as error:
        raise UserError(f"{path} is not valid YAML: {_said(error)}") from None
    finally:
        if loader is not None:
            loader.dispose()


def read_bytes(path: Path) -> bytes:
    """The bytes of a YAML file.

    Raises:
        UserError: If it is missing, cannot be read, or is too large.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; write it with: tomrl study use NAME") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > LARGEST_FILE:
        raise _too_large(path, size)
    return data


def _too_large(path: Path, size: int) -> UserError:
    return UserError(f"{path} has {size:,} bytes, at most {LARGEST_FILE:,} are allowed")


def _text(path: Path, data: bytes) -> str:
    if len(data) > LARGEST_FILE:
        raise _too_large(path, len(data))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}: line {line} is not UTF-8; save the file as UTF-8") from None


def _said(error: yaml.MarkedYAMLError) -> str:
    """What the parser says, with its line, on one line."""
    parts = ((error.context_mark, error.context), (error.problem_mark, error.problem))
    said = (f"line {mark.line + 1}: {text}" for mark, text in parts if mark and text)
    return repr(", ".join(said) or str(error))[1:-1][:300]


class _Reading:
    """Makes values of a parsed file's nodes, noting their lines and what is wrong with them."""

    def __init__(self, loader: _Loader) -> None:
        self.lines: dict[Place, int] = {}
        self.mistakes: list[Mistake] = []
        self._loader, self._values = loader, 0

    def value(self, node: Node, place: Place, line: int | None = None) -> object:
        """The value of a node; ``line`` is that of its name."""
        self.lines[place] = line or node.start_mark.line + 1
        self._count(node, len(place))
        if isinstance(node, MappingNode) and node.tag == f"{_TAG}map":
            return self._section(node, place)
        if isinstance(node, SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.value(item, (*place, n)) for n, item in enumerate(node.value)]
        return self._scalar(node, place)

    def _count(self, node: Node, depth: int) -> None:
        """Refuse what aliases make too large or, where one names itself, too deep."""
        self._values += 1
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(
                problem=f"nested more than {DEEPEST} levels deep", problem_mark=node.start_mark
            )
        if self._values > MOST_VALUES:
            raise yaml.MarkedYAMLError(
                problem=f"too many values, more than {MOST_VALUES:,} with those of aliases",
                problem_mark=node.start_mark,
            )

    def _section(self, node: MappingNode, place: Place) -> dict[str, object]:
        return {
            name: self.value(value, (*place, name), key.start_mark.line + 1)
            for name, (key, value) in self._pairs(node, place, 0).items()
        }

    def _pairs(self, node: MappingNode, place: Place, depth: int) -> dict[str, tuple[Node, Node]]:
        """A section's own names with their nodes, and those merged with ``<<``."""
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                for other in self._merged(value, (*place, "<<"), depth):
                    merged = {**self._pairs(other, place, depth + 1), **merged}
                continue
            name = self._name(key, place)
            if name is None:
                continue
            if name in own:
                first = own[name][0].start_mark.line + 1
                text = f"appears twice in this section, first in line {first}; keep one of them"
                self._note((*place, name), text, key)
            own.setdefault(name, (key, value))
        return {**merged, **own}

    def _merged(self, value: Node, place: Place, depth: int) -> Iterator[MappingNode]:
        for node in value.value if isinstance(value, SequenceNode) else [value]:
            self._count(node, len(place) + depth)
            if isinstance(node, MappingNode):
                yield node
            else:
                self._note(place, "only a section of names with values can be merged", node)

    def _name(self, key: Node, place: Place) -> str | None:
        found = self._scalar(key, place) if isinstance(key, ScalarNode) else None
        if isinstance(found, str):
            return found
        what = f"the name {shown(key.value)}" if isinstance(key, ScalarNode) else "no name"
        self._note(place, f"found {what} that is not text; put a name in quotes, or change it", key)
        return None

    def _scalar(self, node: Node, place: Place) -> object:
        """A plain value; None, with a mistake noted, for what is none."""
        if not isinstance(node, ScalarNode) or node.tag not in _SCALARS:
            self._note(place, f"found the tag {shown(node.tag)}; remove it", node)
            return None
        if node.tag in (f"{_TAG}int", f"{_TAG}float") and len(node.value) > LONGEST_NUMBER:
            digits = f"found a number of {len(node.value):,} digits"
            self._note(place, f"{digits}; allowed: at most {LONGEST_NUMBER}", node)
            return None
        try:
            value: object = self._loader.construct_object(node)  # type: ignore[no-untyped-call]
        except (ValueError, AttributeError, KeyError):
            kind = node.tag.removeprefix(_TAG)
            self._note(place, f"found {shown(node.value)}, which is no {kind}", node)
            return None
        if not isinstance(value, str) and _READ_IN_TWO_WAYS.fullmatch(node.value):
            meant = f"which one version of YAML takes for {value} and another does not"
            self._note(place, f"found {shown(node.value)}, {meant}; write it in plain digits", node)
            return None
        if isinstance(value, str) and not is_writable(value):
            self._note(place, f"found {shown(value)}, with half of a surrogate pair", node)
            return None
        return value

    def _note(self, place: Place, text: str, node: Node) -> None:
        self.mistakes.append(Mistake(place, text, node.start_mark.line + 1))
