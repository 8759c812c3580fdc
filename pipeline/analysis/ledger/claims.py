"""The claims of the papers, read from ``claims.yaml``: predicates by name, with their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from pipeline.analysis.ledger import measures, predicates
from pipeline.analysis.ledger.claim import PaperClaim
from pipeline.analysis.ledger.evidence import Who
from pipeline.analysis.ledger.measures import Measure
from pipeline.analysis.ledger.predicates import Test
from pipeline.base.errors import UserError
from pipeline.config.yaml_file import read_yaml

_FILE = Path(__file__).with_name("claims.yaml")
_FOR = "for"
_FIELDS = {"name", "source", "says", "needs", "decide"}


def _giving(module: Any, kind: str) -> dict[str, Callable[..., Any]]:
    """The public functions of a module that give a kind of thing, by name."""
    public = {name: each for name, each in vars(module).items() if not name.startswith("_")}
    given = {name: getattr(each, "__annotations__", {}) for name, each in public.items()}
    return {name: each for name, each in public.items() if given[name].get("return") == kind}


_BY_KIND = {Test: _giving(predicates, "Test"), Measure: _giving(measures, "Measure")}


@cache
def claims(path: Path = _FILE) -> tuple[PaperClaim, ...]:
    """All claims, in the order of the file.

    Raises:
        UserError: If a row lacks a field, or names a predicate, measure or argument that is not
            there; says which row.
    """
    content = read_yaml(path).content
    rows = content.get("claims") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path}: claims must be a list of rows, each with {_listed(_FIELDS)}")
    return tuple(_claim(row, path) for row in rows)


def _claim(row: Mapping[str, Any], path: Path) -> PaperClaim:
    where = f"{path}: claim {row.get('name', '?')}"
    if set(row) != _FIELDS:
        raise UserError(f"{where}: found {_listed(row)}; needed: {_listed(_FIELDS)}")
    return PaperClaim(
        id=row["name"],
        source=row["source"],
        says=row["says"],
        needs=row["needs"],
        decide=_made(Test, row["decide"], where),
    )


def _made(kind: Any, value: Any, where: str) -> Any:
    """What an argument of a kind says."""
    if kind in _BY_KIND:
        return _called(_BY_KIND[kind], value, where)
    if kind == Iterable[Test]:
        return [_made(Test, each, where) for each in value]
    if kind is Who and isinstance(value, str) and value.count("/") < len(Who._fields):
        return Who(*value.split("/"))
    try:
        return TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        allowed = " or ".join(each.__name__ for each in get_args(kind) or (kind,))
        raise UserError(f"{where}: found {value!r}; allowed: {allowed}") from error


def _called(functions: Mapping[str, Callable[..., Any]], value: Any, where: str) -> Any:
    """What a function gives that an expression names with its arguments."""
    if not isinstance(value, dict) or next(iter(value), None) not in functions:
        named = next(iter(value), None) if isinstance(value, dict) else value
        raise UserError(f"{where}: found {named!r}; allowed: {_listed(functions)}")
    (name, given), *others = value.items()
    function, named = functions[name], dict(others)
    kinds = get_type_hints(function)
    if _FOR in named:
        try:
            given = [_filled(given, each) for each in _each(named.pop(_FOR))]
        except KeyError as error:
            raise UserError(f"{where}: {name}: {_FOR} says nothing of {error}") from error
    several = Iterable[Test] in kinds.values()
    positional = [given] if several or not isinstance(given, list) else given
    try:
        bound = signature(function).bind(*positional, **named)
    except TypeError as error:
        raise UserError(f"{where}: {name}: {error}; it takes {signature(function)}") from error
    made = {key: _made(kinds[key], each, where) for key, each in bound.arguments.items()}
    return function(**made)


def _each(values: Any) -> list[dict[str, str]]:
    """What names stand for in each test: of one name, each of its values."""
    if isinstance(values, list):
        return values
    ((name, each),) = values.items()
    return [{name: value} for value in each]


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    """An expression whose texts have values in place of names."""
    if isinstance(value, str):
        return value.format_map(names)
    if isinstance(value, list):
        return [_filled(each, names) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, names) for key, each in value.items()}
    return value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
