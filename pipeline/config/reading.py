"""Reading a YAML file as a model, with every mistake named at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.base.errors import UserError
from pipeline.config.mistakes import Mistake, Mistaken, as_error, mistakes_of
from pipeline.config.section import Section
from pipeline.config.yaml_file import Document, read_yaml

Content = TypeVar("Content", bound=Section)
Check = Callable[[Any], Iterable[Mistake]]
"""From a valid content to mistakes across its sections."""


def read_section(path: Path, form: type[Content], checks: Collection[Check] = ()) -> Content:
    """Read a file as ``form``; ``checks`` are passed to its validators as their context.

    Raises:
        UserError: With every mistake in the file: line, field, value found, values allowed.
    """
    return check_document(path, read_yaml(path), form, checks)


def check_document(
    path: Path, document: Document, form: type[Content], checks: Collection[Check] = ()
) -> Content:
    """Validate a document; see :func:`read_section`."""
    content = document.content
    if not isinstance(content, dict):
        found = "a list" if isinstance(content, list) else repr(content)[:80]
        fields = ", ".join(form.model_fields)
        raise UserError(f"{path}: line 1: found {found}; allowed: the fields {fields}")
    try:
        return form.model_validate(content, context=checks)
    except ValidationError as error:
        mistakes = list(mistakes_of(error, content))
    mistakes += _across(form, content, mistakes, checks)
    raise as_error(path, mistakes, document.line)


def _across(
    form: type[Content],
    content: dict[str, Any],
    mistakes: Iterable[Mistake],
    checks: Collection[Check],
) -> Iterator[Mistake]:
    """Yield mistakes across sections, ignoring values that are wrong themselves.

    Nothing if such a value is required: pydantic compares valid sections only.
    """
    rest = deepcopy(content)
    for mistake in mistakes:
        _drop(rest, mistake)
    try:
        form.model_validate(rest, context=checks)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if isinstance(said := detail.get("ctx", {}).get("error"), Mistaken):
                yield from said.found


def _drop(content: Any, mistake: Mistake) -> None:
    """Delete the field of a mistake, or the whole list around it."""
    way = list(mistake.place)
    while way and not isinstance(way[-1], str):
        way.pop()
    for part in way[:-1]:
        content = content[part] if isinstance(part, int) else content.get(part, {})
    if way and not isinstance(content.get(way[-1]), dict):
        content.pop(way[-1], None)
