"""A remote of the artifact store behind the S3 API, through s3fs, as DVC's own remotes are.

s3fs takes credentials from the usual AWS chain and the server from ``AWS_ENDPOINT_URL``. What is
kept is small enough (``pipeline.ops.store.transfer``) that each thing is one request. The checksums
of S3 are compared by its client; on top of them, what arrived is compared with what was sent, here
as there, since not every server of the S3 API looks at checksums.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlsplit

from botocore import exceptions
from s3fs import S3FileSystem

from pipeline.base.errors import TransientError, UserError
from pipeline.ops.store.remote import Altered, Entry, IsWhole, Missing

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds; it doubles with each attempt
_MOST_SECONDS_OFF = 900  # more than that S3 refuses
_CONNECTION = {
    "connect_timeout": 5,
    "read_timeout": 60,
    "retries": {"total_max_attempts": 1},  # _ask asks again, as s3fs would
    "max_pool_connections": 16,
}
_WITHOUT_CREDENTIALS = (
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.CredentialRetrievalError,
    exceptions.ProfileNotFound,
    exceptions.SSOError,
)
_OUT_OF_REACH = (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError)
_CHAIN = (
    "Name them in the usual AWS way: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE and "
    "~/.aws, or the role of the machine"
)

Answer = TypeVar("Answer")


class BucketRemote:
    """What is in a bucket under a prefix."""

    def __init__(self, address: str, attempts: int = 8) -> None:
        self.address = address
        self._attempts = attempts
        self._root = address.removeprefix("s3://")
        self._files = S3FileSystem(
            config_kwargs=_CONNECTION,
            max_concurrency=1,  # one request for each thing
            use_listings_cache=False,  # others write there too
            skip_instance_cache=True,
        )
        self._files.retries = 1

    def exists(self, key: str) -> bool:
        """Return whether there is something under a key."""
        bucket, _, prefix = self._root.partition("/")
        place = f"{prefix}/{key}".lstrip("/")
        try:
            self._ask(lambda: self._files.call_s3("head_object", Bucket=bucket, Key=place))
        except FileNotFoundError:
            return False
        return True

    def get(self, key: str, is_whole: IsWhole) -> bytes:
        """Return what is under a key."""

        altered = Altered(f"{key} in {self.address} is altered")

        def read() -> bytes:
            try:
                content: bytes = self._files.cat_file(f"{self._root}/{key}")
            except exceptions.FlexibleChecksumError:
                raise altered from None
            if not is_whole(content):
                raise altered
            return content

        try:
            return self._ask(read)
        except FileNotFoundError:
            raise Missing(f"{self.address} has no {key}") from None

    def put(self, key: str, content: bytes) -> None:
        """Keep bytes under a key."""
        md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()

        def write() -> None:
            place = f"{self._root}/{key}"
            reply = self._files.pipe_file(place, content)
            # The tag is the MD5 of what arrived, unless the bucket has a key of its own.
            is_same = str(reply.get("ETag")).strip('"') == md5
            if not is_same and self._files.cat_file(place) != content:
                raise Altered(f"{key} does not arrive as it is sent to {self.address}")

        self._ask(write)

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield what is in a folder."""
        try:
            found = self._ask(lambda: self._files.find(f"{self._root}/{folder}", detail=True))
        except FileNotFoundError:
            return
        for path, about in found.items():
            key = path.removeprefix(f"{self._root}/")
            yield Entry(key, about["size"], about["LastModified"].timestamp())

    def delete(self, key: str) -> None:
        """Remove what is under a key, if there is anything."""
        self._ask(lambda: self._files.rm_file(f"{self._root}/{key}"))

    def now(self) -> float:
        """Return the time of the server."""
        bucket, _, prefix = self._root.partition("/")

        def ask() -> str:
            reply = self._files.call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=1)
            return str(reply["ResponseMetadata"]["HTTPHeaders"]["date"])

        return parsedate_to_datetime(self._ask(ask)).timestamp()

    def _ask(self, request: Callable[[], Answer]) -> Answer:
        """Make a request again and again, until it is answered or cannot be.

        Raises:
            FileNotFoundError: If what it is about is not there, but the bucket is.
        """
        wait = _FIRST_WAIT
        for attempt in range(1, self._attempts + 1):
            try:
                return request()
            except Exception as error:  # what wrong bytes become in a client is not to be foreseen
                self._raise_if_final(error)
                if attempt == self._attempts:
                    raise self._given_up(error) from error
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        raise AssertionError("no attempt was made")

    def _raise_if_final(self, error: Exception) -> None:
        if isinstance(error, FileNotFoundError):
            if _code(error) == "NoSuchBucket":
                raise UserError(
                    f"{self.address}: {_server()} has no such bucket; make it, or name another"
                ) from None
            raise error
        if isinstance(error, PermissionError):
            if (seconds := _seconds_off(error)) > _MOST_SECONDS_OFF:
                raise UserError(
                    f"{self.address}: {_server()} refuses what this machine signs, as its clock "
                    f"is {seconds / 60:.0f} minutes off; set it (timedatectl set-ntp true), and "
                    "run this again"
                ) from None
            raise UserError(
                f"{self.address}: {_server()} refuses these credentials ({_code(error)}); they "
                f"must be known there, and may list, read, write and delete. {_CHAIN}"
            ) from None
        if isinstance(error, _WITHOUT_CREDENTIALS):
            raise UserError(f"{self.address}: there are no credentials. {_CHAIN}") from None

    def _given_up(self, error: Exception) -> UserError:
        if isinstance(error, Altered):
            return error
        if isinstance(error, _OUT_OF_REACH):
            return TransientError(
                f"{self.address}: {_server()} cannot be reached. Is it up, and is AWS_ENDPOINT_URL "
                "right? Run it again then: it goes on where it was"
            )
        return TransientError(
            f"{self.address}: {_server()} failed {self._attempts} times, at last with "
            f"{_code(error)}. Run it again later: it goes on where it was"
        )


def _server() -> str:
    """Return the server without what may be secret in its address."""
    named = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not named:
        return "S3"
    parts = urlsplit(named)
    return f"the server {parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _seconds_off(error: BaseException) -> float:
    """Return by how much the clock of this machine and that of a server that answered differ.

    An answer to HEAD has no text, and so not the code `RequestTimeTooSkewed` either.
    """
    answer = getattr(error.__cause__, "response", None) or {}
    said = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    return abs(parsedate_to_datetime(said).timestamp() - time.time()) if said else 0.0


def _code(error: BaseException) -> str:
    """Return what a server calls an error, else its kind; never its text, which may quote keys."""
    answer = getattr(error.__cause__, "response", None)
    code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else None
    return str(code or type(error).__name__)[:100]
