"""Folders of weights: what is taken over, shared and kept, and what cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.formats.weights import WeightsFolder


def model(folder: Path, content: str = "1") -> Path:
    folder.mkdir()
    (folder / "model.safetensors").write_text(content)
    return folder


@pytest.fixture
def weights(tmp_path: Path) -> WeightsFolder:
    return WeightsFolder(tmp_path / "weights" / "a", "train@a")


def test_the_best_that_is_the_last_too_lies_there_once(
    weights: WeightsFolder, tmp_path: Path
) -> None:
    best, last = weights.take(model(tmp_path / "best")), weights.take(model(tmp_path / "last"))
    assert best == last and [path.name for path in weights.root.iterdir()] == [best]
    assert not (tmp_path / "best").exists() and not (tmp_path / "last").exists()
    assert (weights.get(best) / "model.safetensors").read_text() == "1"


def test_what_is_shared_is_the_same_file(weights: WeightsFolder, tmp_path: Path) -> None:
    digest = weights.take(model(tmp_path / "model"))
    other = WeightsFolder(tmp_path / "weights" / "b", "train@b")
    assert other.share(weights, digest) == digest
    mine, its = (each.get(digest) / "model.safetensors" for each in (weights, other))
    assert mine.samefile(its)
    kept = model(tmp_path / "kept", "2")
    copied, linked = weights.copy(kept), other.link(kept)
    assert copied == linked
    assert not (weights.get(copied) / "model.safetensors").samefile(kept / "model.safetensors")
    assert (other.get(linked) / "model.safetensors").samefile(kept / "model.safetensors")


def test_what_a_symbolic_link_points_at_is_copied(weights: WeightsFolder, tmp_path: Path) -> None:
    mirrored = model(tmp_path / "mirror") / "model.safetensors"
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / mirrored.name).symlink_to(mirrored)
    taken = weights.get(weights.link(tmp_path / "files")) / mirrored.name
    assert not taken.is_symlink() and not taken.samefile(mirrored)


def test_what_is_not_named_is_removed(weights: WeightsFolder, tmp_path: Path) -> None:
    old, new = weights.take(model(tmp_path / "a")), weights.take(model(tmp_path / "b", "2"))
    weights.keep_only([new])
    assert [path.name for path in weights.root.iterdir()] == [new] != [old]
    weights.keep_none("it is elsewhere")
    (none,) = weights.root.iterdir()
    assert none.read_text() == "it is elsewhere\n"


def test_what_is_absent_or_altered_names_the_repair(weights: WeightsFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not in .*dvc checkout train@a, or dvc pull train@a"):
        weights.get("0" * 64)
    digest = weights.take(model(tmp_path / "a"))
    path = weights.get(digest) / "model.safetensors"
    path.write_text("3")
    path.chmod(0o444)
    with pytest.raises(UserError, match=r"altered.*dvc repro --single-item --force train@a"):
        weights.get(digest)
    assert path.stat().st_mode & 0o200  # so that DVC compares what it has in its cache
    assert weights.take(model(tmp_path / "b")) == digest and weights.get(digest)
