"""``tomrl publish`` and ``tomrl verify``: verifiable bundles of results."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from pipeline.analysis.export.folder import exporting
from pipeline.base.errors import UserError
from pipeline.cli.terminal import Terminal
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root, params_of_results


def publish(
    study: Annotated[str, typer.Argument(help="A study whose results are here.")],
    *,
    to: Annotated[str, typer.Option(metavar="FOLDER|s3://BUCKET/PREFIX", help="A new place.")],
    key: Annotated[
        Path | None, typer.Option(help="Sign the list of files with this private key of SSH.")
    ] = None,
) -> None:
    """Write a bundle of results that others can check: answers, grades, verdicts, report, digests.

    It is verified, as by `tomrl verify`, before it is put in place. To a bucket, only what is not
    there yet is sent, so that the same command goes on where it was stopped.

    Example: `tomrl publish mini --to mini-results --key ~/.ssh/id_ed25519`
    """
    from pipeline.ops.share import bucket, bundle, verify

    in_bucket = to.startswith(bucket.SCHEME)
    if in_bucket:
        bucket.reach(to)  # refused before the work
    root = find_root()
    note = f"results of the study {study}; check them with: tomrl verify FOLDER"
    with TemporaryDirectory(prefix="tomrl-publish-") as own:
        target = Path(own, "bundle") if in_bucket else Path(to)
        with exporting(target, note, force=None) as folder:
            bundle.write_bundle(params_of_results(root, study), root, folder)
            for name, text in verify.differences(folder).items():
                raise UserError(
                    f"{name}: {text}: results are not what the code here makes "
                    f"of the answers; run: tomrl study use {study} && tomrl run"
                )
            if key is not None:
                bundle.sign(folder, key)
        if in_bucket:
            sent = counted(bucket.send(target, to), "file")
            Terminal().say(f"{sent} sent to {to}; the others were there")
    Terminal().say(f"results of {study} are in {to}; check them: tomrl verify {to}")


def verify(
    source: Annotated[
        str, typer.Argument(metavar="FOLDER|s3://BUCKET/PREFIX", help="What publish wrote.")
    ],
    signer: Annotated[
        Path | None, typer.Option(help="The public key that must have signed the list of files.")
    ] = None,
) -> None:
    """Check a bundle of results: its files, and all that follows from the answers in it.

    Scores, intervals, verdicts and the report are computed again, without any model. Exits 1 if
    something differs, and names the files.

    Example: `tomrl verify mini-results --signer publisher.pub`
    """
    from pipeline.ops.share import bucket, bundle
    from pipeline.ops.share.verify import differences

    console = Terminal()
    with bucket.fetched(source) as folder:
        files, signed_by = bundle.files_of(folder), bundle.signer(folder)
        console.say(f"signed by {signed_by or 'nobody'}")
        if signer is not None and bundle.fingerprint(signer) != signed_by:
            raise UserError(f"{source}: it is not signed, or was not made by the key of {signer}")
        found = dict(bundle.changed_files(files, folder))
        if not found:
            console.say(f"{counted(len(files), 'file')} as they were published")
            found = differences(folder)
        for name, text in found.items():
            console.say(f"{name}: {text}")
        if found:
            console.say(f"differs: {counted(len(found), 'difference')}")
            raise typer.Exit(1)
    console.say("scores, intervals, verdicts and report follow from the answers")
