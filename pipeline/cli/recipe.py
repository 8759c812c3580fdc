"""A study's settings, line by line, without defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.config.yaml_file import write_yaml

Line = tuple[str, str]
_HEAD = {"name", "title", "paper"}


def recipe(study: Study) -> list[Line]:
    """(field, its value as YAML), in the order of the file, and at the end the cells."""
    content = study.model_dump(mode="json", exclude=_HEAD, exclude_unset=True)
    lines = [line for field, value in content.items() for line in _lines(field, value)]
    return [*lines, ("cells", ", ".join(expand(study).cells))]


def _lines(field: str, value: object) -> Iterator[Line]:
    """Yield a section's fields; deeper ones share a line, unless all are sections."""
    inner = value if isinstance(value, Mapping) else {}
    if inner and ("." not in field or all(isinstance(each, Mapping) for each in inner.values())):
        for name, each in inner.items():
            yield from _lines(f"{field}.{name}", each)
    else:
        yield field, write_yaml(value, flow=True).removesuffix("\n...\n").strip()
