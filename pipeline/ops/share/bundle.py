"""A bundle: the results of a study in a folder, with all that checking them takes, but no weights.

Its files lie where a checkout has them. ``SHA256SUMS`` lists them as ``sha256sum`` does, and holds
a digest of itself, so that no byte can change unnoticed. A signature of it covers them all, by a
key that people have for SSH and git: ``ssh-keygen -Y``.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.analysis.runs import facts
from pipeline.base.errors import UserError
from pipeline.base.git import checked_out
from pipeline.config.params import Params
from pipeline.formats.files import digest_of, file_digest, folder_digests, write_json, write_text
from pipeline.formats.provenance import GRADING, MODEL, installed
from pipeline.ops.mirror.ran import stages_that_ran
from pipeline.ops.share.licences import licences_of_sets
from pipeline.stages.expanded import EVERYTHING, FOLDER

NAME, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
_VERSION = "# tomrl bundle 1"
_ARMOUR = "-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n"
_COMPUTING = ("numpy", "pandas", "scipy", "scikit-learn", "pyarrow", "matplotlib")


def write_bundle(params: Params, root: Path, folder: Path) -> None:
    """Write the bundle of a study's results, which may be passed on, into an empty folder."""
    quoted, study = licences_of_sets(params, to_train=False), params.study
    for name in _parts(params):
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, copy_function=shutil.copyfile)
        elif (root / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)
    write_json(folder / FOLDER / EVERYTHING, params.model_dump(mode="json"))
    libraries = installed("tomrl", *MODEL, *GRADING, *_COMPUTING)
    ran = stages_that_ran(params, root)
    known = {
        "study": f"{study.name}: {study.title}",
        "licences": quoted,
        **(facts(ran) if ran else {}),
        "published at": checked_out(root),
        "published with": ", ".join(map(" ".join, libraries.items())),
    }
    write_json(folder / "provenance.json", known)
    write_text(folder / NAME, listed(folder_digests(folder)))


def _parts(params: Params) -> Iterator[str]:
    """Yield the files and folders of a checkout that belong to a bundle; some need not be there."""
    name = params.study.name
    yield from ("code", "dvc.lock", "LICENSE", f"studies/{name}.yaml")
    yield from (f"{found}/{name}" for found in ("reports", "results"))
    yield from (f"studies/{part}/{name}.yaml" for part in ("published", "records"))
    yield from (f"data/{name}/{part}" for part in ("combos", "sources", "suite"))
    yield from (f"runs/{name}/{part}" for part in ("audit", *params.cells))
    yield from (f"runs/{name}/base/{key}" for key in params.base)


def listed(files: Mapping[str, str]) -> str:
    lines = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    return f"{_VERSION} {digest_of(lines)}\n{lines}"


def files_of(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a bundle, as its list has them.

    A list that is missing, changed, or of another version is a UserError.
    """
    path = folder / NAME
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); name a folder that tomrl publish wrote"
        ) from None
    head, _, lines = text.partition("\n")
    rows = (line.partition("  ") for line in lines.split("\n")[:-1])
    files = {name: digest for digest, _, name in rows}
    if text == listed(files):
        return files
    why = "is not as it was published: its own digest differs"
    if head.rpartition(" ")[0] != _VERSION:
        why = f"begins with {head!r:.40}; this tomrl reads {_VERSION!r}; verify it with its own"
    raise UserError(f"{path} {why}")


def changed_files(files: Mapping[str, str], folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every file of a bundle that is not as it was published, and what is wrong with it."""
    paths = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    there = {path.relative_to(folder).as_posix(): path for path in paths}
    for name in sorted({*files, *there} - {NAME, SIGNATURE}):
        if name not in there:
            yield name, "is missing"
        elif name not in files:
            yield name, "is not in the list of files"
        elif there[name].is_symlink() or not there[name].is_file():
            yield name, "is not a regular file"
        elif file_digest(there[name]) != files[name]:
            yield name, "is not as it was published: its sha256 differs"


def sign(folder: Path, key: Path) -> None:
    """Sign the list of a bundle; the signature is beside it."""
    options = ("-Y", "sign", "-n", "tomrl", "-q", "-f", str(key), str(folder / NAME))
    _ssh_keygen(f"--key {key}: cannot sign; name a private key of SSH", *options)


def signer(folder: Path) -> str | None:
    """The fingerprint of the key that has signed a bundle, None if none has.

    A signature that is not of its list, or not as it was written, is a UserError.
    """
    signature, text = folder / SIGNATURE, (folder / NAME).read_text(encoding="utf-8")
    if not signature.exists():
        return None
    wrong = f"{signature} is not a signature of {NAME}"
    options = ("-Y", "check-novalidate", "-n", "tomrl", "-s", str(signature))
    said = _ssh_keygen(wrong, *options, data=text)
    if not _is_canonical(signature.read_bytes()):
        raise UserError(f"{wrong}: it is damaged")
    return said.split()[-1]


def fingerprint(key: Path) -> str:
    wrong = f"--signer {key}: cannot be read; name a public key"
    return _ssh_keygen(wrong, "-l", "-f", str(key)).split()[1]


def _ssh_keygen(wrong: str, *options: str, data: str = "") -> str:
    """What ssh-keygen prints; ``wrong`` says what it means that it fails."""
    command = ("ssh-keygen", *options)
    try:
        done = subprocess.run(command, input=data, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise UserError("there is no ssh-keygen; install OpenSSH's client") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip().replace("\n", "; ")
        raise UserError(f"{wrong} ({said})") from None
    return done.stdout


def _is_canonical(signature: bytes) -> bool:
    """Whether ssh-keygen has written it so: readers ignore bits and lines that it never has."""
    try:
        data = base64.b64decode(b"".join(signature.splitlines()[1:-1]), validate=True)
    except ValueError:
        return False
    lines = textwrap.wrap(base64.b64encode(data).decode(), 70)
    return signature == _ARMOUR.format("\n".join(lines)).encode()
