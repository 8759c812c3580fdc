"""Brings objects to a bucket and back through a proxy that fails, and looks for what is altered.

``python -m tests.chaos.transfers --transfers 1000`` prints the figures. The bucket is that of moto,
an emulator of S3 on loopback. Each object is pushed, read in the bucket past the proxy, pulled into
an empty store, and compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pipeline.base.errors import UserError
from pipeline.formats.store import LocalStore
from pipeline.ops.store.bucket import BucketRemote
from pipeline.ops.store.listing import Listing, sha256_of
from pipeline.ops.store.transfer import listing_key, part_key, pull, push, read_listing
from tests.store.emulator import BUCKET, KEYS, client, emulator
from tests.store.faults import faulty

_PART_BYTES = 4096


@dataclass
class Tally:
    """What happened.

    Attributes:
        transfers: Pushes and pulls that were begun.
        corrupt: Objects that were altered in the bucket or the store.
        failed: Transfers that ended with an error.
    """

    transfers: int = 0
    corrupt: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(folder: Path, transfers: int, share: float, seed: int) -> tuple[Tally, str]:
    """Make transfers; return what happened to objects, and to requests in words."""
    tally, random = Tally(), Random(seed)
    with emulator() as url, faulty(url, share, seed) as proxy:
        os.environ.update(KEYS, AWS_ENDPOINT_URL=proxy.url)
        remote, shared = BucketRemote(f"s3://{BUCKET}/tom", attempts=12), random.randbytes(9000)
        while tally.transfers < transfers:
            home = LocalStore(folder / "here")
            digest = home.put(_object(folder / "made", random, shared))
            with _counted(tally):
                push(home, remote, digest, _ignore, part_bytes=_PART_BYTES)
            if not _is_whole_in_bucket(url, digest):
                tally.corrupt.append(f"{digest[:12]} in the bucket")
            away = LocalStore(folder / "there")
            with _counted(tally):
                pull(away, remote, digest, read_listing(remote, digest), _ignore)
            if not away.verify(digest):
                tally.corrupt.append(f"{digest[:12]} in the store")
            for name in ("here", "made", "there"):
                shutil.rmtree(folder / name, ignore_errors=True)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(proxy.happened.items()))
        return tally, f"{proxy.requests} requests with {proxy.happened.total()} faults ({kinds})"


def _object(folder: Path, random: Random, shared: bytes) -> Path:
    """Write an object: a file that all share, an empty one, and weights of several parts."""
    (folder / "deep").mkdir(parents=True)
    (folder / "tokenizer.json").write_bytes(shared)
    (folder / "deep" / "empty").write_bytes(b"")
    (folder / "model.safetensors").write_bytes(random.randbytes(random.randrange(1, 30000)))
    return folder


@contextmanager
def _counted(tally: Tally) -> Iterator[None]:
    tally.transfers += 1
    try:
        yield
    except UserError as error:
        tally.failed.append(str(error))


def _ignore(done: int) -> None:
    pass


def _is_whole_in_bucket(url: str, digest: str) -> bool:
    """Return whether the bucket has what was put there, asked past the proxy."""
    bucket = client(url)

    def read(key: str) -> bytes:
        content: bytes = bucket.get_object(Bucket=BUCKET, Key=f"tom/{key}")["Body"].read()
        return content

    listing = Listing.model_validate_json(read(listing_key(digest)))
    return listing.digest == digest and all(
        sha256_of(read(part_key(sha256))) == sha256 for _, _, sha256 in listing.parts
    )


def main() -> None:
    """Print the figures; exit 1 if an object was altered or a transfer failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.transfers", description=__doc__)
    parser.add_argument("--transfers", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.3, help="of requests that go wrong")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        tally, requests = run(Path(folder), options.transfers, options.share, options.seed)
    for fault in [*tally.corrupt, *tally.failed]:
        print(fault)
    print(requests)
    corrupt, failed = len(tally.corrupt), len(tally.failed)
    print(f"{tally.transfers} transfers: {corrupt} corrupt objects, {failed} failed")
    sys.exit(bool(corrupt or failed))


if __name__ == "__main__":
    main()
