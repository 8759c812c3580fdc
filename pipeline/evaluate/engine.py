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
        sampling: How its tokens are chosen, where not as those of all others.
    """

    messages: Messages
    key: tuple[int, ...]
    begun: str = PREFILL
    question: str = ""
    sample: int = 0
    sampling: Sampling | None = None

    @property
    def digest(self) -> str:
        """A digest of what a model is shown."""
        return digest_of([self.messages, self.begun])[:16]


@dataclass(frozen=True, slots=True)
class Response:
    """The text that follows the prompt, and what the answer has begun with.

    ``prompt_tokens`` is 0 where they are not known.
    """

    text: str
    completion_tokens: int
    finish_reason: str
    prompt_tokens: int = 0


TOO_LONG = Response("", 0, "prompt_too_long")
"""Of a prompt that leaves no room for the longest answer in the model's context."""


def respond(
    tokenizer: PreTrainedTokenizerBase, tokens: Sequence[int], finished: bool, read: int
) -> Response:
    """A completion as a response to ``read`` tokens; its text leaves the token out that ended it.

    That is the tokenizer's own, or in vLLM another of the model's ``generation_config.json``.
    """
    text = str(tokenizer.decode(list(tokens[:-1] if finished else tokens)))
    return Response(text, len(tokens), "stop" if finished else "length", read)


@dataclass(frozen=True)
class EnginePlace:
    """Where an engine finds a model and keeps what is unfinished.

    Attributes:
        model: The model, in Hugging Face layout.
        work: Folder of resumable state.
        root: The checkout.
        threads: Threads to compute with.
        batch: Prompts decoded at once.
        precision: Number format to compute in, ``float32`` or ``bfloat16``.
    """

    model: Path
    work: Path
    root: Path
    threads: int
    batch: int
    precision: str = "float32"


class Engine(Protocol):
    """Anything that completes prompts.

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
        """One response for each prompt, in order; ``report`` hears how many are done."""
        ...


def by_sampling(prompts: Sequence[Prompt], sampling: Sampling) -> dict[Sampling, list[int]]:
    """The places of prompts whose tokens are chosen alike; ``sampling`` is that of most."""
    found: dict[Sampling, list[int]] = {}
    for place, prompt in enumerate(prompts):
        found.setdefault(prompt.sampling or sampling, []).append(place)
    return found


def complete_alike(
    prompts: Sequence[Prompt],
    sampling: Sampling,
    report: Callable[[int], None],
    complete: Callable[[list[Prompt], Sampling, Callable[[int], None]], list[Response]],
) -> list[Response]:
    """One response for each prompt, in order, where ``complete`` takes one sampling at a time."""
    responses = dict[int, Response]()
    for chosen, places in by_sampling(prompts, sampling).items():
        done = len(responses)
        alike = [prompts[place] for place in places]
        found = complete(alike, chosen, lambda count, done=done: report(done + count))  # type: ignore[misc]
        responses.update(zip(places, found, strict=True))
    return [responses[place] for place in range(len(prompts))]
