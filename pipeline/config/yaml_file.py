"""Reading and writing YAML 1.2, with line numbers."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from pipeline.base.errors import UserError
from pipeline.config.mistakes import Mistake, Place, as_error, shown

LARGEST_FILE = 512 << 10
"""Bytes; the largest study in ``studies/`` has 7,000, expanded 80,000."""
DEEPEST = 20
"""Levels; ``params.yaml`` has 8."""
MOST_VALUES = 50_000
"""Of a file, with repetitions by aliases."""
LONGEST_NUMBER = 40
"""Characters."""
_WIDEST = 10_000
"""Width of written lines, so that none is folded."""


class _Constructor(SafeConstructor):
    """ruamel's safe constructor with string keys, without duplicates, and with short numbers."""

    def check_mapping_key(
        self, node: Any, key_node: Any, mapping: Any, key: Any, value: Any
    ) -> bool:
        if not isinstance(key, str):
            text = f"found the name {shown(key)} that is not text; put it in quotes, or change it"
            raise ConstructorError(problem=text, problem_mark=key_node.start_mark)
        if key in mapping:
            first = next(each for each, _ in node.value if each.value == key_node.value)
            line = first.start_mark.line + 1
            text = f"appears twice in this section, first in line {line}; keep one of them"
            raise ConstructorError(problem=text, problem_mark=key_node.start_mark)
        return True

    def construct_non_recursive_object(self, node: Any, tag: str | None = None) -> Any:
        """Refuse values that do not match their tag, and numbers too long for Python to print."""
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "int" and len(node.value) > LONGEST_NUMBER:
            text = f"found a number of {len(node.value):,} digits; at most {LONGEST_NUMBER} allowed"
            raise ConstructorError(problem=text, problem_mark=node.start_mark)
        try:
            return super().construct_non_recursive_object(node, tag)
        except (ValueError, KeyError):
            text = f"found {shown(node.value)}, which is no {kind}"
            raise ConstructorError(problem=text, problem_mark=node.start_mark) from None


def _yaml() -> YAML:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    yaml.max_depth = DEEPEST
    return yaml


def write_yaml(content: object, flow: bool | None = False) -> str:
    """Plain values as YAML; ``flow`` None puts innermost sections and lists in brackets."""
    yaml = _yaml()
    yaml.default_flow_style, yaml.width = flow, _WIDEST
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = StringIO()
    yaml.dump(content, text)
    return text.getvalue()


@dataclass(frozen=True)
class Document:
    """The content of a YAML file; ``node`` holds the positions."""

    content: object
    node: Node

    def line(self, place: Place) -> int:
        """The line of a value, or of the section that lacks it."""
        node, line = self.node, 1
        for part in place:
            inside = [each for each in _inside(node) if each[0] == part]
            if not inside:
                break
            _, mark, node = inside[-1]
            line = mark.line + 1
        return line


def _inside(node: Node) -> list[tuple[str | int, Any, Node]]:
    """(name or index, its mark, value) of all in a section or list, merged ones first."""
    if isinstance(node, MappingNode):
        pairs = [*(node.merge or ()), *node.value]
        return [(_name(key), key.start_mark, value) for key, value in pairs]
    values = node.value if isinstance(node, SequenceNode) else ()
    return [(number, value.start_mark, value) for number, value in enumerate(values)]


def _name(key: Node) -> str:
    return key.value if isinstance(key, ScalarNode) else "?"


def _place_of(node: Node, index: int) -> Place:
    """The path of the name or value at a character of the file."""
    for part, mark, value in _inside(node):
        if index in (mark.index, value.start_mark.index):
            return (part,)
        if value.start_mark.index < index < value.end_mark.index:
            return (part, *_place_of(value, index))
    return ()


def read_yaml(path: Path) -> Document:
    """Read a YAML file; UserError if it is missing, too large, not UTF-8, not YAML, or empty."""
    return parse_yaml(path, read_bytes(path))


def parse_yaml(path: Path, data: bytes) -> Document:
    text, yaml = _text(path, data), _yaml()
    try:
        node = yaml.compose(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        said = f"line {line}: the character {shown(chr(error.character))} cannot stand in it"
        raise UserError(f"{path} is not valid YAML: {said}") from None
    except MaxDepthExceededError as error:
        said = f"line {error.problem_mark.line + 1}: nested more than {DEEPEST} levels deep"
        raise UserError(f"{path} is not valid YAML: {said}") from None
    except MarkedYAMLError as error:
        raise UserError(f"{path} is not valid YAML: {_said(error)}") from None
    if node is not None and _values_in(path, node, {}) > MOST_VALUES:
        raise UserError(f"{path} has too many values; at most {MOST_VALUES:,} are allowed")
    try:
        content = None if node is None else yaml.constructor.construct_document(node)
    except ConstructorError as error:
        place = _place_of(node, error.problem_mark.index)
        line = error.problem_mark.line + 1
        raise as_error(path, [Mistake(place, error.problem)], lambda _: line) from None
    if content is None:
        raise UserError(f"{path} holds nothing")
    return Document(content, node)


def _values_in(path: Path, node: Node, known: dict[int, int], depth: int = 0) -> int:
    if depth > DEEPEST:  # an alias may be of what it stands in
        line = node.start_mark.line + 1
        raise UserError(f"{path} is not valid YAML: line {line}: nested more than {DEEPEST} levels")
    if id(node) not in known:
        inside = (_values_in(path, each, known, depth + 1) for *_, each in _inside(node))
        known[id(node)] = 1 + sum(inside)
    return known[id(node)]


def read_bytes(path: Path) -> bytes:
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


def _said(error: MarkedYAMLError) -> str:
    """The parser's message with its line, on one line."""
    parts = ((error.context_mark, error.context), (error.problem_mark, error.problem))
    said = (f"line {mark.line + 1}: {text}" for mark, text in parts if mark and text)
    return repr(", ".join(said) or str(error))[1:-1][:300]
