"""The code behind a module's results: its transitive imports, with a digest of each one's syntax.

Comments, docstrings and layout do not count. All imports are followed, also inside functions,
except under ``if TYPE_CHECKING``; modules loaded by name from a table are not: callers name them as
further roots. A file that is no Python belongs to the module beside it that names it in a string.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from io import StringIO
from pathlib import Path

CARRIERS = frozenset(
    {
        "pipeline.base",
        "pipeline.ops.cluster",
        "pipeline.ops.driver",
        "pipeline.ops.mirror",
        "pipeline.stages.followed",
    }
)
"""Modules that carry, name or show results and cannot affect them: they are in no digest."""

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def closure(
    root: Path, modules: Iterable[str], without: Collection[str] = frozenset()
) -> dict[str, str]:
    """The digest of every module that some modules import, and of their data files.

    Args:
        modules: Dotted names to start from.
        without: Modules and packages to leave out, with their exclusive imports.

    Raises:
        ValueError: If there is no such module.
    """
    found: dict[str, str] = {}
    waiting = sorted(modules)
    seen = set(waiting)
    for name in waiting:
        if _file(root, name) is None:
            raise ValueError(f"there is no module {name} in {root}")
    while waiting:
        name = waiting.pop()
        path = None if _is_under(name, without) else _file(root, name)
        if path is None:
            continue
        module = _read(path, path.stat().st_mtime_ns)
        found[name] = module.digest
        found |= {f"{name}:{file.name}": _sha256(file.read_bytes()) for file in module.files}
        waiting += module.imports - seen
        seen |= module.imports
    return dict(sorted(found.items()))


def own_code(modules: Iterable[str]) -> dict[str, str]:
    """The closure of modules of this package without ``CARRIERS``."""
    return closure(Path(__file__).parents[2], modules, CARRIERS)


class Module:
    """A module in a closure: digest of its syntax, possible imports, data files that it names."""

    def __init__(self, path: Path) -> None:
        syntax = _Syntax()
        syntax.read(ast.parse(path.read_text(encoding="utf-8")))
        self.digest = _sha256(syntax.text.getvalue().encode())
        self.imports = frozenset(syntax.imports)
        self.files = tuple(_data_files(syntax.strings, path))


@cache  # several closures share most of their modules
def _read(path: Path, changed: int) -> Module:
    return Module(path)


def _file(root: Path, name: str) -> Path | None:
    path = root.joinpath(*name.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def _is_under(name: str, packages: Collection[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


class _Syntax:
    """Facts from one walk over a syntax tree.

    Attributes:
        text: Its dump without docstrings, strings that stand alone as statements, and empty fields,
            on which versions of Python disagree.
    """

    def __init__(self) -> None:
        self.text, self.imports, self.strings = StringIO(), set[str](), set[str]()

    def read(self, node: ast.AST, *, follow: bool = True) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.strings.add(node.value)
        elif follow and isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports.update(_imported(node))
        self.text.write(f"{type(node).__name__}(")
        for name in node._fields:
            child = getattr(node, name, None)
            if name == "body" and isinstance(node, _DOCUMENTED):
                child = [each for each in node.body if not _is_text(each)]
            if child is not None and child != []:
                self.text.write(f"{name}=")
                self._value(child, follow and not (name == "body" and _is_for_types(node)))
        self.text.write(")")

    def _value(self, value: object, follow: bool) -> None:
        if isinstance(value, ast.AST):
            self.read(value, follow=follow)
        elif isinstance(value, list):
            self.text.write("[")
            for each in value:
                self._value(each, follow)
            self.text.write("]")
        else:
            self.text.write(f"{value!r},")


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _with_parents(alias.name)
    elif node.module:
        yield from _with_parents(node.module)
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_for_types(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _data_files(strings: Collection[str], path: Path) -> Iterator[Path]:
    """Yield the files beside a module, or in folders beside it, that it names."""
    for text in sorted(strings):
        found = path.parent / text if text and "/" not in text and "\0" not in text else None
        if found is None or len(text) > 100 or found.suffix == ".py":
            continue
        if found.is_file():
            yield found
        elif found.is_dir() and not (found / "__init__.py").is_file() and text[0].isalpha():
            yield from sorted(file for file in found.rglob("*") if file.is_file())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
