"""What ``tomrl export environment`` and ``data`` write, in the libraries that it is for."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.formats.files import read_lines
from pipeline.tasks import registry
from tests.conftest import PROJECT, ended_well, type_command
from tests.made_answers import example_of, made_up
from tests.serving import Quiet, serving

PACKAGE = "tomrl_hi_tom_style"
RESPONSES, ASKED = 9600, 4
ENVIRONMENTS = {
    "verifiers": "verifiers",
    "trl": "engines",
    "inspect": "export",
    "lm-eval": "export",
}
MODULES = {"lm-eval": "lm_eval", "inspect": "inspect_ai"}
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Other tests here need the engine environment, most of these others."""


@pytest.fixture(scope="module")
def package(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(reproduced, tmp_path_factory.mktemp("package"), "environment", "hi_tom_style")


@pytest.fixture(scope="module")
def rows(package: Path) -> list[dict[str, Any]]:
    return read_lines(package / PACKAGE / "test.jsonl")


def exported(checkout: Path, home: Path, *words: str) -> Path:
    target = home / words[0]
    ended_well(checkout, "tomrl", "export", *words, "--to", str(target))
    return target


def tools(library: str) -> Path:
    """The folder of programs of a library's environment; a test without it is skipped."""
    found = PROJECT / f".venv-{ENVIRONMENTS[library]}" / "bin"
    module = MODULES.get(library, library)
    command = [str(found / "python"), "-c", f"import {module}"]
    asked: dict[str, Any] = {"capture_output": True, "env": variables(found)}
    if not (found / "python").exists() or subprocess.run(command, **asked).returncode:
        pytest.skip(f"{found} has no {module}; make it with: make test-engines")
    return found


def variables(programs: Path) -> dict[str, str]:
    """What programs of an environment are run with; TRL lies apart in that of verl."""
    return {**os.environ, **OFFLINE, "PYTHONPATH": str(programs.parent / "apart")}


def scored(library: str, folder: Path, answers: object, *more: str) -> Any:
    script, programs = Path(__file__).with_name("environments.py"), tools(library)
    done = subprocess.run(
        [str(programs / "python"), str(script), library, str(folder), *more],
        input=json.dumps(answers),
        env=variables(programs),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("library", ["verifiers", "inspect", "lm-eval"])
def test_every_library_scores_as_tomrl_does(
    package: Path, rows: list[dict[str, Any]], library: str
) -> None:
    answers = made_up(rows, RESPONSES)
    found = scored(library, package, [(place, f"<think>{text}") for place, text in answers])
    figures = 3 if library == "verifiers" else 2  # harnesses pay nothing
    assert found == [each[:figures] for each in expected(rows, answers)]


def expected(rows: list[dict[str, Any]], answers: list[tuple[int, str]]) -> list[list[float]]:
    examples = [example_of(row) for row in rows]
    grades = [registry.get(examples[p].task).grade(text, examples[p]) for p, text in answers]
    return [[*map(float, (g.strict, g.correct, g.strict and g.format_ok))] for g in grades]


def test_trl_pays_what_is_earned(package: Path, rows: list[dict[str, Any]]) -> None:
    answers = made_up(rows, RESPONSES)
    earned = scored("trl", package, [(place, f"<think>{text}") for place, text in answers])
    assert earned == [paid for *_, paid in expected(rows, answers)]


class Answering(Quiet):
    """Answers chat completions by what was asked last."""

    known: Mapping[str, str]

    def do_POST(self) -> None:
        asked = json.loads(self.body())
        text = self.known[asked["messages"][-1]["content"]]
        said = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        whole = {"id": "1", "created": 1, "model": "m", "usage": usage, "choices": [choice]}
        body = json.dumps({**whole, "object": "chat.completion"})
        self.answer(body.encode(), Content_Type="application/json")


@pytest.fixture
def server(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A server on loopback that answers every second question right; yield its address."""
    Answering.known = {
        row["prompt"][-1]["content"]: "I see.</think><answer>"
        f"{row['example']['answer'] if place % 2 else 'nowhere'}</answer>"
        for place, row in enumerate(rows)
    }
    with serving(Answering) as address:
        yield f"{address}/v1"


def typed(folder: Path, package: Path, *command: str, **extra: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": str(package), **extra},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_inspect_asks_a_server(
    package: Path, rows: list[dict[str, Any]], server: str, tmp_path: Path
) -> None:
    log = evaluated(package, tmp_path, server, "m", ASKED)
    scores = {s["id"]: s["scores"]["graded"]["value"]["strict"] for s in log["samples"]}
    ids = [row["example"]["id"] for row in rows[:ASKED]]  # samples stand as they ended
    assert scores == {name: float(place % 2) for place, name in enumerate(ids)}
    (path,) = (tmp_path / "logs").glob("*.json")
    half_right(path)
    convert = (str(tools("inspect") / "inspect"), "log", "convert", str(path), "--to", "eval")
    typed(tmp_path, package, *convert, "--output-dir", str(tmp_path))
    (packed,) = tmp_path.glob("*.eval")
    half_right(packed)


def evaluated(
    package: Path, home: Path, server: str, model: str, count: int, *more: str
) -> dict[str, Any]:
    """What Inspect logs of so many questions to a model at a server."""
    options = ("--model", f"openai-api/loopback/{model}", "--limit", str(count))
    where = ("--display", "none", "--log-dir", str(home / "logs"), "--log-format", "json")
    program, known = str(tools("inspect") / "inspect"), {"LOOPBACK_BASE_URL": server}
    command = (program, "eval", "inspect_task.py", *options, *where, *more)
    typed(package / PACKAGE, package, *command, LOOPBACK_API_KEY="none", **known)
    (path,) = (home / "logs").glob("*.json")
    log: dict[str, Any] = json.loads(path.read_text())
    assert log["status"] == "success"
    return log


def half_right(path: Path) -> None:
    """``tomrl judge`` reads a log as the server answered."""
    judge = ("tomrl", "judge", str(path), "--benchmark", "hi_tom_style", "--json")
    done = type_command(path.parent, path.parent, *judge)
    assert done.returncode == 0, done.stderr
    accuracy = json.loads(done.stdout)["evidence"]["answers"]["accuracy"]
    assert (accuracy["count"], accuracy["value"]) == (ASKED, 0.5)


def test_the_harness_asks_a_server(package: Path, server: str, tmp_path: Path) -> None:
    arguments = f"model=m,base_url={server}/chat/completions,tokenized_requests=False"
    where = ("--include_path", str(package / PACKAGE), "--output_path", str(tmp_path / "out"))
    model = ("--model", "local-chat-completions", "--model_args", arguments, *where)
    command = (str(tools("lm-eval") / "lm-eval"), "run", "--tasks", PACKAGE, *model)
    limit = ("--apply_chat_template", "--log_samples", "--limit", str(ASKED))
    typed(tmp_path, package, *command, *limit)
    (path,) = (tmp_path / "out").rglob("samples_*.jsonl")
    half_right(path)


def rolled_out(package: Path, home: Path, server: str, model: str, count: int, *more: str) -> Any:
    """What verifiers traces of so many questions to a model at a server."""
    options = ("-m", model, "--client.base-url", server, "--client.api-key-var", "OPENAI_API_KEY")
    harness = ("--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess")
    where = ("--env.taskset.split", "test", "-n", str(count), "-o", "out", "--no-push", "--no-rich")
    name = PACKAGE.replace("_", "-")
    command = (str(tools("verifiers") / "vf-eval"), name, *options, *harness, *where, *more)
    typed(home, package, *command)
    (path,) = (home / "out").glob("*/traces.jsonl")
    return [each.get("traces", [each])[0] for each in read_lines(path)]
