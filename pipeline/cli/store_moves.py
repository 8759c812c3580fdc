"""``tomrl store push`` and ``pull``: between the artifact store and its remote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.cli.terminal import Terminal
from pipeline.formats.files import size
from pipeline.formats.plural import counted
from pipeline.formats.store import default_store
from pipeline.ops.driver.checkout import find_root
from pipeline.ops.store.remote import REMOTE_VARIABLE, Missing, open_remote

console = Terminal()

RemoteOption = Annotated[
    str | None,
    typer.Option(
        "--remote",
        metavar="ADDRESS",
        help=f"s3://BUCKET/PREFIX, or a folder that others see too; else {REMOTE_VARIABLE}.",
    ),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be brought.")]


def push(
    remote: RemoteOption = None,
    dry_run: _DryRun = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read what is there, and replace what is altered.")
    ] = False,
) -> None:
    """Put the weights that the results in `runs/` name into the remote.

    What is there already is not sent again, nor are files that two models share, and a push that
    was interrupted goes on where it was. `AWS_ENDPOINT_URL` names a server of the S3 API other than
    Amazon's; credentials are found as the AWS command line finds them.

    Example: `tomrl store push --remote s3://lab/tom --dry-run`
    """
    from pipeline.ops.store import transfer as store_transfer
    from pipeline.ops.store.use import needed

    store, there = default_store(find_root()), open_remote(remote)
    manifests = needed(find_root())
    missing = [name for name in manifests if check or not store_transfer.has(there, name)]
    lost = [
        name
        for name in missing
        if not (store.root / name).is_dir() and not (check and store_transfer.has(there, name))
    ]
    wanted = [name for name in missing if (store.root / name).is_dir()]
    total = sum(size(store.root / name) for name in wanted)
    what = f"{counted(len(wanted), 'object')}, {decimal(total)}"
    if dry_run:
        console.say(f"would push {what}, to {there.address}")
    else:
        with _progress("pushing", total) as report:
            for name in wanted:
                store_transfer.push(store, there, name, report, again=check)
        console.say(f"pushed {what}, to {there.address}")
    _refuse_lost(lost, manifests, f"neither in {store.root} nor in {there.address}")


def pull(remote: RemoteOption = None, dry_run: _DryRun = False) -> None:
    """Bring the weights that the results in `runs/` name from the remote into the store.

    What the store has already is not brought again, and a pull that was interrupted goes on where
    it was. Every file is compared with its digest as it arrives.

    Example: `dvc pull && tomrl store pull`
    """
    from pipeline.ops.store import transfer as store_transfer
    from pipeline.ops.store.use import needed

    store, there = default_store(find_root()), open_remote(remote)
    manifests = needed(find_root())
    missing = [name for name in manifests if not (store.root / name).is_dir()]
    listings, lost = {}, []
    for name in missing:
        try:
            listings[name] = store_transfer.read_listing(there, name)
        except Missing:
            lost.append(name)
    total = sum(listing.bytes for listing in listings.values())
    what = f"{counted(len(listings), 'object')}, {decimal(total)}"
    if dry_run:
        console.say(f"would pull {what}, from {there.address}")
    else:
        with _progress("pulling", total) as report:
            for name, listing in listings.items():
                store_transfer.pull(store, there, name, listing, report)
        console.say(f"pulled {what}, from {there.address}")
    _refuse_lost(lost, manifests, f"not in {there.address}")


def _refuse_lost(lost: list[str], manifests: dict[str, Path], where: str) -> None:
    """Say which objects cannot be had.

    Raises:
        UserError: If there are any.
    """
    if lost:
        names = "\n".join(f"  {name[:12]}, named by {manifests[name]}" for name in lost)
        raise UserError(
            f"{counted(len(lost), 'object')} {where}:\n{names}\nPush from the checkout that made "
            "them (tomrl store push), or make them again: dvc repro --force STAGE"
        )


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show how many of the bytes have been brought; yield what to call with those of each part."""
    if not total:
        yield lambda done: None
        return
    brought = 0
    with ProgressReport(f"{what}, MB", max(1, total // 10**6)) as bar:

        def report(done: int) -> None:
            nonlocal brought
            brought += done
            bar.at(min(brought // 10**6, bar.total))

        yield report
