"""Bundles in buckets of S3: what is there already, by its digest, is not sent again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.base.errors import TransientError, UserError
from pipeline.formats.files import file_digest
from pipeline.ops.share.bundle import NAME, SIGNATURE, Bundle

SCHEME = "s3://"
_REFUSALS = ("403", "404", "AccessDenied", "NoSuchBucket", "InvalidAccessKeyId")


@dataclass(frozen=True)
class BucketPlace:
    """A prefix in a bucket; its address and keys come from the environment, as of every S3 tool."""

    bucket: str
    prefix: str

    @classmethod
    def of(cls, address: str) -> BucketPlace:
        """The place that ``s3://BUCKET/PREFIX`` names.

        Raises:
            UserError: If it names none.
        """
        bucket, _, prefix = address.removeprefix(SCHEME).partition("/")
        if not bucket or not prefix.strip("/"):
            raise UserError(f"{address}: names no folder in a bucket; allowed: s3://BUCKET/PREFIX")
        return cls(bucket, prefix.strip("/"))

    def key(self, name: str) -> str:
        """The key of a file."""
        return f"{self.prefix}/{name}"

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.prefix}"


def send(folder: Path, place: BucketPlace, report: Callable[[int], None]) -> int:
    """Send a bundle, its list last; return how many files were sent.

    Raises:
        UserError: If another bundle lies there, or the bucket refuses.
    """
    own = [name for name in (SIGNATURE, NAME) if (folder / name).exists()]
    sent, listed = 0, file_digest(folder / NAME)
    with _reaching(place) as bucket:
        there = {
            name: each.Object().metadata.get("sha256", "")
            for name, each in _objects(bucket, place).items()
        }
        if there.get(NAME, listed) != listed:
            raise UserError(f"{place} holds another bundle; name another place with --to")
        for done, name in enumerate([*Bundle.read_in(folder).files, *own], 1):
            digest = file_digest(folder / name)
            if there.get(name) != digest:
                known = {"Metadata": {"sha256": digest}}
                bucket.upload_file(str(folder / name), place.key(name), ExtraArgs=known)
                sent += 1
            report(done)
    return sent


@contextmanager
def fetched(place: BucketPlace) -> Iterator[Path]:
    """Yield a folder with what lies at a place, for as long as it is needed.

    Raises:
        UserError: If nothing lies there, or the bucket refuses.
    """
    with TemporaryDirectory(prefix="tomrl-bundle-") as own:
        folder = Path(own).resolve()
        with _reaching(place) as bucket:
            names = _objects(bucket, place)
            if NAME not in names:
                raise UserError(f"{place}: there is no bundle here: no {NAME}")
            for name in names:
                target = folder / name
                if not target.resolve().is_relative_to(folder):
                    raise UserError(f"{place}: {name!r} is not a file of a bundle")
                target.parent.mkdir(parents=True, exist_ok=True)
                bucket.download_file(place.key(name), str(target))
        yield folder


def _objects(bucket: Any, place: BucketPlace) -> dict[str, Any]:
    prefix = place.key("")
    found = bucket.objects.filter(Prefix=prefix)
    return {each.key.removeprefix(prefix): each for each in found}


@contextmanager
def _reaching(place: BucketPlace) -> Iterator[Any]:
    """Yield a bucket, whose errors are said in a sentence."""
    try:
        import boto3
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
    except ImportError:
        raise UserError("buckets need boto3; install it with: pip install boto3") from None
    again = "the same command goes on where it was"
    try:
        yield boto3.resource("s3").Bucket(place.bucket)
    except NoCredentialsError:
        raise UserError(
            f"{place}: there are no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ) from None
    except ClientError as error:
        kind = UserError if error.response["Error"]["Code"] in _REFUSALS else TransientError
        raise kind(f"{place}: {error}; {again}") from None
    except (BotoCoreError, Boto3Error) as error:
        raise TransientError(f"{place}: {error}; {again}") from None
