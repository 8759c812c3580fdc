"""A bad input: what is typed, with which files damaged, and what the one message must say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Damage = Callable[[bytes], bytes | None]
"""From a file's bytes (none where there is no such file) to what stands there instead; None removes
the file, or the folder, of this name."""


@dataclass(frozen=True)
class BadInput:
    """One row of the corpus.

    Attributes:
        name: What is bad, for the list of tests.
        command: ``tomrl`` with its arguments, or a stage's name with its own.
        says: What the message must contain.
        files: Files of the checkout that are damaged first, by path; patterns may be used.
        environment: Variables that are set; an empty folder of its own takes the place of ``@``.
        status: How the command ends.
    """

    name: str
    command: tuple[str, ...]
    says: tuple[str, ...]
    files: Mapping[str, Damage] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    status: int = 2


def becomes(content: str | bytes) -> Damage:
    """The damage that puts this content in a file's place."""
    data = content.encode() if isinstance(content, str) else content
    return lambda _: data


def gone(_: bytes) -> None:
    """Remove the file."""


def cut(content: bytes) -> bytes:
    """Leave the first half of a file, and no whole line or record at its end."""
    return content[: len(content) // 2].rstrip()[:-1]


BINARY = bytes(range(256)) * 4
DAMAGES: dict[str, Damage] = {
    "missing": gone,
    "empty": becomes(b""),
    "cut off": cut,
    "binary": becomes(BINARY),
    "null": becomes("null\n"),
    "a list": becomes("[]\n"),
    "an empty object": becomes("{}\n"),
}
"""What can happen to a file, whatever it holds."""
