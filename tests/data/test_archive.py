"""Archives that try to get out, or to fill the disk."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.data.archive import Limits, find_member, unpack

ESCAPES = ["../out", "a/../../out", "/etc/out", "C:\\out", "a\\..\\out"]


def tar_with(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as pack:
        for info, content in members:
            info.size = len(content)
            pack.addfile(info, io.BytesIO(content))
    return path


def zip_with(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, content in members:
            pack.writestr(name, content)
    return path


def make(kind: str, folder: Path, *members: tuple[str, bytes]) -> Path:
    path = folder / f"pack.{kind}"
    if kind == "zip":
        return zip_with(path, *members)
    return tar_with(path, *((tarfile.TarInfo(name), content) for name, content in members))


both = pytest.mark.parametrize("kind", ["zip", "tar.gz"])


@both
def test_unpacks(tmp_path: Path, kind: str) -> None:
    archive = make(kind, tmp_path, ("top.txt", b"1"), ("in/side/deep.txt", b"2" * 3_000_000))
    files = unpack(archive, tmp_path / "out")
    assert [str(file.relative_to(tmp_path / "out")) for file in files] == [
        "top.txt",
        "in/side/deep.txt",
    ]
    assert files[1].stat().st_size == 3_000_000
    assert find_member(files, "side/deep.txt") == files[1]
    assert find_member(files, "eep.txt") is None


@both
@pytest.mark.parametrize("name", ESCAPES)
def test_path_escape(tmp_path: Path, kind: str, name: str) -> None:
    with pytest.raises(UserError, match="leaves the folder"):
        unpack(make(kind, tmp_path, (name, b"x")), tmp_path / "to" / "out")
    assert not (tmp_path / "to" / "out").exists()
    assert not list((tmp_path / "to").iterdir())


@both
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path, kind: str) -> None:
    with pytest.raises(UserError, match="no name of its own"):
        unpack(make(kind, tmp_path, ("a", b"1"), ("A", b"2")), tmp_path / "out")


@both
def test_limits(tmp_path: Path, kind: str) -> None:
    archive = make(kind, tmp_path, ("a", bytes(5_000_000)), ("b", b""), ("c", b""))
    with pytest.raises(UserError, match=r"more than [\d,]+ bytes unpacked"):
        unpack(archive, tmp_path / "out", Limits(bytes=1000, files=10))
    with pytest.raises(UserError, match="more than 2 files"):
        unpack(archive, tmp_path / "out", Limits(files=2))


def test_bomb_in_tar_headers(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 50_000_000
    with gzip.open(path, "wb") as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT) + bytes(50_000_000))
    with pytest.raises(UserError, match="bytes unpacked"):
        unpack(path, tmp_path / "out", Limits(bytes=1_000_000, files=10))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_in_tar(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("a")
    info.type, info.linkname = kind, "/etc/passwd"
    with pytest.raises(UserError, match="link or a device"):
        unpack(tar_with(tmp_path / "a.tar.gz", (info, b"")), tmp_path / "out")


def test_link_in_zip(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a")
    info.external_attr = 0o120777 << 16
    with pytest.raises(UserError, match="it is a link"):
        unpack(zip_with(tmp_path / "a.zip", (info, b"/etc/passwd")), tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04junk", b"\x1f\x8bjunk"])
def test_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be unpacked"):
        unpack(path, tmp_path / "out")


@both
def test_cut_off(tmp_path: Path, kind: str) -> None:
    archive = make(kind, tmp_path, ("a", bytes(range(256)) * 500))
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(UserError, match="cannot be unpacked"):
        unpack(archive, tmp_path / "out")
