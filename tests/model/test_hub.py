"""Published models from a local server that plays the hub, and from a mirror folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.models import TinySize
from pipeline.config.params import Params
from pipeline.config.study import Study
from pipeline.formats.download import Patience
from pipeline.formats.files import file_digest, read_json, write_json
from pipeline.model import snapshot as snapshot_module
from pipeline.model.check import check_model
from pipeline.model.hub import Access, access_from, fetch
from pipeline.model.manifest import resolve
from pipeline.model.snapshot import INDEX, Snapshot, pinned
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import load_model, save_model
from pipeline.stages import base, evaluate, suite, train
from pipeline.stages.common import Stage
from tests.conftest import TINY, shrink
from tests.model.fake_hub import COMMIT, CUT, REPOSITORY, FakeHub
from tests.stages.conftest import own_signals
from tests.stages.made import make_data

__all__ = ["own_signals"]

SIZE = TinySize(hidden=32, layers=2, heads=2)
TOKEN = "hf_notforothers"
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return make_tokenizer(["the red box is in the hall"], 300)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    return make_model(SIZE, tokenizer, context=512, seed=1)


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
) -> Path:
    folder = tmp_path_factory.mktemp("made")
    save_model(folder, model, tokenizer)
    (folder / "README.md").write_text("not part of the model")
    (folder / "modeling_tiny.py").write_text("raise SystemExit('code of the repository was run')")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    return folder


@pytest.fixture
def hub(made: Path, tmp_path: Path) -> Iterator[FakeHub]:
    fake = FakeHub(Path(shutil.copytree(made, tmp_path / "hub")))
    yield fake
    fake.close()


Fetch = Callable[..., tuple[Snapshot, "Path | None"]]


@pytest.fixture
def fetched(hub: FakeHub, tmp_path: Path) -> Fetch:
    patience = Patience(attempts=4, stall_seconds=0.3, sleep=lambda _: None)

    def run(revision: str | None = COMMIT, **access: Any) -> tuple[Snapshot, Path | None]:
        there = Access(**{"endpoint": hub.url, "patience": patience, **access})
        return fetch(REPOSITORY, revision, tmp_path / "work", there)

    return run


def same(folder: Path | None, hub: FakeHub) -> bool:
    assert folder is not None
    names = {"config.json", "tokenizer.json", "tokenizer_config.json", WEIGHTS}
    assert {path.name for path in folder.iterdir()} >= names
    assert not [path for path in folder.iterdir() if path.suffix in (".md", ".py", ".bin")]
    return all(
        path.read_bytes() == (hub.folder / path.name).read_bytes() for path in folder.iterdir()
    )


def test_a_download_goes_on_where_it_stopped(hub: FakeHub, fetched: Fetch) -> None:
    hub.behaviours = ["truncate", "404"]
    with pytest.raises(UserError, match=r"404"):
        fetched()
    snapshot, folder = fetched()
    assert same(folder, hub) and snapshot.revision == COMMIT and snapshot.stored_digest()
    assert [seen.range for seen in hub.of("store")] == [None, f"bytes={CUT}-", f"bytes={CUT}-"]


def test_the_token_goes_to_the_hub_and_nowhere_else(hub: FakeHub, fetched: Fetch) -> None:
    hub.token = TOKEN
    _, folder = fetched(token=TOKEN)
    assert same(folder, hub)
    assert {seen.token for seen in hub.of("hub")} == {f"Bearer {TOKEN}"}
    assert any(seen.path.startswith("/api/resolve-cache/") for seen in hub.of("hub"))
    assert [seen.token for seen in hub.of("store")] == [None]


@pytest.mark.parametrize("place", ["/api/models/", "/store/"])
@pytest.mark.parametrize(
    ("status", "token", "message"),
    [
        ("401", None, "asks for an access token.*set HF_TOKEN"),
        ("401", TOKEN, "does not accept the token in HF_TOKEN"),
        ("403", TOKEN, "Accept the terms at .*someone/tiny and set HF_TOKEN"),
        ("404", None, f"revision {COMMIT} of .*someone/tiny .*base.models"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(
    hub: FakeHub, fetched: Fetch, place: str, status: str, token: str | None, message: str
) -> None:
    hub.failing, hub.behaviours = place, [status]
    with pytest.raises(UserError, match=message) as caught:
        fetched(token=token)
    assert not hub.behaviours and TOKEN not in str(caught.value)


def test_a_revision_that_does_not_exist_is_named(fetched: Fetch) -> None:
    with pytest.raises(UserError, match=f"someone/tiny: .*revision {'e' * 40}"):
        fetched("e" * 40)


def test_a_server_that_only_fails_is_given_up(hub: FakeHub, fetched: Fetch) -> None:
    hub.behaviours = ["500"] * 9
    with pytest.raises(
        UserError,
        match=r"500.*Check the network and run again to resume.*TOMRL_DATA_MIRROR.*HF_ENDPOINT",
    ):
        fetched()
    assert len(hub.behaviours) == 9 - 4


@pytest.mark.parametrize("name", [WEIGHTS, "config.json"])
def test_another_file_than_the_listed_is_refused(hub: FakeHub, fetched: Fetch, name: str) -> None:
    hub.failing = "/store/" if name == WEIGHTS else f"/api/resolve-cache/{name}"
    hub.behaviours = ["corrupt"]
    with pytest.raises(UserError, match=f"{name}.*altered.*does not serve the pinned file"):
        fetched()


def test_a_revision_that_is_no_commit_is_loud(
    hub: FakeHub, fetched: Fetch, capsys: pytest.CaptureFixture[str]
) -> None:
    for revision in (None, "main"):
        snapshot, _ = fetched(revision)
        assert snapshot.revision == COMMIT
        assert f"is not pinned: main is commit {COMMIT}" in capsys.readouterr().err
    for access in ({"offline": True}, {"mirror": hub.folder}):
        with pytest.raises(UserError, match="give the 40 digits of the commit"):
            fetched(None, **access)


def test_later_runs_are_held_to_the_record(hub: FakeHub, fetched: Fetch) -> None:
    first, _ = fetched()
    hub.seen.clear()
    assert fetched(offline=True)[0] == first
    assert not hub.seen
    shutil.rmtree(hub.folder.parent / "work" / "files")
    (hub.folder / "config.json").write_bytes((hub.folder / "config.json").read_bytes()[::-1])
    with pytest.raises(UserError, match=r"config\.json.*altered"):
        fetched()


def test_offline_says_what_to_fetch_where(hub: FakeHub, fetched: Fetch) -> None:
    message = f"{hub.url}/{REPOSITORY}/tree/{COMMIT} into models/{REPOSITORY}/{COMMIT}/"
    with pytest.raises(UserError, match=message):
        fetched(offline=True)
    assert not hub.seen


def test_a_mirror(hub: FakeHub, fetched: Fetch, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    place = mirror / "models" / REPOSITORY / COMMIT
    shutil.copytree(hub.folder, place)
    (place / WEIGHTS).unlink()
    with pytest.raises(UserError, match=r"listing\.json: missing.*curl '.*blobs=true'"):
        fetched(mirror=mirror)
    (place / "listing.json").write_text(json.dumps(hub.listing()))
    with pytest.raises(UserError, match=rf"{WEIGHTS}: missing.*/resolve/{COMMIT}/{WEIGHTS} into"):
        fetched(mirror=mirror)
    shutil.copy(hub.folder / WEIGHTS, place)
    _, folder = fetched(mirror=mirror, offline=True)
    assert same(folder, hub) and not hub.seen


def test_pickled_weights_are_never_taken(hub: FakeHub, fetched: Fetch) -> None:
    (hub.folder / WEIGHTS).unlink()
    with pytest.raises(UserError, match=r"only pickled ones \(pytorch_model\.bin\)"):
        fetched()
    assert not hub.of("store")


def test_an_answer_that_is_no_listing(hub: FakeHub, fetched: Fetch, tmp_path: Path) -> None:
    place = tmp_path / "mirror" / "models" / REPOSITORY / COMMIT
    place.mkdir(parents=True)
    for content, message in (
        ("<html>", "not what a hub says"),
        (json.dumps(hub.listing() | {"sha": "e" * 40}), "lists commit 'eeee"),
    ):
        (place / "listing.json").write_text(content)
        with pytest.raises(UserError, match=message):
            fetched(mirror=tmp_path / "mirror")


def test_names_that_leave_the_folder_are_not_taken(hub: FakeHub, fetched: Fetch) -> None:
    entry = {"rfilename": "../../evil.json", "size": 1, "blobId": "0" * 40}
    hub.listing = lambda: {  # type: ignore[method-assign]
        **FakeHub.listing(hub),
        "siblings": [*FakeHub.listing(hub)["siblings"], entry],  # type: ignore[misc]
    }
    assert same(fetched()[1], hub)


def test_a_disk_that_is_too_small(fetched: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match="bytes to download, but only 10 are free"):
        fetched()


def test_access_comes_from_the_environment(tmp_path: Path) -> None:
    assert access_from({}) == Access()
    variables = {"HF_ENDPOINT": "http://hub/", "HF_TOKEN": TOKEN, "TOMRL_OFFLINE": "1"}
    access = access_from({**variables, "TOMRL_DATA_MIRROR": str(tmp_path)})
    assert access == Access("http://hub", TOKEN, tmp_path, True)
    assert TOKEN not in repr(access)
    with pytest.raises(UserError, match="HF_TOKEN is not an access token") as caught:
        access_from({"HF_TOKEN": "hf_secret\nX: y"})
    assert "secret" not in str(caught.value)
    with pytest.raises(UserError, match="HF_ENDPOINT is 'hub'"):
        access_from({"HF_ENDPOINT": "hub"})


# --- the table ---------------------------------------------------------------------------------


def hub_models(project: Path) -> set[str]:
    models = (
        model
        for path in (project / "studies").glob("*.yaml")
        for model in yaml.safe_load(path.read_text())["base"]["models"].values()
    )
    return {model["repository"] for model in models if model["kind"] == "hub"}


def test_the_table_pins_every_model_that_a_study_names(project: Path) -> None:
    for repository in hub_models(project):
        entry = pinned(repository)
        assert entry is not None and len(entry.revision) == 40
        for file in entry.files:
            assert file.sha256 and len(file.sha256) == 64
        if entry.complete:
            names = {file.name for file in entry.files}
            assert {"config.json", "generation_config.json", "tokenizer.json"} <= names
            weights = sum(file.bytes or 0 for file in entry.files if "safetensors" in file.name)
            assert weights > 900_000_000 and (WEIGHTS in names) != (INDEX in names)


def table(monkeypatch: pytest.MonkeyPatch, folder: Path, **entry: Any) -> None:
    path = folder / "table.json"
    path.write_text(json.dumps({REPOSITORY: {"revision": COMMIT, "complete": False} | entry}))
    monkeypatch.setattr(snapshot_module, "_TABLE", path)


def test_a_pinned_model_needs_no_listing(
    hub: FakeHub, fetched: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a revision in the study."""
    first, _ = fetched()
    shutil.rmtree(tmp_path / "work")
    files = [{"name": f.name, "bytes": f.bytes, "sha256": f.sha256} for f in first.files]
    table(monkeypatch, tmp_path, complete=True, files=files)
    hub.seen.clear()
    snapshot, folder = fetched(None)
    assert same(folder, hub) and snapshot.stored_digest() == first.stored_digest()
    assert not [seen for seen in hub.seen if seen.path.startswith("/api/models/")]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"name": WEIGHTS, "sha256": "0" * 64}, f"someone/tiny/{WEIGHTS}: the hub states sha256"),
        ({"name": WEIGHTS, "bytes": 7, "sha256": "0" * 64}, "the hub states bytes"),
        ({"name": "config.json", "sha256": "0" * 64}, r"config\.json.* altered"),
        ({"name": "vocab.json", "sha256": "0" * 64}, "does not list vocab.json"),
    ],
)
def test_a_hub_that_contradicts_the_table_is_refused(
    fetched: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Any, message: str
) -> None:
    table(monkeypatch, tmp_path, files=[file])
    with pytest.raises(UserError, match=message):
        fetched(None)


# --- what is in them ---------------------------------------------------------------------------


@pytest.fixture
def sharded(hub: FakeHub, model: PreTrainedModel) -> FakeHub:
    """The hub with its weights in several files."""
    (hub.folder / WEIGHTS).unlink()
    model.save_pretrained(hub.folder, max_shard_size="40KB")
    assert len(list(hub.folder.glob("model-*-of-*.safetensors"))) > 1
    return hub


def test_shards_are_fetched_and_must_be_whole(sharded: FakeHub, fetched: Fetch) -> None:
    snapshot, folder = fetched()
    assert folder is not None and {INDEX} < {file.name for file in snapshot.files}
    assert check_model(folder) > 0
    sorted(folder.glob("model-*"))[1].unlink()
    with pytest.raises(
        UserError, match=rf"{INDEX}: .* found in None; the weights are not complete"
    ):
        check_model(folder)


def test_a_tokenizer_of_another_vocabulary_is_refused(
    made: Path, tmp_path: Path, model: PreTrainedModel
) -> None:
    larger = make_tokenizer([f" {name} {name}" for name in dir(torch)], 600)
    save_model(tmp_path / "a", model, larger)
    with pytest.raises(UserError, match="do not belong together"):
        check_model(tmp_path / "a")
    config = json.loads((made / "config.json").read_text())
    shutil.copytree(made, tmp_path / "b")
    (tmp_path / "b" / "config.json").write_text(json.dumps(config | {"vocab_size": 999}))
    with pytest.raises(UserError, match="the configuration 999, the weights"):
        check_model(tmp_path / "b")


def test_a_vocabulary_padded_beyond_the_tokenizer_is_fine(
    tmp_path: Path, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel
) -> None:
    """As Qwen2.5 has it: 151,936 rows for 151,665 tokens."""
    padded = make_model(SIZE, tokenizer, context=512, seed=1)
    padded.resize_token_embeddings(len(tokenizer) + 100)
    save_model(tmp_path, padded, tokenizer)
    assert check_model(tmp_path) == sum(tensor.numel() for tensor in padded.parameters())
    assert check_model(tmp_path) > sum(tensor.numel() for tensor in model.parameters())


def test_weights_that_are_not_safetensors(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "a")
    (tmp_path / "a" / WEIGHTS).write_bytes(b"\x80\x04 a pickle under another name")
    with pytest.raises(UserError, match="not a safetensors file"):
        check_model(tmp_path / "a")


# --- the stage ---------------------------------------------------------------------------------


def on_the_hub(study: dict[str, Any], revision: str | None = COMMIT) -> dict[str, Any]:
    """The mini study with the hub's model in place of its own."""
    entry = {"kind": "hub", "title": "tiny", "repository": REPOSITORY, "revision": revision}
    study["base"]["models"] = {"nano": entry}
    study["grid"]["models"] = ["nano"]
    return study


@pytest.fixture
def params() -> Params:
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text(encoding="utf-8"))
    return expand(Study.model_validate(on_the_hub(study)))


@pytest.mark.parametrize("kind", ["whole", "sharded"])
def test_the_stage_writes_the_manifest_and_the_weights(
    hub: FakeHub,
    params: Params,
    model: PreTrainedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    kind: str,
) -> None:
    if kind == "sharded":
        request.getfixturevalue("sharded")
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    for name in ("TOMRL_DATA_MIRROR", "TOMRL_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    stage = Stage("base", tmp_path, params)
    base.main(stage, "nano")
    path = stage.runs / "base" / "nano" / "checkpoints.json"
    first = path.read_bytes()
    assert read_json(path.with_name("card.json"))["note"] == "not known beyond its name"
    content = read_json(path)
    assert content["use"] == "base" and content["checkpoints"]["base"]["step"] == 0
    assert content["revision"] == COMMIT and set(content["files"]) > {"config.json"}
    loaded, _ = load_model(resolve(path, stage.weights_of_base("nano"), "nano"))
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    files = stage.work(REPOSITORY) / "files"
    weights = stage.weights_of_base("nano").root / content["checkpoints"]["base"]["digest"]
    assert all((files / path.name).samefile(path) for path in weights.iterdir())

    hub.seen.clear()
    shutil.rmtree(weights)
    base.main(stage, "nano")
    assert path.read_bytes() == first and not hub.seen


def test_what_no_engine_loads_is_left_out_and_said(
    hub: FakeHub, params: Params, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a mirror, which stays as it is."""
    config = read_json(hub.folder / "config.json")
    chunks = {"chunk_size": 262144, "local_size": 8192}
    write_json(hub.folder / "config.json", config | {"dual_chunk_attention_config": chunks})
    mirror = tmp_path / "mirror" / "models" / REPOSITORY / COMMIT
    shutil.copytree(hub.folder, mirror)
    write_json(mirror / "listing.json", hub.listing())
    monkeypatch.setenv("TOMRL_DATA_MIRROR", str(tmp_path / "mirror"))
    for name in ("TOMRL_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    stage = Stage("base", tmp_path, params)
    base.main(stage, "nano")
    path = stage.runs / "base" / "nano" / "checkpoints.json"
    first = path.read_bytes()
    content = read_json(path)
    assert content["dropped"] == ["dual_chunk_attention_config"]
    published = file_digest(hub.folder / "config.json")
    assert content["files"]["config.json"] == published == file_digest(mirror / "config.json")
    folder = resolve(path, stage.weights_of_base("nano"), "nano")
    assert read_json(folder / "config.json") == config
    load_model(folder)
    base.main(stage, "nano")
    assert path.read_bytes() == first


def test_a_hub_model_is_trained_and_evaluated(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the local backend, in the stages' own order."""
    shrink(tmp_path)
    said = hub.folder / "generation_config.json"
    write_json(said, {"eos_token_id": [2, 0]})
    study = yaml.safe_load((tmp_path / "studies" / "mini.yaml").read_text())
    params = expand(Study.model_validate(on_the_hub(study)))
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    for name in ("TOMRL_DATA_MIRROR", "TOMRL_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "a checkout"
    make_data(root, params)
    suite.main(Stage("suite", root, params))
    base.main(Stage("base", root, params), "nano")
    (cell,) = [key for key, cell in params.cells.items() if cell.kind == "trained"]
    train.main(Stage("train", root, params), cell)
    evaluate.main(Stage("evaluate", root, params), cell)
    results = root / "runs" / "mini" / cell
    manifest = read_json(results / "train" / "checkpoints.json")
    assert manifest["format"] == "safetensors"
    for stored in manifest["checkpoints"].values():
        trained = root / "weights" / "mini" / cell / stored["digest"] / said.name
        assert trained.read_bytes() == said.read_bytes(), "it ends where its base model does"
    assert (results / "evaluate" / "metrics.json").is_file()
