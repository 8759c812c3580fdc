"""``tomrl publish`` and ``tomrl verify``: no byte changes unnoticed, and no forgery holds."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.formats.files import folder_digests, read_json, write_json
from pipeline.ops.share.bundle import NAME, SIGNATURE, files_of, listed
from tests.conftest import edited
from tests.sharing.emulator import BUCKET, KEYS, client, emulator

pytestmark = pytest.mark.chain
CHANGES = 200
CELL = "runs/mini/nano-hi"


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def said(*words: object) -> str:
    """What a command says, also where it ends with an error."""
    try:
        return run(*words)[1]
    except UserError as error:
        return str(error)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def published(reproduced: Path, key: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed bundle of the tests' study."""
    target = tmp_path_factory.mktemp("published") / "bundle"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(reproduced)
        status, output = run("publish", "mini", "--to", target, "--key", key)
    assert status == 0 and "check them: tomrl verify" in output
    return target


@pytest.fixture
def bundle(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the bundle, outside of any checkout."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(published, tmp_path / "bundle")


def listed_again(folder: Path) -> None:
    """List a bundle's files as they are now, as who forges results would."""
    (folder / SIGNATURE).unlink(missing_ok=True)
    (folder / NAME).unlink()
    (folder / NAME).write_text(listed(folder_digests(folder)))


def test_a_bundle_is_verified_without_a_model(bundle: Path, key: Path) -> None:
    assert not list(bundle.rglob("*.safetensors"))
    status, output = run("verify", bundle, "--signer", f"{key}.pub")
    assert status == 0, output
    assert "signed by SHA256:" in output
    assert "scores, intervals, verdicts and report follow from the answers" in output
    assert read_json(bundle / "provenance.json")["machines"]
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", NAME], cwd=bundle, check=True)


def test_every_changed_byte_is_a_named_file(bundle: Path) -> None:
    random = Random(0)
    files = sorted(path for path in bundle.rglob("*") if path.is_file() and path.stat().st_size)
    drawn = [bundle / NAME, bundle / SIGNATURE, *random.choices(files, k=CHANGES - 2)]
    for path in drawn:
        before = path.read_bytes()
        place, other = random.randrange(len(before)), random.randrange(1, 256)
        changed = bytes([before[place] ^ other])
        path.write_bytes(before[:place] + changed + before[place + 1 :])
        name = path.relative_to(bundle).as_posix()
        assert name in said("verify", bundle), (name, place, other)
        path.write_bytes(before)


def test_missing_added_and_linked_files_are_named(bundle: Path) -> None:
    (bundle / "LICENSE").unlink()
    (bundle / "reports/mini/more.html").write_text("more")
    metrics = bundle / CELL / "evaluate/metrics.json"
    shutil.move(metrics, bundle.parent / "elsewhere")
    metrics.symlink_to(bundle.parent / "elsewhere")
    status, output = run("verify", bundle)
    assert status == 1
    assert "LICENSE: is missing" in output
    assert "reports/mini/more.html: is not in the list of files" in output
    assert f"{CELL}/evaluate/metrics.json: is not a regular file" in output


def _grades(bundle: Path) -> str:
    path = bundle / CELL / "evaluate/grades.parquet"
    grades = pd.read_parquet(path)
    grades.loc[0, "correct"] = not grades.loc[0, "correct"]
    grades.to_parquet(path, index=False)
    return f"{CELL}/evaluate/grades.parquet: 0.correct: found"


def _interval(bundle: Path) -> str:
    path = bundle / CELL / "evaluate/metrics.json"
    metrics = read_json(path)
    metrics["tasks"]["hi_tom_order_3"]["interval"][0] = 0.9
    write_json(path, metrics)
    return f"{CELL}/evaluate/metrics.json: tasks.hi_tom_order_3.interval: found [0.9,"


def _verdict(bundle: Path) -> str:
    path = bundle / CELL / "judge/verdicts.json"
    verdicts = json.loads(path.read_text())
    next(iter(verdicts["tasks"].values()))["answers"] = "beliefs"
    write_json(path, verdicts)
    return f"{CELL}/judge/verdicts.json: tasks.hi_tom_style.answers: found 'beliefs'; computed"


def _page(bundle: Path) -> str:
    path = bundle / "reports/mini/index.html"
    path.write_text(path.read_text() + "<p>and more</p>")
    return "reports/mini/index.html: is not what is computed"


@pytest.mark.parametrize("forge", [_grades, _interval, _verdict, _page])
def test_a_forgery_that_is_listed_is_found(
    bundle: Path, key: Path, forge: Callable[[Path], str]
) -> None:
    expected = forge(bundle)
    listed_again(bundle)
    status, output = run("verify", bundle)
    assert status == 1 and expected in output, output
    assert "differs: 1 difference" in output
    with pytest.raises(UserError, match="was not made by the key of"):
        run("verify", bundle, "--signer", f"{key}.pub")


def _gold(bundle: Path) -> Path:
    path = sorted(bundle.glob("data/mini/suite/*order_3*.parquet"))[0]
    rows = pd.read_parquet(path)
    rows["answer"] = "nowhere_at_all"
    rows.to_parquet(path, index=False)
    return path.relative_to(bundle)


def test_a_page_that_another_library_has_packed_holds(bundle: Path) -> None:
    changed = 0
    for path in bundle.glob("reports/**/*.js"):
        before, text, after = path.read_text().rsplit('"', 2)
        again = gzip.compress(gzip.decompress(base64.b64decode(text)), 1, mtime=0)
        path.write_text(f'{before}"{base64.b64encode(again).decode()}"{after}')
        changed += base64.b64decode(text) != again
    listed_again(bundle)
    status, output = run("verify", bundle)
    assert status == 0 and changed > 3, output
    path.write_text(path.read_text().replace("H4sI", "H4sJ"))
    listed_again(bundle)
    assert f"{path.relative_to(bundle)}: is not what is computed" in said("verify", bundle)


def test_other_gold_answers_are_found_though_all_else_follows_from_them(bundle: Path) -> None:
    path = _gold(bundle)
    listed_again(bundle)
    status, output = run("verify", bundle)
    assert status == 1, output
    assert "data/mini/suite: is not what the study made" in output
    assert f"{path}: " in output and "gold answers not what the belief engine finds" in output
    assert "the first is 'nowhere_at_all', where the engine finds '" in output
    lock = bundle / "dvc.lock"
    lock.write_text(lock.read_text().replace("data/mini/suite", "data/mini/other"))
    listed_again(bundle)
    assert "gold answers not what the belief engine finds" in said("verify", bundle)


def test_other_answers_are_refused(bundle: Path) -> None:
    path = bundle / CELL / "evaluate/responses.parquet"
    responses = pd.read_parquet(path)
    responses.iloc[::-1].to_parquet(path, index=False)
    listed_again(bundle)
    assert f"{CELL}/evaluate/responses.parquet is damaged" in said("verify", bundle)


def test_what_is_no_bundle_of_this_version_is_said(bundle: Path, tmp_path: Path) -> None:
    assert "name a folder that tomrl publish wrote" in said("verify", tmp_path / "no")
    there = (bundle / NAME).read_text()
    (bundle / NAME).write_text(there.replace("bundle 1", "bundle 2"))
    assert "begins with '# tomrl bundle 2 " in said("verify", bundle)
    (bundle / NAME).write_text(f"{there}{'0' * 64}  ../outside\n")
    assert "its own digest differs" in said("verify", bundle)


def test_what_cannot_be_published_is_said(
    published: Path, reproduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = shutil.copytree(reproduced, tmp_path / "study", symlinks=True)
    monkeypatch.chdir(there)
    assert "runs holds other files" in said("publish", "mini", "--to", "runs")
    again = said("publish", "mini", "--to", published)
    assert "holds an earlier export; name a new folder with --to" in again
    assert "'maxi'" in said("publish", "maxi", "--to", "out")
    assert "cannot sign" in said("publish", "mini", "--to", "out", "--key", "no-key")
    assert not (there / "out").exists()
    with edited(there / "params.yaml") as params:
        params["cells"]["nano-hi"]["evaluate"] = {"prompt": "labelled"}
    assert "run: tomrl study use mini && tomrl run" in said("publish", "mini", "--to", "out")
    said_of_paper = said("publish", "rlvr", "--to", "out")
    assert "may not be passed on: it quotes percept_fantom" in said_of_paper
    assert not (there / "out").exists()


def test_a_bucket_gets_what_it_lacks(
    published: Path, reproduced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reproduced)
    place = f"s3://{BUCKET}/results/mini"
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with emulator() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        count = len(files_of(published)) + 1
        assert f"{count} files sent" in said("publish", "mini", "--to", place)
        half = [NAME, "LICENSE", "params/report.json"]
        for name in half:
            client(url).delete_object(Bucket=BUCKET, Key=f"results/mini/{name}")
        assert "there is no bundle" in said("verify", place)
        assert f"{len(half)} files sent" in said("publish", "mini", "--to", place)
        for beside in ("", "data/", "notes of mine.txt"):  # "Create folder" of S3's console
            client(url).put_object(Bucket=BUCKET, Key=f"results/mini/{beside}", Body=b"")
        assert run("verify", place)[0] == 0
        client(url).put_object(Bucket=BUCKET, Key=f"results/mini/{NAME}", Body=b"another")
        assert "holds another bundle" in said("publish", "mini", "--to", place)
        assert "NoSuchBucket" in said("verify", "s3://nobodys/results")
        looked_at_first = said("publish", "no study", "--to", "s3://nobodys/results")
        assert "NoSuchBucket" in looked_at_first
        assert "allowed: s3://BUCKET/PREFIX" in said("verify", f"s3://{BUCKET}")
