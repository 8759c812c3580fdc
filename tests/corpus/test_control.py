"""Control tokens in stories, questions and responses are refused by name, by engines and trainers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.data.codec import write_dataset
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.openai_engine import OpenAiEngine
from pipeline.model.chat import encode_continued, encode_prompt
from pipeline.model.manifest import ApiManifest
from pipeline.model.tiny import IM_END, make_tokenizer
from pipeline.tasks.example import Example
from pipeline.train.data import TokenisedRow, load_rows
from pipeline.train.rollout import imitate
from tests.corpus.control import HARMLESS, OF_OTHERS, OWN, PLACES


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return make_tokenizer(["the red box is in the hall"], 300)


def _example(text: str) -> Example:
    meta = {"imitated": {"answers": text}}
    return Example("hi_tom", "hi_tom", text, "q", "box", meta=meta)


def _question(tokenizer: PreTrainedTokenizerBase, text: str, _: Path) -> None:
    encode_prompt(tokenizer, [{"role": "user", "content": text}])


def _system(tokenizer: PreTrainedTokenizerBase, text: str, _: Path) -> None:
    encode_prompt(tokenizer, [{"role": "system", "content": text}])


def _options(tokenizer: PreTrainedTokenizerBase, text: str, _: Path) -> None:
    encode_continued(tokenizer, [{"role": "user", "content": text}], "", ["box"])


def _training(tokenizer: PreTrainedTokenizerBase, text: str, folder: Path) -> None:
    """The rows that both trainers read, the local one and verl's."""
    file = folder / "train.parquet"
    messages = [{"role": "user", "content": text}]
    write_dataset(file, [_example(text)], lambda _: messages, "train")
    load_rows(file, tokenizer, 100)


def _imitation(tokenizer: PreTrainedTokenizerBase, text: str, _: Path) -> None:
    imitate(tokenizer, [TokenisedRow((1,), _example(text))], "answers")


DOORS: Mapping[str, Callable[[PreTrainedTokenizerBase, str, Path], None]] = {
    "question": _question,
    "system": _system,
    "options": _options,
    "training": _training,
    "imitation": _imitation,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("place", PLACES)
def test_a_control_token_of_the_model_is_refused_by_name(
    place: str, door: str, tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    for control in OWN:
        with pytest.raises(UserError, match=f"holds {re.escape(repr(control))}.*remove"):
            DOORS[door](tokenizer, place.replace("{}", control), tmp_path)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_one_stays_text(
    text: str, tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    for door in DOORS.values():
        door(tokenizer, text, tmp_path)
    ids = encode_prompt(tokenizer, [{"role": "user", "content": text}])
    assert tokenizer.decode(ids).count(IM_END) == 1


@pytest.mark.parametrize("control", (*OWN, *OF_OTHERS))
def test_a_model_behind_an_address_is_sent_none(control: str, tmp_path: Path) -> None:
    model = ApiManifest(
        model="m",
        api="m",
        address="http://127.0.0.1:9",
        key=None,
        prompt_price=None,
        completion_price=None,
    )
    engine = OpenAiEngine(model, tmp_path, tries=1)
    for place in PLACES:
        text = place.replace("{}", control)
        asked = Prompt([{"role": "user", "content": text}], (0,), "")
        with pytest.raises(UserError, match=f"holds {re.escape(repr(control))}.*remove"):
            engine.complete([asked], Sampling(8), lambda _: None)
