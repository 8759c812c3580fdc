"""Engines: what turns prompts into responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.data.messages import Messages
from pipeline.engine.sampling import Sampling
from pipeline.formats.files import digest_of
from pipeline.formats.provenance import Libraries
from pipeline.model.chat import PREFILL

if TYPE_CHECKING:  # it loads for seconds, and most who import this want no model
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Prompt:
    """One chat prompt.

    Attributes:
        messages: The chat.
        key: Start of its stream of random numbers.
        begun: What the answer begins with; see :func:`pipeline.model.chat.beginning`.
        question: Id of what it asks.
        sample: Number of the answer, where a question has several.
    """

    messages: Messages
    key: tuple[int, ...]
    begun: str = PREFILL
    question: str = ""
    sample: int = 0

    @property
    def digest(self) -> str:
        """Return a digest of what a model is shown."""
        return digest_of([self.messages, self.begun])[:16]


@dataclass(frozen=True, slots=True)
class Response:
    """The text that follows the prompt, and what the answer has begun with."""

    text: str
    completion_tokens: int
    finish_reason: str


TOO_LONG = Response("", 0, "prompt_too_long")
"""Of a prompt that leaves no room for the longest answer in the model's context."""


def respond(tokenizer: PreTrainedTokenizerBase, tokens: Sequence[int], finished: bool) -> Response:
    """Return a completion as a response, whose text leaves the token out that ended it.

    That is the tokenizer's own, or in vLLM another of the model's ``generation_config.json``.
    """
    text = str(tokenizer.decode(list(tokens[:-1] if finished else tokens)))
    return Response(text, len(tokens), "stop" if finished else "length")


@dataclass(frozen=True)
class Ahead:
    """What another stage will ask the same model: answered while that is loaded anyway.

    Attributes:
        prompts: What it will ask.
        sampling: How tokens are chosen.
        work: Its folder of resumable state, where it finds the answers.
    """

    prompts: Sequence[Prompt]
    sampling: Sampling
    work: Path


@dataclass(frozen=True)
class Place:
    """Where an engine finds a model and keeps what is unfinished.

    Attributes:
        model: The model, in Hugging Face layout.
        work: Folder of resumable state.
        root: The checkout.
        threads: Threads to compute with.
        batch: Prompts decoded at once.
        ahead: What is answered too, once all else is.
    """

    model: Path
    work: Path
    root: Path
    threads: int
    batch: int
    ahead: Sequence[Ahead] = ()


class Engine(Protocol):
    """Anything that completes prompts.

    One that holds an ``effort`` (:class:`pipeline.evaluate.effort.Effort`) has its speed logged.

    Attributes:
        name: Its name in a study.
        libraries: Versions of what it computes with, known once it has run.
    """

    name: str
    libraries: Libraries

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        report: Callable[[int], None],
    ) -> list[Response]:
        """Return one response for each prompt, in order; ``report`` hears how many are done."""
        ...
