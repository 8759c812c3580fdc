"""Bundles in buckets of S3: what is there already, by its digest, is not sent again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.formats.files import file_digest
from pipeline.ops.share.bundle import NAME, SIGNATURE, files_of

SCHEME = "s3://"


def parts_of(address: str) -> tuple[str, str]:
    """The bucket and the prefix, with a slash at its end, that ``s3://BUCKET/PREFIX`` names."""
    bucket, _, prefix = address.removeprefix(SCHEME).partition("/")
    if not bucket or not prefix.strip("/"):
        raise UserError(f"{address}: names no folder in a bucket; allowed: s3://BUCKET/PREFIX")
    return bucket, f"{prefix.strip('/')}/"


def reach(address: str) -> None:
    """Raise UserError where a bucket is not to be had."""
    with _reaching(address):
        pass


def send(folder: Path, address: str) -> int:
    """Send a bundle, where no other lies, its list last; return how many files were sent."""
    files, (_, prefix), sent = files_of(folder), parts_of(address), 0
    for name in (SIGNATURE, NAME):
        if (folder / name).exists():
            files[name] = file_digest(folder / name)
    with _reaching(address) as (bucket, there), ProgressReport(address, len(files)) as progress:
        known = {name: each.Object().metadata.get("sha256") for name, each in there.items()}
        if known.get(NAME, files[NAME]) != files[NAME]:
            raise UserError(f"{address} holds another bundle; name another place with --to")
        for done, (name, digest) in enumerate(files.items(), 1):
            if known.get(name) != digest:
                more = {"Metadata": {"sha256": digest}}
                bucket.upload_file(str(folder / name), prefix + name, ExtraArgs=more)
                sent += 1
            progress.at(done)
    return sent


@contextmanager
def fetched(source: str) -> Iterator[Path]:
    """Yield the folder of a bundle; of one in a bucket a copy, for as long as it is needed."""
    if not source.startswith(SCHEME):
        yield Path(source)
        return
    with TemporaryDirectory(prefix="tomrl-bundle-") as own:
        folder = Path(own).resolve()
        with _reaching(source) as (bucket, there):
            if NAME not in there:
                raise UserError(f"{source}: there is no bundle here: no {NAME}")
            bucket.download_file(there[NAME].key, str(folder / NAME))
            # What else lies there, such as a placeholder of a folder, is none of the bundle's.
            for name in sorted({SIGNATURE, *files_of(folder)} & there.keys()):
                target = folder / name
                if not target.resolve().is_relative_to(folder):
                    raise UserError(f"{source}: {name!r} is not a file of a bundle")
                target.parent.mkdir(parents=True, exist_ok=True)
                bucket.download_file(there[name].key, str(target))
        yield folder


@contextmanager
def _reaching(address: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a bucket and its objects by name; its errors are said in a sentence."""
    try:
        import boto3
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
    except ImportError:
        raise UserError("buckets need boto3; install it with: pip install boto3") from None
    name, prefix = parts_of(address)
    try:  # server and keys come from the environment, as of every tool for S3
        bucket = boto3.resource("s3").Bucket(name)
        found = bucket.objects.filter(Prefix=prefix)
        yield bucket, {each.key.removeprefix(prefix): each for each in found}
    except NoCredentialsError:
        how = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise UserError(f"{address}: there are no keys; {how}") from None
    except (BotoCoreError, Boto3Error, ClientError) as error:
        raise UserError(f"{address}: {error}; the same command goes on where it was") from None
