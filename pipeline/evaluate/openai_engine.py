"""The engine ``openai``: a model behind an OpenAI-compatible address, asked several things at once.

Where a server is busy, broken or gone, a question is put again: after the time that the server
names, or twice as long each time.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import openai
from openai.types.chat import ChatCompletion

from pipeline.base.errors import TransientError, UserError
from pipeline.base.ownership import owned
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import TOO_LONG, Prompt, Response, complete_alike
from pipeline.evaluate.journal import Journal, JournalFile
from pipeline.formats.download import named_wait
from pipeline.formats.plural import counted
from pipeline.formats.provenance import installed
from pipeline.model.chat import refuse_control
from pipeline.model.manifest import ApiManifest
from pipeline.tasks.grading import ANSWER_END, ANSWER_START, THINK_END

TRIES = 6
"""Times that a question is put before its server counts as gone."""

AT_ONCE = 8
"""Questions that are put at a time."""

LONGEST_WAIT = 300.0
"""Seconds for one answer."""

FIRST_WAIT = 0.5
"""Seconds before a question is put again to a server that names no time; then twice as long."""

LONGEST_NAMED_WAIT = 3600.0
"""Seconds that a server may ask to be left alone for; one that names more counts as gone."""

SAID_FROM = 10.0
"""Seconds from which on a wait is said."""

# How servers say that a prompt has no room, or that a filter refuses it: by a code, a type or a
# sentence, in the words of the servers that docs/models.md lists.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(?:maximum|max) model len"
    r"|context (?:length|size|window|limit)|(?:prompt|input) is too long|too many tokens"
    r"|input token count|inputs`? tokens \+|input length should be",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ](?:filter|policy|management)|ResponsibleAIPolicyViolation|safety (?:system|filter)"
    r"|invalid_prompt|(?:prompt|input) was flagged|data_inspection_failed|inappropriate content"
    r"|content exists risk",
    re.IGNORECASE,
)
_ANSWER = re.compile(f"{ANSWER_START}|{ANSWER_END}|{THINK_END}")
"""Has no meaning in a thought that a server keeps apart: what stands there is no answer."""
_CONTROL = re.compile(r"<[|｜][^|｜<>\s]{1,40}[|｜]>|<(?:start|end)_of_turn>|\[/?INST\]|</s>")
"""Shape of the control tokens of most models: which ones a server's model has, nobody says."""
_LIMIT, _LIMIT_ELSEWHERE = "max_tokens", "max_completion_tokens"
_MAY_LACK = {"temperature": 1.0, "top_p": 1.0, "seed": None}
"""Fields that some servers refuse, and the value that they take for granted; None is any."""
FILTERED = Response("", 0, "content_filter")
_MILLION = 1_000_000


def reason_absent(manifest: ApiManifest) -> str | None:
    """Why a model cannot be asked here; None where it can."""
    if manifest.key is None or os.environ.get(manifest.key):
        return None
    return (
        f"{manifest.api} is behind {manifest.address}, and {manifest.key} holds no key; export it "
        "and run dvc repro --force on this stage"
    )


@dataclass
class TokenUsage:
    """What was asked and answered, in tokens as the server counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def cost(self, manifest: ApiManifest) -> float | None:
        """Its price in dollars; None where the study names none."""
        if manifest.prompt_price is None or manifest.completion_price is None:
            return None
        asked = self.prompt_tokens * manifest.prompt_price
        return (asked + self.completion_tokens * manifest.completion_price) / _MILLION


def open_engine(manifest: ApiManifest, root: Path, work: Path) -> OpenAiEngine:
    return OpenAiEngine(manifest, work)


class OpenAiEngine:
    """Asks a model behind an address.

    Args:
        manifest: The model.
        work: Keeps the answers.
        tries: Times that a question is put.
        at_once: Questions that are put at a time.
        wait: Waits so many seconds and returns whether to stop; by default until they are over, or
            another question fails.
    """

    name = "openai"

    def __init__(
        self,
        manifest: ApiManifest,
        work: Path,
        tries: int = TRIES,
        at_once: int = AT_ONCE,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._stopped = Event()
        self._wait = wait or self._stopped.wait
        self.manifest, self.work, self.tries, self.at_once = manifest, work, tries, at_once
        self._journal = cache(partial(JournalFile, work, [manifest.api, manifest.address]))
        self.libraries = installed("openai")
        self._limit, self._left_out = _LIMIT, frozenset[str]()
        self.usage = TokenUsage()
        key = "none" if manifest.key is None else os.environ.get(manifest.key, "")
        self.client = openai.OpenAI(
            base_url=manifest.address, api_key=key, max_retries=0, timeout=LONGEST_WAIT
        )

    @property
    def spent(self) -> str:
        """What the answers took, in words."""
        asked, said = self.usage.prompt_tokens, self.usage.completion_tokens
        cost = self.usage.cost(self.manifest)
        dollars = "" if cost is None else f", {cost:,.2f} dollars"
        return f"{asked:,} prompt and {said:,} completion tokens{dollars}"

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        """One response for each prompt, in order.

        A prompt that is too long for the model is answered by nothing, with finish reason
        ``prompt_too_long``; one that the server's filter refuses, with ``content_filter``.

        Raises:
            UserError: If the server refuses the key, the model or the question.
                Or if another process is at it.
            TransientError: If it cannot be reached, or answers with errors or garbage to the last.
        """
        with owned(self.work):
            return complete_alike(prompts, sampling, report, self._answered)

    def _answered(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        self._stopped.clear()
        journal = Journal(self._journal(sampling), prompts, report)

        def ask(place: int) -> None:
            journal.write(place, self._ask(prompts[place], sampling))

        with ThreadPoolExecutor(self.at_once) as pool:
            waiting = [pool.submit(ask, place) for place in journal.missing]
            try:
                for future in wait(waiting, return_when=FIRST_EXCEPTION).done:
                    future.result()
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        answers = journal.answers()
        for answer in answers:
            self.usage.prompt_tokens += answer.prompt_tokens
            self.usage.completion_tokens += answer.completion_tokens
        return answers

    def _ask(self, prompt: Prompt, sampling: Sampling) -> Response:
        """What a prompt is answered by."""
        for trial in range(1, self.tries + 1):
            body = self._body(prompt, sampling)
            try:
                return _answer(self._put(prompt, body), prompt.begun)
            except (openai.RateLimitError, openai.InternalServerError) as error:
                why, named = f"answers {error.status_code}", named_wait(error.response.headers)
            except openai.APIStatusError as error:
                said = error.response.text
                if refused := _refusal(said):
                    return refused
                if self._adapts(said, body):
                    return self._ask(prompt, sampling)
                raise UserError(self._refused(error)) from None
            except openai.APIConnectionError as error:
                why, named = f"does not answer ({error.__cause__ or error})", None
            except (ValueError, TypeError, AttributeError, IndexError) as error:
                # It answered with something else than a completion: half an answer, or a web page.
                why, named = f"answers, but not with a completion ({error})", None
            self._bide(why, trial, named)
        raise AssertionError("the last trial ends in an answer or an error")

    def _body(self, prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
        """The fields that say how to answer, in the server's dialect as far as it is known."""
        fields = {
            self._limit: sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": _seed(prompt.key),
        }
        return {name: value for name, value in fields.items() if name not in self._left_out}

    def _adapts(self, said: str, body: Mapping[str, Any]) -> bool:
        """Whether a question that was refused can be put in other words that mean the same."""
        if _LIMIT in body and (_LIMIT_ELSEWHERE in said or _names(said, _LIMIT)):
            self._limit = _LIMIT_ELSEWHERE
            return True
        for name, granted in _MAY_LACK.items():
            if name in body and body[name] == (granted or body[name]) and _names(said, name):
                self._left_out |= {name}
                return True
        return False

    def _put(self, prompt: Prompt, body: Mapping[str, Any]) -> ChatCompletion:
        messages: Any = prompt.messages
        for message in prompt.messages:
            refuse_control(_CONTROL.findall(message["content"]), message["content"])
        found: ChatCompletion = self.client.chat.completions.create(
            model=self.manifest.api, messages=messages, extra_body=dict(body)
        )
        return found

    def _bide(self, why: str, trial: int, named: float | None) -> None:
        """Wait until a question may be put again.

        Raises:
            TransientError: If it is not to be put again.
        """
        if named is not None and named > LONGEST_NAMED_WAIT:
            why = f"{why} and asks to wait {named:.0f} s, of at most {LONGEST_NAMED_WAIT:.0f}"
            raise TransientError(self._gone(why, trial))
        pause = FIRST_WAIT * 2 ** (trial - 1) if named is None else named
        if trial < self.tries and pause >= SAID_FROM:
            print(
                f"engine openai: {self.manifest.address} {why}: waiting for {pause:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        if trial == self.tries or self._wait(pause):
            raise TransientError(self._gone(why, trial))

    def _gone(self, why: str, trial: int) -> str:
        return (
            f"engine openai: {self.manifest.address} {why}, {counted(trial, 'time')}; the answers "
            "that came are kept: run it again to ask for the others"
        )

    def _refused(self, error: openai.APIStatusError) -> str:
        where = "" if self.manifest.key is None else f", the key in {self.manifest.key}"
        said = str(error.message if " - " in error.message else error.response.text)[:300]
        return (
            f"engine openai: {self.manifest.address} refuses the question with status "
            f"{error.status_code} ({said}); fix the model's name ({self.manifest.api}){where}, "
            "evaluate.temperature, or its address in the study"
        )


def _answer(found: ChatCompletion, begun: str) -> Response:
    if not found.choices and (error := getattr(found, "error", None)):
        if refused := _refusal(str(error)):
            return refused
        raise ValueError(error)
    choice = found.choices[0]
    text = choice.message.content or choice.message.refusal or ""
    if thought := _reasoning(choice.message):
        text = f"{_ANSWER.sub('', thought)}{THINK_END}{text}"
    used = found.usage
    return Response(
        text=text.removeprefix(begun) if begun else text,
        completion_tokens=used.completion_tokens if used else 0,
        finish_reason=choice.finish_reason or "stop",
        prompt_tokens=used.prompt_tokens if used else 0,
    )


def _refusal(said: str) -> Response | None:
    """What stands for the answer to a question that a server refuses, and only that one."""
    if _FILTERED.search(said):
        return FILTERED
    return TOO_LONG if _TOO_LONG.search(said) else None


def _names(said: str, field: str) -> bool:
    """Whether an error names a field of the question, in quotes of any kind."""
    return re.search(rf"[`'\"]{field}\\?[`'\"]", said) is not None


def _reasoning(message: object) -> str:
    """The reasoning that some servers take out of an answer."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(found := getattr(message, name, None), str):
            return found
    return ""


def _seed(key: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(list(key)).generate_state(1)[0]) >> 1
