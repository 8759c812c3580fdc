"""Acquiring files from a mirror and from a server that misbehaves in every way it can."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.data import acquire as module
from pipeline.data.acquire import UNAVAILABLE, acquire
from pipeline.data.sources import SOURCES, Source, SourceFile
from pipeline.formats.download import Patience
from tests.serving import Quiet, quiet_server

BODY = bytes(range(256)) * 1200
CUT = 100_000


class Upstream:
    """A local server whose answers are scripted: one behaviour per request, the last one stays."""

    def __init__(self) -> None:
        self.behaviours: list[str] = ["whole"]
        self.ranges: list[str | None] = []
        self.release = threading.Event()
        self.server = quiet_server(self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/file.bin"
        self.body = BODY
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[Quiet]:
        upstream = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                upstream.reply(self)

        return Handler

    def reply(self, request: Quiet) -> None:
        self.ranges.append(request.headers["Range"])
        behaviour = self.behaviours[0]
        if len(self.behaviours) > 1:
            self.behaviours.pop(0)
        if behaviour.isdigit():
            request.send_error(int(behaviour))
        elif behaviour == "redirect":
            request.send_response(302)
            request.send_header("Location", self.url + "?elsewhere")
            request.end_headers()
        else:
            self._send(request, behaviour)

    def _send(self, request: Quiet, behaviour: str) -> None:
        start = 0
        asked = request.headers["Range"]
        if asked and behaviour != "ignore range":
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        body = {"corrupt": self.body[::-1], "endless": self.body * 2}.get(behaviour, self.body)
        request.send_response(206 if start else 200)
        if start:
            said = start + 1 if behaviour == "other range" else start
            request.send_header("Content-Range", f"bytes {said}-{len(body) - 1}/{len(body)}")
        if behaviour != "no length":
            request.send_header("Content-Length", str(len(body) - start))
        request.end_headers()
        stops = behaviour in ("truncate", "stall")
        request.wfile.write(body[start : start + CUT if stops else None])
        request.wfile.flush()
        if behaviour == "stall":
            self.release.wait(5)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def source(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Source:
    file = SourceFile(
        name="file.bin",
        url=upstream.url,
        sha256=hashlib.sha256(BODY).hexdigest(),
        bytes=len(BODY),
        rows=None,
        unit="rows",
        licence="MIT",
        non_commercial=False,
        evaluation_only=False,
    )
    return use(Source("demo", "Demo", (file,)), monkeypatch)


def use(source: Source, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.setattr(module, "get_source", lambda name: source)
    return source


class Sleeps(list[float]):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def fetch(
    target: Path, *, sleep: Callable[[float], None] = lambda _: None, **options: object
) -> bytes:
    patience = Patience(attempts=4, stall_seconds=0.3, sleep=sleep)
    files = acquire("demo", target, patience=patience, **options)  # type: ignore[arg-type]
    assert [file.name for file in files] == ["file.bin"]
    assert [file.name for file in target.iterdir()] == ["file.bin"], "leftovers"
    return files[0].read_bytes()


@pytest.mark.parametrize(
    "behaviours",
    [
        ["whole"],
        ["no length"],
        ["redirect", "whole"],
        ["500", "503", "429", "whole"],
        ["truncate", "whole"],
        ["truncate", "truncate", "500", "whole"],
        ["stall", "whole"],
        ["truncate", "ignore range"],
        ["truncate", "416", "whole"],
        ["truncate", "other range", "whole"],
    ],
    ids=" then ".join,
)
@pytest.mark.usefixtures("source")
def test_download_survives(upstream: Upstream, tmp_path: Path, behaviours: list[str]) -> None:
    upstream.behaviours = behaviours
    assert fetch(tmp_path) == BODY


@pytest.mark.usefixtures("source")
def test_download_resumes_where_it_stopped(upstream: Upstream, tmp_path: Path) -> None:
    upstream.behaviours = ["truncate", "truncate", "whole"]
    assert fetch(tmp_path) == BODY
    assert upstream.ranges == [None, f"bytes={CUT}-", f"bytes={2 * CUT}-"]


@pytest.mark.usefixtures("source")
def test_part_file_outlives_a_failed_run(upstream: Upstream, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    upstream.behaviours = ["truncate", "404"]
    with pytest.raises(UserError, match="run again to resume"):
        fetch(tmp_path / "raw", parts=parts)
    assert [part.stat().st_size for part in parts.iterdir()] == [CUT]
    upstream.behaviours = ["whole"]
    assert fetch(tmp_path / "raw", parts=parts) == BODY
    assert upstream.ranges[-1] == f"bytes={CUT}-"
    assert not parts.exists()


@pytest.mark.usefixtures("source")
def test_spoiled_part_file_is_thrown_away(upstream: Upstream, tmp_path: Path) -> None:
    upstream.behaviours = ["truncate", "404"]
    with pytest.raises(UserError):
        fetch(tmp_path / "raw", parts=tmp_path)
    (part,) = tmp_path.glob("*.part")
    part.write_bytes(bytes(len(BODY)))
    upstream.behaviours = ["whole"]
    assert fetch(tmp_path / "raw", parts=tmp_path) == BODY


@pytest.mark.usefixtures("source")
def test_wait_doubles_and_ends(upstream: Upstream, tmp_path: Path) -> None:
    upstream.behaviours = ["500"]
    sleeps = Sleeps()
    with pytest.raises(UserError, match="download failed with 0 bytes received"):
        fetch(tmp_path, sleep=sleeps)
    assert sleeps == [1.0, 2.0, 4.0]


@pytest.mark.usefixtures("source")
def test_missing_file_is_not_retried(upstream: Upstream, tmp_path: Path) -> None:
    upstream.behaviours = ["404"]
    with pytest.raises(UserError, match=r"file\.bin.*404.*TOMRL_DATA_MIRROR"):
        fetch(tmp_path)
    assert len(upstream.ranges) == 1


@pytest.mark.parametrize("behaviour", ["corrupt", "endless"])
@pytest.mark.usefixtures("source")
def test_altered_file_is_refused(upstream: Upstream, tmp_path: Path, behaviour: str) -> None:
    upstream.behaviours = [behaviour]
    with pytest.raises(UserError, match=r"altered, found .*expected .*TOMRL_DATA_MIRROR"):
        fetch(tmp_path / "raw")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("source")
def test_no_server(upstream: Upstream, tmp_path: Path) -> None:
    upstream.close()
    with pytest.raises(UserError, match="Check the network"):
        fetch(tmp_path)


@pytest.mark.usefixtures("source")
def test_whole_file_is_kept_and_spoiled_one_replaced(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(BODY)
    assert fetch(tmp_path) == BODY
    assert not upstream.ranges
    (tmp_path / "file.bin").write_bytes(BODY[1:])
    assert fetch(tmp_path) == BODY
    assert len(upstream.ranges) == 1


@pytest.mark.usefixtures("source")
def test_offline(upstream: Upstream, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"offline; expected 307,200 bytes, sha256 .*MIRROR"):
        fetch(tmp_path, offline=True)
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "file.bin").write_bytes(BODY)
    assert fetch(tmp_path, offline=True) == BODY
    assert not upstream.ranges


@pytest.mark.usefixtures("source")
def test_mirror(upstream: Upstream, tmp_path: Path) -> None:
    place = tmp_path / "mirror" / "demo" / "file.bin"
    place.parent.mkdir(parents=True)
    for content, problem in (
        (None, "missing"),
        (BODY[:-1], "truncated, found 307,199 bytes, expected 307,200"),
        (BODY + b"x", "altered, found 307,201 bytes"),
        (BODY[::-1], "altered, found sha256"),
    ):
        if content is not None:
            place.write_bytes(content)
        with pytest.raises(UserError, match=f"{place}: {problem}"):
            fetch(tmp_path / "raw", mirror=tmp_path / "mirror")
    place.write_bytes(BODY)
    place.chmod(0o444)
    assert fetch(tmp_path / "raw", mirror=tmp_path / "mirror", offline=True) == BODY
    assert not upstream.ranges


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_members_come_from_their_archive(
    upstream: Upstream, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    upstream.body = packed(kind, {"inner/a.txt": b"a", "inner/b.txt": b"b"})
    archive = replace(
        source.files[0],
        name=f"pack.{kind}",
        url=upstream.url.replace("file.bin", f"pack.{kind}"),
        sha256=hashlib.sha256(upstream.body).hexdigest(),
        bytes=None,
    )
    pinned = hashlib.sha256(b"a").hexdigest()
    member = replace(archive, name="a.txt", member="inner/a.txt", sha256=pinned, bytes=1)
    unpinned = replace(member, name="b.txt", member="b.txt", sha256=None, bytes=None)
    use(Source("demo", "Demo", (archive, member, unpinned)), monkeypatch)
    files = acquire("demo", tmp_path)
    assert [file.name for file in files] == [f"pack.{kind}", "a.txt", "b.txt"]
    assert [file.read_bytes() for file in files[1:]] == [b"a", b"b"]
    assert len(list(tmp_path.iterdir())) == 3

    use(Source("demo", "Demo", (archive, replace(member, member="c.txt"))), monkeypatch)
    (tmp_path / "a.txt").unlink()
    with pytest.raises(UserError, match="holds no file c.txt"):
        acquire("demo", tmp_path)


def packed(kind: str, members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as pack:
            for name, content in members.items():
                pack.writestr(name, content)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_the_table_has_files_that_can_be_had() -> None:
    for source in SOURCES.values():
        names = [file.name for file in source.files]
        assert len(names) == len(set(names)) > 0
        for file in source.files:
            assert file.url.startswith("https://") and file.licence
            assert not file.archive or names.index(file.archive) < names.index(file.name)


def test_unknown_source_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown source 'nope'; there are: hi_tom"):
        acquire("nope", tmp_path)


def test_an_optional_source_out_of_reach_leaves_a_note(
    source: Source, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(replace(source, optional=True), monkeypatch)
    patience = Patience(attempts=1, stall_seconds=0.3, sleep=lambda _: None)
    target, mirror = tmp_path / "target", tmp_path / "mirror"
    for options in ({"offline": True}, {"mirror": mirror}, {}):
        upstream.behaviours[:] = ["404"]
        assert acquire("demo", target, patience=patience, **options) == []  # type: ignore[arg-type]
        assert "dvc repro --force acquire@demo" in (target / UNAVAILABLE).read_text()
    upstream.behaviours[:] = ["whole"]
    assert acquire("demo", target, patience=patience) == [target / "file.bin"]
    assert not (target / UNAVAILABLE).exists()


def test_an_optional_source_that_is_altered_is_an_error(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(replace(source, optional=True), monkeypatch)
    (tmp_path / "mirror" / "demo").mkdir(parents=True)
    (tmp_path / "mirror" / "demo" / "file.bin").write_bytes(BODY[::-1])
    with pytest.raises(UserError, match="altered"):
        acquire("demo", tmp_path / "target", mirror=tmp_path / "mirror")
