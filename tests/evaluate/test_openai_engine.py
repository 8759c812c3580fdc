"""The engine ``openai`` against a server of every kind: busy, broken, gone, slow, and rude."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import TransientError, UserError
from pipeline.base.ownership import owned
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.openai_engine import OpenAiEngine, reason_absent
from pipeline.evaluate.runner import grade_response
from pipeline.model.manifest import ApiManifest
from pipeline.tasks.example import Example
from tests.corpus.servers import DIALECTS, REFUSED
from tests.serving import Quiet, serving_in_a_thread

KEY = "TOMRL_TEST_KEY"
PROMPTS = [Prompt([{"role": "user", "content": f"question {n}"}], (n,), "") for n in range(12)]
SAMPLING = Sampling(16, temperature=0.5, top_p=0.9)
Reply = tuple[int, dict[str, str], bytes]


def completion(text: str | None, reason: str = "stop") -> bytes:
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "served",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        }
    ).encode()


def answer(body: dict[str, Any], trial: int) -> Reply:
    return 200, {}, completion(f"answer to {body['messages'][0]['content']}")


class Server(ThreadingHTTPServer):
    """Answers by a function of the question and how often it was put."""

    def __init__(self, reply: Callable[[dict[str, Any], int], Reply], port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.lock = threading.Lock()


class _Handler(Quiet):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.body())
        with self.server.lock:
            trial = sum(each["messages"] == body["messages"] for each in self.server.asked)
            self.server.asked.append(body)
            self.server.keys.add(self.headers.get("Authorization"))
        status, headers, content = self.server.reply(body, trial)
        self.answer(content, status, **{"Content-Type": "application/json", **headers})


@contextmanager
def serving(reply: Callable[[dict[str, Any], int], Reply], port: int = 0) -> Iterator[Server]:
    with serving_in_a_thread(Server(reply, port)) as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waiting, and give it a key."""
    monkeypatch.setenv(KEY, "secret")
    monkeypatch.setattr("pipeline.evaluate.openai_engine.FIRST_WAIT", 0.01)


def manifest(server: Server, **fields: Any) -> ApiManifest:
    given = {"key": KEY, "prompt_price": 2.0, "completion_price": 10.0, **fields}
    address = f"http://127.0.0.1:{server.server_port}/v1"
    return ApiManifest(model="gpt", api="served", address=address, **given)


def ask(server: Server, work: Path, tries: int = 3) -> list[Response]:
    engine = OpenAiEngine(manifest(server), work, tries=tries, at_once=4)
    return engine.complete(PROMPTS, SAMPLING, lambda _: None)


def test_every_prompt_is_answered_in_order(tmp_path: Path) -> None:
    with serving(answer) as server:
        engine = OpenAiEngine(manifest(server), tmp_path)
        said: list[int] = []
        found = engine.complete(PROMPTS, SAMPLING, said.append)
        assert server.keys == {"Bearer secret"}
        sent = server.asked[0]
    assert [each.text for each in found] == [f"answer to question {n}" for n in range(12)]
    assert said[0] == 0 and said[-1] == 12 and said == sorted(said)
    assert (sent["model"], sent["temperature"], sent["top_p"]) == ("served", 0.5, 0.9)
    assert sent["max_tokens"] == 16 and isinstance(sent["seed"], int)
    assert (engine.usage.prompt_tokens, engine.usage.completion_tokens) == (60, 36)
    assert engine.usage.cost(engine.manifest) == pytest.approx((60 * 2 + 36 * 10) / 1e6)
    assert engine.spent == "60 prompt and 36 completion tokens, 0.00 dollars"


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    def half(body: dict[str, Any], trial: int) -> Reply:
        number = int(body["messages"][0]["content"].split()[-1])
        return answer(body, trial) if number < 6 else (401, {}, b'{"error": {"message": "no"}}')

    with serving(half) as server, pytest.raises(UserError, match="status 401"):
        ask(server, tmp_path)
    (path,) = tmp_path.iterdir()
    kept = len(path.read_text().splitlines())
    assert 1 <= kept <= 6
    path.write_text(path.read_text() + '{"index": 11, "te')  # killed in the middle of a line
    with serving(answer, server.server_port) as server:
        said: list[int] = []
        engine = OpenAiEngine(manifest(server), tmp_path)
        assert len(engine.complete(PROMPTS, SAMPLING, said.append)) == 12
        assert (said[0], len(server.asked)) == (kept, 12 - kept)
        assert engine.usage.completion_tokens == 3 * 12
        assert len(ask(server, tmp_path)) == 12
        assert len(server.asked) == 12 - kept


def test_a_busy_server_is_asked_again_after_the_time_it_names(tmp_path: Path) -> None:
    def busy(body: dict[str, Any], trial: int) -> Reply:
        return answer(body, trial) if trial else (429, {"Retry-After": "0.3"}, b"{}")

    started = time.monotonic()
    with serving(busy) as server:
        found = ask(server, tmp_path)
        assert len(server.asked) == 24
    assert len(found) == 12 and time.monotonic() - started >= 0.3


def test_a_long_wait_is_waited_for_and_said_up_to_a_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return False

    def busy(body: dict[str, Any], trial: int) -> Reply:
        return answer(body, trial) if trial else (429, {"Retry-After": "200"}, b"{}")

    with serving(busy) as server:
        engine = OpenAiEngine(manifest(server), tmp_path, wait=wait)
        assert len(engine.complete(PROMPTS[:2], SAMPLING, lambda _: None)) == 2
    assert waited == [200.0, 200.0]
    assert "answers 429: waiting for 200 s" in capsys.readouterr().err
    with serving(lambda *_: (503, {"Retry-After": "86400"}, b"")) as server:
        engine = OpenAiEngine(manifest(server), tmp_path / "other", wait=wait)
        with pytest.raises(TransientError, match="asks to wait 86400 s, of at most 3600, 1 time;"):
            engine.complete(PROMPTS[:1], SAMPLING, lambda _: None)
    assert len(waited) == 2


def test_a_folder_of_answers_has_one_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.evaluate.openai_engine.owned", partial(owned, patience=0.0))
    with serving(answer) as server, owned(tmp_path), pytest.raises(UserError, match="in use"):
        ask(server, tmp_path)


@pytest.mark.parametrize(
    "broken",
    [
        (500, {}, b"oops"),
        (503, {}, b""),
        (200, {}, b"<html>welcome</html>"),
        (200, {}, completion("cut")[:40]),
        (200, {}, b'{"choices": []}'),
        (200, {}, b"[]"),
        (200, {"Content-Type": "text/html"}, b"<html>welcome</html>"),
    ],
)
def test_a_broken_answer_is_asked_for_again(tmp_path: Path, broken: Reply) -> None:
    with serving(lambda body, trial: answer(body, trial) if trial else broken) as server:
        assert len(ask(server, tmp_path)) == 12
    with (
        serving(lambda body, trial: broken) as server,
        pytest.raises(TransientError, match="3 times; the answers that came are kept"),
    ):
        ask(server, tmp_path / "other")


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    with serving(answer) as server:
        pass
    with pytest.raises(TransientError, match="does not answer"):
        ask(server, tmp_path)


def test_a_server_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.evaluate.openai_engine.LONGEST_WAIT", 0.2)

    def hang(body: dict[str, Any], trial: int) -> Reply:
        time.sleep(1)
        return answer(body, trial)

    with serving(hang) as server, pytest.raises(TransientError, match="does not answer"):
        ask(server, tmp_path, tries=2)


@pytest.mark.parametrize(("status", "words"), [(401, "key in TOMRL_TEST_KEY"), (404, "served")])
def test_what_its_user_must_mend_is_said_at_once(tmp_path: Path, status: int, words: str) -> None:
    error = json.dumps({"error": {"message": "no such thing"}}).encode()
    with serving(lambda body, trial: (status, {}, error)) as server:
        with pytest.raises(UserError, match=words) as raised:
            ask(server, tmp_path)
        assert len(server.asked) <= 12
    assert not isinstance(raised.value, TransientError)
    assert "no such thing" in str(raised.value) and "secret" not in str(raised.value)


def test_prompts_that_are_too_long_answers_that_are_empty_or_never_end(tmp_path: Path) -> None:
    long = json.dumps({"error": {"message": "m", "code": "context_length_exceeded"}}).encode()

    def reply(body: dict[str, Any], trial: int) -> Reply:
        match int(body["messages"][0]["content"].split()[-1]):
            case 0:
                return 400, {}, long
            case 1:
                return 200, {}, completion(None)
            case 2:
                return 200, {}, completion("so on and", "length")
        return answer(body, trial)

    with serving(reply) as server:
        found = ask(server, tmp_path)
    assert found[0] == Response("", 0, "prompt_too_long")
    assert found[1] == Response("", 3, "stop", 5)
    assert found[2] == Response("so on and", 3, "length", 5)


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [pytest.param(*refused, id=server) for server, *refused in REFUSED],
)
def test_a_server_that_refuses_one_question_is_asked_the_others(
    tmp_path: Path, status: int, error: dict[str, Any], reason: str
) -> None:
    def reply(body: dict[str, Any], trial: int) -> Reply:
        if body["messages"][0]["content"].split()[-1] == "0":
            return status, {}, json.dumps(error).encode()
        return answer(body, trial)

    with serving(reply) as server:
        found = ask(server, tmp_path)
    assert found[0] == Response("", 0, reason)
    assert all(each.text for each in found[1:])


@pytest.mark.parametrize(
    "refuses", [pytest.param(fields, id=server) for server, fields in DIALECTS]
)
def test_a_server_is_asked_in_its_dialect(
    tmp_path: Path, refuses: dict[str, tuple[int, Any]]
) -> None:
    def reply(body: dict[str, Any], trial: int) -> Reply:
        for name, (status, error) in refuses.items():
            if name in body:
                return status, {}, json.dumps(error).encode()
        assert {"max_tokens", "max_completion_tokens"} & set(body)
        return answer(body, trial)

    with serving(reply) as server:
        engine = OpenAiEngine(manifest(server), tmp_path, tries=3, at_once=4)
        found = engine.complete(PROMPTS, Sampling(16, temperature=1.0, top_p=1.0), lambda _: None)
    assert all(each.text for each in found)


def test_a_field_that_is_refused_and_means_something_is_named(tmp_path: Path) -> None:
    error = json.dumps({"error": {"message": "'temperature' is never 0.5"}}).encode()
    with (
        serving(lambda *_: (400, {}, error)) as server,
        pytest.raises(UserError, match=r"never 0\.5.*fix .* evaluate\.temperature"),
    ):
        ask(server, tmp_path)


def test_what_a_model_refuses_in_its_own_words_is_its_answer(tmp_path: Path) -> None:
    body = json.loads(completion(None))
    body["choices"][0]["message"]["refusal"] = "I cannot say."
    with serving(lambda *_: (200, {}, json.dumps(body).encode())) as server:
        assert {each.text for each in ask(server, tmp_path)} == {"I cannot say."}


def test_a_begun_answer_is_not_begun_twice(tmp_path: Path) -> None:
    with serving(lambda body, trial: (200, {}, completion("<think>why"))) as server:
        engine = OpenAiEngine(manifest(server), tmp_path)
        (found,) = engine.complete([Prompt(PROMPTS[0].messages, (0,), "<think>")], SAMPLING, print)
    assert found.text == "why"


_HIDDEN = {"hi_tom": "jar", "gsm8k": "18"}


@pytest.mark.parametrize("said", ["<answer>box</answer>", "I cannot say.", ""])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_that_a_server_takes_out_is_put_back_and_not_graded(
    tmp_path: Path, field: str, said: str
) -> None:
    message = {"role": "assistant", "content": said, field: "why <answer>jar</answer> 18 "}
    body = json.loads(completion("x"))
    body["choices"][0]["message"] = message
    with serving(lambda *_: (200, {}, json.dumps(body).encode())) as server:
        engine = OpenAiEngine(manifest(server), tmp_path)
        (found,) = engine.complete(PROMPTS[:1], SAMPLING, lambda _: None)
    assert found.text == f"why jar 18 </think>{said}"
    right = {task: Example(task, task, "s", "q", gold, "span") for task, gold in _HIDDEN.items()}
    for task, example in right.items():
        assert not grade_response(found.text, example, "tom-rl").correct, task


def test_without_a_key_the_model_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answer) as server:
        named, free = manifest(server), manifest(server, key=None, prompt_price=None)
    assert reason_absent(named) is None and reason_absent(free) is None
    monkeypatch.delenv(KEY)
    reason = reason_absent(named)
    assert reason is not None and f"{KEY} holds no key" in reason and "dvc repro --force" in reason
    assert reason_absent(free) is None
