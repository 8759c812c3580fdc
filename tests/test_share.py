"""``tomrl export model`` and ``data``: what libraries load is what the study has."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.data.codec import read_dataset
from pipeline.data.fresh import fresh
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.runner import Asking, prompts_of
from pipeline.formats.files import read_json, read_lines
from pipeline.judge.recorded import read_suite
from pipeline.model.chat import encode_prompt
from pipeline.ops.mirror.server import EXPERIMENT
from pipeline.ops.share.licences import licences
from tests.conftest import PROJECT, ended_well, type_command
from tests.data.test_fresh import DRAWN
from tests.model.receiving_hub import TOKEN, ReceivingHub
from tests.pages import blocks

pytestmark = pytest.mark.chain
SHARE = PROJECT / "docs" / "share.md"
OWNED, OTHERS = "me/nano-hi", "others/nano-hi"


@pytest.fixture
def study(reproduced: Path, tmp_path: Path) -> Path:
    """A copy of a study and its results."""
    return shutil.copytree(reproduced, tmp_path / "study", symlinks=True)


@pytest.fixture
def hub() -> Iterator[ReceivingHub]:
    found = ReceivingHub()
    yield found
    found.close()


def typed(study: Path, *words: str, **extra: str) -> tuple[int, str]:
    done = type_command(study, study.parent, "tomrl", "export", *words, **extra)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def test_transformers_and_mlflow_give_the_recorded_answers(
    study: Path, tracking: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, output = typed(study, "model", "nano-hi", "--to", "out")
    assert status == 0 and "from_pretrained" in output, output
    tokenizer = AutoTokenizer.from_pretrained(study / "out")
    model = AutoModelForCausalLM.from_pretrained(study / "out", dtype=torch.float32)
    params = expand(find_study(study, "mini"))
    suite = read_suite(study / "data/mini/suite", params.suite.tasks)
    responses = pd.read_parquet(study / "runs/mini/nano-hi/evaluate/responses.parquet")
    said = {(row.id, row.task): row.response for row in responses.itertuples()}
    settings = params.cell("nano-hi").evaluate
    asking = Asking(settings.prompt, Sampling(settings.max_new_tokens))
    for column, examples in suite.items():
        for example, prompt in zip(examples, prompts_of(examples, asking, seed=0), strict=True):
            asked = tokenizer.apply_chat_template(
                list(prompt.messages),
                add_generation_prompt=True,
                return_tensors="pt",
                return_dict=True,
            )
            given = model.generate(**asked)[0][asked["input_ids"].shape[1] :]
            new = tokenizer.decode(given).removesuffix(tokenizer.eos_token)
            assert said[example.id, column] == new
            ids = encode_prompt(tokenizer, prompt.messages, begun=prompt.begun)
            assert list(ids) == asked["input_ids"][0].tolist(), "and it is no other one here"
    assert read_json(study / "out" / "config.json")["architectures"] == ["Qwen2ForCausalLM"]
    card = (study / "out" / "README.md").read_text()
    for word in ("license: apache-2.0", "## Verdict", "answers follow", "rule baseline", "GRPO"):
        assert word.lower() in card.lower()
    usage = card.partition("```python\n")[2].partition("```")[0]
    printed, known = io.StringIO(), dict[str, Any](MODEL=str(study / "out"))
    with redirect_stdout(printed):
        exec(usage, known)
    assert printed.getvalue().rstrip("\n") in said.values()
    monkeypatch.chdir(study)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{shutil.copy(tracking, study)}")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    (logging,) = (text for language, text in blocks(SHARE) if language == "python")
    exec(logging, known)
    served = mlflow.pyfunc.load_model(known["logged"].model_uri)
    how = {"max_new_tokens": settings.max_new_tokens, "do_sample": False}
    for column, examples in suite.items():
        chats = [list(prompt.messages) for prompt in prompts_of(examples, asking, seed=0)]
        for example, chat in zip(examples, chats, strict=True):
            expected = said[example.id, column]
            for (answered,) in known["ask"](chat, **how), known["ask_again"](chat):
                assert answered["generated_text"][-1]["content"] == expected
            (answered,) = served.predict({"messages": chat})
            assert answered["choices"][0]["message"]["content"] == expected.strip()


def test_a_model_goes_to_a_hub(study: Path, hub: ReceivingHub) -> None:
    known = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    words = ("model", "nano-hi", "--to", "out", "--push")
    assert "there is no token" in typed(study, *words, OWNED, **known, HF_HOME=str(study))[1]
    status, output = typed(study, *words, OWNED, **known, HF_TOKEN=TOKEN)
    assert status == 0 and f"sent to {hub.url}/{OWNED}" in output
    sent = {name: data for name, data in hub.repositories[OWNED].items() if name[0] != "."}
    assert sent == {path.name: path.read_bytes() for path in (study / "out").iterdir()}


_PUSHES = """
import os, sys
from pathlib import Path
from pipeline.base.errors import UserError
from pipeline.ops.share.model import push_folder
for token, name in (each.split("=") for each in sys.argv[1:]):
    os.environ["HF_TOKEN"] = token
    try:
        print(push_folder(Path("out"), name))
    except UserError as error:
        print(error)
"""


def test_what_a_hub_refuses_is_said(tmp_path: Path, hub: ReceivingHub) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.safetensors").write_bytes(b"weights")
    hub.refusals = [413, 0]
    known = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    pushes = [f"no={OWNED}", f"{TOKEN}={OTHERS}", *(f"{TOKEN}={OWNED}",) * 4]
    command = (sys.executable, "-c", _PUSHES, *pushes)
    done = type_command(tmp_path, tmp_path, *command, **known, PYTHONPATH=str(PROJECT))
    said = [line for line in done.stdout.splitlines() if "nano-hi" in line]
    assert done.returncode == 0 and len(said) == len(pushes), done.stdout + done.stderr
    expected = (
        *("401: it does not accept the token", "403: the token may not write there"),
        *("413: it is too large", "broke off", f"{hub.url}/{OWNED}", "the name is taken"),
    )
    for words, line in zip(expected, said, strict=True):
        assert words in line


def test_datasets_loads_what_the_study_has(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datasets import get_dataset_config_names, load_dataset

    status, output = typed(study, "data", "--to", "out")
    assert status == 0, output
    folder, cache = str(study / "out"), str(tmp_path / "cache")
    names = get_dataset_config_names(folder)
    assert {"hi", "suite-hi_tom_order_3"} <= set(names)
    loaded = load_dataset(folder, "hi", cache_dir=cache)
    for split in ("train", "validation"):
        rows = read_dataset(study / f"data/mini/combos/hi/{split}.parquet")
        assert [row["extra_info"]["id"] for row in loaded[split]] == [r.example.id for r in rows]
        assert [row["prompt"] for row in loaded[split]] == [list(r.prompt) for r in rows]


_DRAWS = """
import json, sys
from itertools import islice
import tomrl_hi_tom_style as environment
from tomrl_hi_tom_style._engine.data import fresh
fresh.fresh.__defaults__ = (600,)
ids = [row["example"]["id"] for row in islice(environment.stream(3), 60)]
print(json.dumps([ids, [*sys.modules]]))
"""


def test_an_environment_draws_what_the_project_does(study: Path) -> None:
    status, output = typed(study, "environment", "hi_tom_style", "--to", "out")
    assert status == 0, output
    lines = study / "out" / "tomrl_hi_tom_style" / "stream.jsonl"
    (drawn,) = read_lines(lines)
    assert (drawn["task"], drawn["orders"]) == ("hi_tom_style_train", [0, 1, 2])
    lines.write_text(DRAWN.model_dump_json())
    command = (sys.executable, "-c", _DRAWS)
    done = ended_well(study, *command, PYTHONPATH=str(study / "out"))
    ids, modules = json.loads(done.stdout)
    assert ids == [example.id for example in islice(fresh([DRAWN], 3, 600), 60)]
    assert not [name for name in modules if name.partition(".")[0] == "pipeline"]


def test_what_may_not_be_passed_on_is_refused_by_name(study: Path) -> None:
    params = expand(find_study(PROJECT, "rlvr"))
    tasks = {column.task for column in params.suite.columns.values()}
    with pytest.raises(UserError, match="x may .* it quotes percept_fantom .*states no licence"):
        licences(params, tasks, "x")
    params = expand(find_study(PROJECT, "grid"))
    tasks = {"opentom_attitude", "hi_tom", "hi_tom_style"}
    assert licences(params, tasks, "x").keys() == {"hi_tom", "opentom"}
    with pytest.raises(UserError, match="it quotes opentom .*not to train on it"):
        licences(params, tasks, "x", to_train=True)
    status, output = typed(study, "data", "rlvr", "--to", "out")
    assert status == 2 and "may not be passed on" in output
    assert not (study / "out").exists()
