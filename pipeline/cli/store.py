"""``tomrl store``: what is in the artifact store, what nothing names, and what others share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from pipeline.base.errors import UserError
from pipeline.base.home import home_of
from pipeline.cli.store_moves import pull, push
from pipeline.cli.terminal import Terminal
from pipeline.formats.files import discard, size
from pipeline.formats.plural import counted
from pipeline.formats.store import STORE_VARIABLE, LocalStore, default_store
from pipeline.ops.driver.checkout import find_root
from pipeline.ops.store.remote import Remote, open_remote

app = typer.Typer(
    no_args_is_help=True,
    help="Look after the artifact store: weights, each under the digest of its files.",
    epilog="Example: `dvc pull && tomrl store pull`",
)
app.command()(push)
app.command()(pull)
console = Terminal()
_SECONDS_AN_HOUR = 3600


@app.command()
def verify(
    remote: Annotated[
        str | None,
        typer.Option("--remote", metavar="ADDRESS", help="Read all that a remote has instead."),
    ] = None,
) -> None:
    """Say which objects are not what they are named after; exits 1 if there are any.

    Example: `tomrl store verify`
    """
    if remote is not None:
        _verify_remote(open_remote(remote))
        return
    store = default_store(find_root())
    altered = [digest for digest in store.digests() if not store.verify(digest)]
    for digest in altered:
        console.say(f"altered: {store.root / digest}")
    console.say(f"{counted(len(store.digests()), 'object')}, {len(altered)} altered")
    if altered:
        raise typer.Exit(1)


@app.command()
def prune(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    hours: Annotated[
        float,
        typer.Option(
            "--hours", min=0, help="Keep what was put there in the last hours, named or not."
        ),
    ] = 24,
    checkout: Annotated[
        list[Path] | None,
        typer.Option(help="Another checkout that uses the same store; may be given again."),
    ] = None,
    remote: Annotated[
        str | None,
        typer.Option(
            "--remote",
            metavar="ADDRESS",
            help="Prune a remote instead; name each checkout that uses it with --checkout.",
        ),
    ] = None,
) -> None:
    """Remove the objects that nothing names.

    An object is kept if its digest stands in a JSON file in `runs/`, `reports/` or `work/`, or in a
    file of the DVC cache (of at most 1 MB, as manifests are), of this checkout, of the one it
    belongs to, of its git worktrees and running DVC experiments, or of a `--checkout`. So what an
    earlier commit or experiment names is kept until `dvc gc` removes its results from the cache.
    What only a DVC remote names is removed. From a remote, parts of pushes that never ended are
    removed too; nobody may push to it meanwhile.

    Example: `tomrl store prune --dry-run`
    """
    from pipeline.ops.store.use import put_at, usage

    root = find_root()
    if remote is not None:
        if not checkout:
            raise UserError(
                f"--remote {remote}: others may use it; name each checkout that does with "
                "--checkout FOLDER, or this one if there is no other"
            )
        _prune_remote(open_remote(remote), [root, *_named(checkout)], hours, dry_run, yes)
        return
    store = default_store(root)
    since = time.time() - _SECONDS_AN_HOUR * hours
    used = usage(put_at(store), [root, *_others(root, store, checkout or [])], since)
    for objects, why in (
        (used.named, "named by results or work that are present"),
        (used.cached, "named by results in the DVC cache alone"),
        (used.recent, f"named by nothing, put there in the last {hours:g} hours"),
    ):
        console.say(f"kept {_described(store, objects)}: {why}")
    _prune_partial(store, hours, dry_run)
    if not used.unused:
        console.say("nothing to remove")
        return
    if dry_run:
        console.say(f"would remove {_described(store, used.unused)}: named by nothing")
        for digest in sorted(used.unused):
            console.say(f"  {digest}")
        return
    what = _described(store, used.unused)
    if not yes:
        typer.confirm(f"Remove {what}, from {store.root}?", abort=True)
    store.prune(set(store.digests()) - used.unused)
    console.say(f"removed {what}")


def _prune_partial(store: LocalStore, hours: float, dry_run: bool) -> None:
    """Remove what is left of pulls that ended halfway, without asking: a pull brings it again."""
    from pipeline.ops.store.transfer import abandoned

    for folder in abandoned(store, hours):
        console.say(f"{'would remove' if dry_run else 'removed'} half of a pull: {folder}")
        if not dry_run:
            discard(folder)


def _verify_remote(remote: Remote) -> None:
    from pipeline.ops.store.upkeep import faults_of, objects_of

    objects = objects_of(remote)
    faults = faults_of(remote, objects)
    for fault in faults:
        console.say(fault)
    console.say(
        f"{counted(len(objects), 'object')} in {remote.address}, {counted(len(faults), 'fault')}"
    )
    if faults:
        raise typer.Exit(1)


def _prune_remote(
    remote: Remote, roots: list[Path], hours: float, dry_run: bool, yes: bool
) -> None:
    from pipeline.ops.store.upkeep import objects_of, remove, unneeded
    from pipeline.ops.store.use import usage

    since = remote.now() - _SECONDS_AN_HOUR * hours
    objects = objects_of(remote)
    used = usage(objects, roots, since)
    found = unneeded(remote, used.unused, since)
    console.say(f"kept {counted(len(objects) - len(used.unused), 'object')} in {remote.address}")
    if not found.listings and not found.parts:
        console.say("nothing to remove")
        return
    what = (
        f"{counted(len(found.listings), 'object')} that nothing names, "
        f"{counted(len(found.parts), 'part')}, {decimal(found.bytes)}"
    )
    if dry_run:
        console.say(f"would remove {what}")
        for digest in sorted(used.unused):
            console.say(f"  {digest}")
        return
    if not yes:
        typer.confirm(f"Remove {what}, from {remote.address}?", abort=True)
    remove(remote, found)
    console.say(f"removed {what}")


def _named(checkouts: list[Path]) -> list[Path]:
    """Return checkouts that a user names.

    Raises:
        UserError: If one is none.
    """
    for folder in checkouts:
        if not (folder / "dvc.yaml").is_file():
            raise UserError(f"--checkout {folder}: no checkout, it has no dvc.yaml")
    return checkouts


def _others(root: Path, store: LocalStore, named: list[Path]) -> list[Path]:
    """Return the other checkouts that a user names.

    Raises:
        UserError: If one is none, or if the store may be shared and none is named.
    """
    if not _named(named) and store.root.parent != home_of(root):
        raise UserError(
            f"{STORE_VARIABLE}={store.root} lies outside of {home_of(root)}, and other checkouts "
            "may use it: name each with --checkout FOLDER, or this one if there is no other"
        )
    return named


def _described(store: LocalStore, objects: frozenset[str]) -> str:
    total = sum(size(store.root / digest) for digest in objects)
    return f"{counted(len(objects), 'object')}, {decimal(total)}"
