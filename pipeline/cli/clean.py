"""``tomrl clean``: removing what the pipeline made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.markup import escape

from pipeline.base.errors import UserError
from pipeline.base.ownership import in_use, is_owned
from pipeline.cli.tables import make_list
from pipeline.cli.terminal import Terminal
from pipeline.formats.files import remove, size
from pipeline.formats.leftovers import MADE, ownerless
from pipeline.ops.driver.checkout import find_root
from pipeline.ops.driver.mend import mend_dvc

console = Terminal()


def clean(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed, with sizes.")
    ] = False,
) -> None:
    """Remove what the pipeline made: data, runs, weights, logs, reports and resumable state.

    This includes half-written files of killed processes, also those of other machines: make sure
    that none of them is running. `dvc repro` restores everything from the DVC cache in seconds;
    only interrupted work starts again from the beginning.

    Example: `tomrl clean --dry-run`, then `tomrl clean --yes`
    """
    root = find_root()
    if not dry_run:
        mend_dvc(root)
    _refuse_owned(root)
    made = [root / name for name in MADE if (root / name).exists()]
    elsewhere = [
        path for path in ownerless(root) if not any(path.is_relative_to(part) for part in made)
    ]
    found = [*made, *elsewhere]
    if not found:
        console.print("nothing to remove")
        return
    names = ", ".join(_name(path, root) for path in found)
    if dry_run:
        _show(root, made, elsewhere)
        return
    if not yes:
        _show(root, made, elsewhere)
        typer.confirm(f"Remove {names} in {root}?", abort=True)
    for path in found:
        remove(path)
    console.say(f"removed {names}")


def _refuse_owned(root: Path) -> None:
    """Refuse while work is under way."""
    work = root / "work"
    for folder in (*work.glob("*/"), *(work / "sweeps").glob("*/"), root / "logs" / "checkout"):
        if is_owned(folder):
            raise UserError(f"{in_use(folder)}; wait until it has ended, or end it, then clean")


def _show(root: Path, made: list[Path], elsewhere: list[Path]) -> None:
    table = make_list()
    for path in made:
        table.add_row(escape(_name(path, root)), decimal(size(path)), "")
    for path in elsewhere:
        table.add_row(escape(_name(path, root)), decimal(size(path)), "left half-written")
    table.add_row("in all", decimal(sum(map(size, [*made, *elsewhere]))), "")
    console.print(table)


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
