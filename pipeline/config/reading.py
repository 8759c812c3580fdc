"""Reading a YAML file as what it should be, with every mistake named at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from pipeline.base.errors import UserError
from pipeline.config.mistakes import Mistake, as_error, mistakes_of
from pipeline.config.section import Section
from pipeline.config.yaml_file import Document, read_yaml

Content = TypeVar("Content", bound=Section)
Check = Callable[[object], Iterable[Mistake]]
"""From the content of a file, checked or not, to what is wrong with it across its sections."""


def read_section(path: Path, form: type[Content], checks: Iterable[Check] = ()) -> Content:
    """Read a file.

    Args:
        path: The file.
        form: What it should hold.
        checks: What else must be right. They see the content as it is written, so that their
            mistakes are reported together with all others.

    Raises:
        UserError: With every mistake in the file: line, field, value found, values allowed.
    """
    return check_document(path, read_yaml(path), form, checks)


def check_document(
    path: Path, document: Document, form: type[Content], checks: Iterable[Check] = ()
) -> Content:
    """The content of a document as what it should be; takes and raises as :func:`read_section`."""
    if not isinstance(document.content, dict):
        found = "a list" if isinstance(document.content, list) else repr(document.content)[:80]
        fields = ", ".join(form.model_fields)
        raise UserError(f"{path}: line 1: found {found}; allowed: the fields {fields}")
    mistakes = list(document.mistakes)
    spoilt = {mistake.place for mistake in mistakes}
    for check in checks:
        mistakes += check(document.content)
    try:
        found_content = form.model_validate(document.content)
    except ValidationError as error:
        more = mistakes_of(error, document.content)
        mistakes += (mistake for mistake in more if mistake.place not in spoilt)
    if mistakes:
        raise as_error(path, mistakes, document.lines)
    return found_content
