"""Brings weights to a bucket and back through a proxy that fails, and looks for what is altered.

``python -m tests.chaos.transfers --transfers 100`` prints the figures. The bucket is that of moto,
an emulator of S3 on loopback. DVC pushes a folder from one checkout and pulls it into another, as
often as it takes, as people do; then the two are compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pipeline.formats.files import folder_digests
from tests.sharing.emulator import BUCKET, KEYS, emulator
from tests.sharing.faults import faulty

_ATTEMPTS = 30
_REMOTE = f"""[core]
    analytics = false
    no_scm = true
    remote = lab
[cache]
    type = "hardlink,symlink"
[remote "lab"]
    url = s3://{BUCKET}/dvc
    endpointurl = {{url}}
    verify = true
"""


@dataclass
class Tally:
    """What happened.

    Attributes:
        transfers: Folders that were brought to the bucket and back.
        repeated: Pushes and pulls that ended with an error, and were repeated.
        corrupt: Folders that arrived otherwise than they were.
        failed: Folders that did not arrive, however often it was tried.
    """

    transfers: int = 0
    repeated: int = 0
    corrupt: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(folder: Path, transfers: int, share: float, seed: int) -> tuple[Tally, str]:
    """Make transfers; return what happened to folders, and to requests in words."""
    tally, random = Tally(), Random(seed)
    with emulator() as url, faulty(url, share, seed) as proxy:
        os.environ.update(KEYS)
        shared = random.randbytes(9000)
        while tally.transfers < transfers:
            tally.transfers += 1
            here, there = (_checkout(folder / name, proxy.url) for name in ("here", "there"))
            made = _weights(here / "weights", random, shared)
            _dvc(here, "add", "-q", "weights")
            shutil.copy(here / "weights.dvc", there)
            name = f"transfer {tally.transfers}"
            if not (_repeated(tally, here, "push") and _repeated(tally, there, "pull", "--force")):
                tally.failed.append(name)
            elif folder_digests(there / "weights") != made:
                tally.corrupt.append(name)
            shutil.rmtree(here)
            shutil.rmtree(there)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(proxy.happened.items()))
        return tally, f"{proxy.requests} requests with {proxy.happened.total()} faults ({kinds})"


def _checkout(folder: Path, url: str) -> Path:
    """Make a folder with DVC in it, whose remote is behind the proxy."""
    (folder / ".dvc").mkdir(parents=True)
    settings = _REMOTE.format(url=url)
    (folder / ".dvc" / "config").write_text(settings, encoding="utf-8")
    return folder


def _weights(folder: Path, random: Random, shared: bytes) -> dict[str, str]:
    """Write models that share a file, and return the digests of all files."""
    for name in ("best", "last"):
        (folder / name).mkdir(parents=True)
        (folder / name / "tokenizer.json").write_bytes(shared)
        (folder / name / "model.safetensors").write_bytes(random.randbytes(30000))
    return folder_digests(folder)


def _repeated(tally: Tally, folder: Path, *command: str) -> bool:
    """Run a command of DVC until it succeeds; return whether it did."""
    for _ in range(_ATTEMPTS):
        if _dvc(folder, *command, "-q") == 0:
            return True
        tally.repeated += 1
    return False


def _dvc(folder: Path, *command: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *command], cwd=folder, capture_output=True, check=False
    )
    return done.returncode


def main() -> None:
    """Print the figures; exit 1 if a folder was altered or did not arrive."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.transfers", description=__doc__)
    parser.add_argument("--transfers", type=int, default=100)
    parser.add_argument("--share", type=float, default=0.3, help="of requests that go wrong")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        tally, requests = run(Path(folder), options.transfers, options.share, options.seed)
    for fault in [*tally.corrupt, *tally.failed]:
        print(fault)
    print(f"{requests}; {tally.repeated} commands were repeated")
    corrupt, failed = len(tally.corrupt), len(tally.failed)
    print(f"{tally.transfers} transfers: {corrupt} corrupt, {failed} failed")
    sys.exit(bool(corrupt or failed))


if __name__ == "__main__":
    main()
