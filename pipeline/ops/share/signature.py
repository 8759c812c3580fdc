"""Signatures by the keys that people have for SSH and git: ``ssh-keygen -Y``."""

from __future__ import annotations

import base64
import subprocess
import textwrap
from pathlib import Path
from tempfile import NamedTemporaryFile

from pipeline.base.errors import UserError

_NAMESPACE = "tomrl"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"


def sign(path: Path, key: Path) -> None:
    """Sign a file; the signature is beside it, with ``.sig`` after its name.

    Raises:
        UserError: If the key cannot be used.
    """
    done = _ssh_keygen("sign", "-q", "-f", str(key), str(path))
    if done.returncode:
        raise UserError(f"--key {key}: cannot sign ({_said(done)}); name a private key of SSH")


def signer(path: Path, signature: Path) -> str:
    """The fingerprint of the key that has signed a file.

    Raises:
        UserError: If the signature is not of this file, or not as it was written.
    """
    text = signature.read_bytes().decode("utf-8", "replace")
    done = _ssh_keygen("check-novalidate", "-s", str(signature), reads=path)
    if done.returncode or text != _armour(text):
        raise UserError(f"{signature} is not a signature of {path.name}: {_said(done)}")
    return done.stdout.split()[-1]


def check_signer(path: Path, signature: Path, public_key: Path) -> None:
    """Hold a signature against the key that is expected to have made it.

    Raises:
        UserError: If it has not.
    """
    try:
        key = public_key.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        raise UserError(f"--signer {public_key}: cannot be read; name a public key") from None
    with NamedTemporaryFile("w", encoding="utf-8") as allowed:
        allowed.write(f"publisher {key}\n")
        allowed.flush()
        options = ("-f", allowed.name, "-I", "publisher", "-s", str(signature))
        done = _ssh_keygen("verify", *options, reads=path)
    if done.returncode:
        raise UserError(f"{signature} was not made by the key of {public_key}: {_said(done)}")


def _ssh_keygen(
    what: str, *options: str, reads: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = ["ssh-keygen", "-Y", what, "-n", _NAMESPACE, *options]
    data = "" if reads is None else reads.read_text(encoding="utf-8")
    try:
        return subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("there is no ssh-keygen; install OpenSSH's client") from None


def _armour(text: str) -> str:
    """A signature as ssh-keygen writes it: decoders ignore bits and lines that it never has."""
    try:
        data = base64.b64decode("".join(text.splitlines()[1:-1]), validate=True)
    except ValueError:
        return ""
    lines = textwrap.wrap(base64.b64encode(data).decode(), 70)
    return "\n".join([_BEGIN, *lines, _END, ""])


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr or done.stdout).strip().replace("\n", "; ") or "it is damaged"
