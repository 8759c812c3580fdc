"""``tomrl publish`` and ``tomrl verify``: results that others can check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.cli.terminal import Terminal
from pipeline.config.expand import expand
from pipeline.config.params_file import read_params
from pipeline.config.study_files import find_study
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root

_BUCKET = "s3://"


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
    from pipeline.analysis.export.folder import check_folder, exporting
    from pipeline.ops.share.bucket import BucketPlace, send
    from pipeline.ops.share.bundle import NAME
    from pipeline.ops.share.publish import write_bundle
    from pipeline.ops.share.signature import sign
    from pipeline.ops.share.verify import recompute

    place = BucketPlace.of(to) if to.startswith(_BUCKET) else None
    root = find_root()
    in_use = read_params(root / "params.yaml")
    params = in_use if in_use.study.name == study else expand(find_study(root, study))
    with TemporaryDirectory(prefix="tomrl-publish-") as own:
        target = Path(to) if place is None else Path(own) / "bundle"
        check_folder(target, force=None)
        note = f"results of the study {study}; check them with: tomrl verify FOLDER"
        with exporting(target, note) as folder:
            bundle = write_bundle(params, root, folder)
            for name, text in recompute(bundle, folder).items():
                raise UserError(
                    f"{name}: {text}: results are not what the code here makes "
                    f"of the answers; run: tomrl study use {study} && tomrl repro"
                )
            if key is not None:
                sign(folder / NAME, key)
        if place is not None:
            with ProgressReport(f"send to {place}", len(bundle.files)) as progress:
                sent = send(target, place, progress.at)
            Terminal().say(f"{counted(sent, 'file')} sent to {place}; the others were there")
    Terminal().say(f"{counted(len(bundle.files), 'file')} in {to}; check them: tomrl verify {to}")


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
    from pipeline.ops.share.bundle import NAME, SIGNATURE, Bundle, changed_files
    from pipeline.ops.share.signature import check_signer
    from pipeline.ops.share.signature import signer as fingerprint
    from pipeline.ops.share.verify import recompute

    console = Terminal()
    with _folder(source) as folder:
        bundle, signature = Bundle.read_in(folder), folder / SIGNATURE
        if signature.exists():
            console.say(f"signed by {fingerprint(folder / NAME, signature)}")
        if signer is not None:
            check_signer(folder / NAME, signature, signer)
        differences = [f"{name}: {text}" for name, text in changed_files(bundle, folder)]
        if not differences:
            console.say(f"{counted(len(bundle.files), 'file')} as they were published")
            found = recompute(bundle, folder).items()
            differences = [f"{name}: {text}" for name, text in found]
        if differences:
            for each in differences:
                console.say(each)
            console.say(f"differs: {counted(len(differences), 'difference')}")
            raise typer.Exit(1)
    console.say(f"{bundle.study}: scores, intervals, verdicts and report follow from the answers")


@contextmanager
def _folder(source: str) -> Iterator[Path]:
    from pipeline.ops.share.bucket import BucketPlace, fetched

    if source.startswith(_BUCKET):
        with fetched(BucketPlace.of(source)) as folder:
            yield folder
    else:
        yield Path(source)
