"""Study 1's prompts are those of its authors, to the letter."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.config.study_files import find_study
from pipeline.data.named_tasks import task_mistakes
from pipeline.data.original import Frame, read_frame
from pipeline.data.prompt import is_prefilled, maker
from pipeline.model.chat import encode_prompt
from pipeline.model.tiny import make_tokenizer
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from tests.conftest import PROJECT

TEST = "ToM_test_HiExTi_hint.parquet"
# What Qwen2.5's own template writes for a system and a user message.
QWEN = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
    "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% endif %}"
)


@pytest.mark.parametrize(
    ("task", "file"), [("tom_rl_train", "ToM_train_HiEx_hint.parquet"), ("hi_tom_order4", TEST)]
)
def test_every_prompt_is_the_published_text(mirror: Path, task: str, file: str) -> None:
    published = {
        (row.story, row.question): row.prompt[0]["content"]
        for row in pd.read_parquet(mirror / "tom_rl" / file).itertuples()
    }
    tokenizer = make_tokenizer(["a story"], 300)
    tokenizer.chat_template = QWEN
    make = maker("tom-rl", read_frame(mirror))
    for example in registry.get(task).examples(mirror):
        messages = make(example)
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert f"{text}<think>" == published[example.story, example.question]


def test_both_published_files_have_the_same_frame(mirror: Path) -> None:
    assert read_frame(mirror) == read_frame(mirror, TEST)


def test_stories_that_are_in_no_published_file_are_put_into_the_same_frame() -> None:
    frame = Frame(system="Think.", before="Read.\nStory: ", between="\nQuestion: ", after="\n")
    example = Example("hi_tom", "hi_tom", "Once {story}.", " Where {question}?", "x")
    assert maker("tom-rl", frame)(example) == [
        {"role": "system", "content": "Think."},
        {"role": "user", "content": "Read.\nStory: Once {story}.\nQuestion:  Where {question}?\n"},
    ]


def test_a_file_of_several_frames_is_refused(mirror: Path, tmp_path: Path) -> None:
    name = "ToM_train_HiEx_hint.parquet"
    rows = pd.read_parquet(mirror / "tom_rl" / name).head(3)
    (tmp_path / "tom_rl").mkdir()
    text = rows.prompt[1][0]["content"]
    rows.prompt[1][0]["content"] = text.replace("You are", "Thou art")
    rows.to_parquet(tmp_path / "tom_rl" / name)
    with pytest.raises(UserError, match="row 2: its prompt differs from that of the first row"):
        read_frame(tmp_path)
    rows.prompt[0][0]["content"] = "Where is it?"
    rows.to_parquet(tmp_path / "tom_rl" / name)
    with pytest.raises(UserError, match="row 1: its prompt is not a chat"):
        read_frame(tmp_path)


def test_a_study_that_does_not_acquire_the_prompt_is_told() -> None:
    study = find_study(PROJECT, "rlvr")
    evaluate = study.evaluate.model_copy(update={"prompt": "tom-rl"})
    (mistake,) = task_mistakes(study.model_copy(update={"evaluate": evaluate}))
    assert mistake.place == ("evaluate", "prompt") and "source tom_rl; name it" in mistake.text
    with pytest.raises(UserError, match="does not acquire"):
        maker("tom-rl")


def test_nothing_is_prefilled_for_prompts_that_had_nothing() -> None:
    prefilled = {"compact", "tom-rl", "rlvr"}
    for name in ("compact", "tom-rl", "tom-rl-json", "rlvr", "boxed"):
        assert is_prefilled(name) == (name in prefilled)
    tokenizer = make_tokenizer(["a story"], 300)
    messages = [{"role": "user", "content": "a story"}]
    bare = encode_prompt(tokenizer, messages, begun="")
    assert encode_prompt(tokenizer, messages) == (*bare, *tokenizer.encode("<think>"))
