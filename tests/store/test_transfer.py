"""What a transfer brings, leaves alone, goes on with and refuses, to a folder and to a bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from pipeline.base.errors import TransientError, UserError
from pipeline.formats.files import digest_of, json_text
from pipeline.formats.store import LocalStore
from pipeline.ops.store.bucket import _CONNECTION, BucketRemote
from pipeline.ops.store.listing import listing_of
from pipeline.ops.store.remote import Altered, FolderRemote, Missing, Remote, open_remote
from pipeline.ops.store.transfer import listing_key, part_key, partial_of, pull, push, read_listing
from tests.store.emulator import BUCKET, KEYS, emulator
from tests.store.faults import faulty

PART = 1000


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with emulator() as url:
        yield url


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": server}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["folder", "bucket"])
def remote(request: pytest.FixtureRequest, tmp_path: Path, keys: None) -> Remote:
    address = {"folder": str(tmp_path / "shared"), "bucket": f"s3://{BUCKET}/{uuid4().hex}/"}
    return open_remote(address[request.param])


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def digest(store: LocalStore, tmp_path: Path) -> str:
    """An object with a file of several parts, one of none, and one in a folder."""
    folder = tmp_path / "made"
    (folder / "deep").mkdir(parents=True)
    (folder / "weights").write_bytes(bytes(range(256)) * 20)
    (folder / "empty").write_bytes(b"")
    (folder / "deep" / "tokens").write_bytes(b"tokens")
    return store.put(folder)


def moved(store: LocalStore, remote: Remote, digest: str) -> list[int]:
    """Push an object and return the bytes that were reported."""
    seen: list[int] = []
    push(store, remote, digest, seen.append, part_bytes=PART)
    return seen


def brought(store: LocalStore, remote: Remote, digest: str) -> None:
    pull(store, remote, digest, read_listing(remote, digest), lambda done: None)


def test_what_is_pushed_is_pulled(store: LocalStore, remote: Remote, digest: str) -> None:
    assert sum(moved(store, remote, digest)) == 5126
    away = LocalStore(store.root.with_name("away"))
    brought(away, remote, digest)
    assert away.digests() == [digest] and away.verify(digest)
    assert [path.name for path in away.root.iterdir()] == [digest]


def test_files_alike_are_kept_once(
    store: LocalStore, remote: Remote, digest: str, tmp_path: Path
) -> None:
    moved(store, remote, digest)
    before = {entry.key for entry in remote.list("parts")}
    folder = tmp_path / "made"
    (folder / "more").write_bytes(b"more")
    moved(store, remote, store.put(folder))
    after = {entry.key for entry in remote.list("parts")}
    assert before < after and len(after - before) == 1
    assert len(list(remote.list("objects"))) == 2


def test_a_push_that_ended_halfway_is_no_object_and_goes_on(
    store: LocalStore, remote: Remote, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ops.store.transfer._AT_ONCE", 1)
    puts: list[str] = []
    put = remote.put

    def interrupted(key: str, content: bytes) -> None:
        if len(puts) == 3:
            raise KeyboardInterrupt
        put(key, content)
        puts.append(key)

    monkeypatch.setattr(remote, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        moved(store, remote, digest)
    assert not remote.exists(listing_key(digest))
    first, puts[:] = set(puts), []
    monkeypatch.setattr(remote, "put", lambda *given: puts.append(given[0]) or put(*given))
    moved(store, remote, digest)
    parts = {part_key(sha256) for _, _, sha256 in listing_of(store.root / digest, PART).parts}
    assert len(first) == 3 and not first & set(puts)
    assert first | set(puts) == parts | {listing_key(digest)}
    brought(LocalStore(store.root.with_name("away")), remote, digest)


def test_a_pull_that_was_interrupted_goes_on(
    store: LocalStore, remote: Remote, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(store, remote, digest)
    away, listing = LocalStore(store.root.with_name("away")), read_listing(remote, digest)
    get = remote.get
    asked: list[str] = []
    monkeypatch.setattr("pipeline.ops.store.transfer._AT_ONCE", 1)

    def interrupted(key: str, is_whole: object) -> bytes:
        if len(asked) == 3:
            raise TransientError("the server is away")
        asked.append(key)
        return get(key, is_whole)  # type: ignore[arg-type]

    monkeypatch.setattr(remote, "get", interrupted)
    with pytest.raises(TransientError):
        brought_listing(away, remote, digest, listing)
    assert away.digests() == [] and partial_of(away, digest).is_dir()
    first, asked[:] = set(asked), []
    monkeypatch.setattr(remote, "get", lambda *given: asked.append(given[0]) or get(*given))
    brought_listing(away, remote, digest, listing)
    assert away.verify(digest) and [path.name for path in away.root.iterdir()] == [digest]
    assert not first & set(asked) and first | set(asked) == {
        part_key(sha256) for _, _, sha256 in listing.parts
    }


def brought_listing(away: LocalStore, remote: Remote, digest: str, listing: object) -> None:
    pull(away, remote, digest, listing, lambda done: None)  # type: ignore[arg-type]


def test_two_pulls_at_once_bring_one_object(store: LocalStore, remote: Remote, digest: str) -> None:
    moved(store, remote, digest)
    away = LocalStore(store.root.with_name("away"))
    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(brought, away, remote, digest) for _ in range(3)]:
            one.result()
    assert away.verify(digest) and [path.name for path in away.root.iterdir()] == [digest]


def test_what_is_altered_in_the_remote_is_refused_and_mended(
    store: LocalStore, remote: Remote, digest: str
) -> None:
    moved(store, remote, digest)
    away = LocalStore(store.root.with_name("away"))
    part = listing_of(store.root / digest, PART).files[2].parts[1]
    for key in (part_key(part), listing_key(digest)):
        remote.put(key, b"{}")
        with pytest.raises(Altered, match=f"{key} in .* is altered.*tomrl store push --check"):
            brought(away, few(remote), digest)
        assert away.digests() == []
        push(store, few(remote), digest, lambda done: None, again=True, part_bytes=PART)
        brought(away, remote, digest)
        assert away.verify(digest)
        away.prune(set())


def few(remote: Remote) -> Remote:
    """The same remote, that asks only twice."""
    is_folder = isinstance(remote, FolderRemote)
    return remote if is_folder else BucketRemote(remote.address, attempts=2)


def test_what_the_remote_lacks_is_said(store: LocalStore, remote: Remote, digest: str) -> None:
    with pytest.raises(Missing, match=f"has no objects/{digest}.json"):
        read_listing(remote, digest)
    assert list(remote.list("objects")) == []
    moved(store, remote, digest)
    remote.delete(part_key(listing_of(store.root / digest, PART).files[0].parts[0]))
    with pytest.raises(Missing, match="has no parts/.*tomrl store push --check"):
        brought(LocalStore(store.root.with_name("away")), remote, digest)
    remote.delete("parts/gone")


def test_what_is_altered_here_is_not_pushed(store: LocalStore, remote: Remote, digest: str) -> None:
    (store.root / digest / "weights").write_bytes(b"other")
    with pytest.raises(UserError, match="is altered and is not pushed"):
        moved(store, remote, digest)
    assert list(remote.list("parts")) == []


def test_a_path_cannot_lead_out_of_the_store(store: LocalStore, remote: Remote) -> None:
    sha256 = "0" * 64
    digest = digest_of({"../../out": sha256})
    file = {"path": "../../out", "bytes": 0, "sha256": sha256, "parts": []}
    remote.put(listing_key(digest), json_text({"part_bytes": 1, "files": [file]}).encode())
    with pytest.raises(Altered):
        read_listing(few(remote), digest)


def test_credentials_that_the_server_does_not_know(
    keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0.0)  # it asks who it is
    remote = BucketRemote(f"s3://{BUCKET}/x")
    for ask in (lambda: list(remote.list("objects")), lambda: remote.put("parts/a", b"a")):
        with pytest.raises(UserError, match="refuses these credentials.*AWS_PROFILE") as caught:
            ask()
        assert "InvalidAccessKeyId" in str(caught.value)
        assert not any(KEYS[name] in str(caught.value) for name in KEYS)
    with pytest.raises(UserError, match=r"refuses these credentials \(403\)"):
        remote.exists("parts/a")


def test_no_credentials_at_all(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match="there are no credentials.*AWS_ACCESS_KEY_ID"):
        BucketRemote(f"s3://{BUCKET}").exists("parts/a")


def test_a_server_that_is_not_there(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for server, words in (
        ("http://127.0.0.1:9", "cannot be reached.*AWS_ENDPOINT_URL"),
        ("http://someone:secret@127.0.0.1:9", "failed 2 times"),
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL", server)
        with pytest.raises(TransientError, match=f"the server http://127.0.0.1:9 {words}"):
            BucketRemote(f"s3://{BUCKET}", attempts=2).exists("parts/a")


def test_a_bucket_that_is_not_there(keys: None) -> None:
    remote = BucketRemote("s3://elsewhere/x")
    for ask in (
        lambda: remote.put("parts/a", b"a"),
        lambda: remote.get("parts/a", lambda content: True),
        lambda: list(remote.list("parts")),
    ):
        with pytest.raises(UserError, match="s3://elsewhere/x: .* has no such bucket"):
            ask()


def test_a_server_that_fails_on_and_on(
    server: str, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(server, share=1, faults=("500",)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        with pytest.raises(TransientError, match="failed 2 times, at last with InternalError"):
            BucketRemote(f"s3://{BUCKET}", attempts=2).put("parts/a", b"a")
        assert proxy.requests == 2


def test_a_server_that_hangs_is_asked_again(
    server: str, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_CONNECTION, "read_timeout", 0.3)
    with faulty(server, share=0.5, faults=("hung",)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        remote = BucketRemote(f"s3://{BUCKET}/{uuid4().hex}")
        for key in ("parts/a", "parts/b", "parts/c"):
            remote.put(key, key.encode())
        assert remote.get("parts/a", lambda content: True) == b"parts/a"
        assert proxy.happened["hung"]
        proxy.share = 1
        with pytest.raises(TransientError, match="failed 1 times, at last with .*Timeout"):
            BucketRemote(remote.address, attempts=1).get("parts/a", lambda content: True)


def test_a_clock_that_is_wrong_is_not_blamed_on_credentials(
    server: str, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(server, share=1, faults=("skewed",)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        remote = BucketRemote(f"s3://{BUCKET}")
        for ask in (lambda: remote.put("parts/a", b"a"), lambda: remote.exists("parts/a")):
            with pytest.raises(UserError, match="its clock is 1440 minutes off") as caught:
                ask()
            assert "credentials" not in str(caught.value)


def test_bytes_that_never_arrive_as_sent(
    server: str, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(server, share=1, faults=("wrong request",)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        with pytest.raises(UserError, match="failed 2 times, .*FlexibleChecksumError"):
            BucketRemote(f"s3://{BUCKET}/y", attempts=2).put("parts/a", b"a")


@pytest.mark.parametrize("address", ["s3://", "s3://a", "s3://k:s3cret@bucket/x", "gs://bucket/x"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UserError, match=r"is no s3://BUCKET/PREFIX, nor a folder") as caught:
        open_remote(address)
    assert "s3cret" not in str(caught.value)


def test_a_remote_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file; name a folder"):
        open_remote(str(tmp_path / "file"))
