"""The engine ``hf``: transformers, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.evaluate.effort import Effort
from pipeline.evaluate.engine import TOO_LONG, Place, Prompt, Response, respond
from pipeline.evaluate.journal import Journal
from pipeline.model.chat import encode_prompt
from pipeline.model.decode import Completion, Sampling
from pipeline.model.device import choose_device
from pipeline.model.stream import complete
from pipeline.model.weights import load_model
from pipeline.ownership import owned
from pipeline.provenance import MODEL, installed

SMALL_PRODUCT = 2**22
"""Multiplications below which a linear layer is better off without the calls of oneDNN."""


def open_engine(place: Place) -> TransformersEngine:
    """Return the engine of a model."""
    return TransformersEngine(place.model, place.work, place.batch)


class TransformersEngine:
    """Runs a model folder with transformers, on an accelerator where there is one.

    Args:
        folder: The model, in Hugging Face layout; loaded once there is something to ask.
        work: Keeps the answers as they come.
        batch: Completions that are written at a time.
    """

    name = "hf"

    def __init__(self, folder: Path, work: Path, batch: int) -> None:
        self.folder, self.work, self.batch = folder, work, batch
        self.libraries = installed(*MODEL)
        self.effort = Effort()

    @cached_property
    def _loaded(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        with self.effort.loading():
            model, tokenizer = load_model(self.folder, plain_below=SMALL_PRODUCT)
            return model.to(choose_device("auto")), tokenizer  # type: ignore[arg-type]

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        report: Callable[[int], None],
    ) -> list[Response]:
        """Return one response for each prompt, in order.

        A prompt that leaves no room for the longest answer in the model's context is not run: its
        response is empty with finish reason ``prompt_too_long``.

        Raises:
            UserError: If another process is at it.
        """
        model = [str(self.folder.resolve()), self.libraries]
        with owned(self.work):
            journal = Journal(self.work, model, sampling, prompts, report)
            if missing := journal.missing:
                self._ask(prompts, missing, sampling, journal)
            return [answer.response for answer in journal.answers()]

    def _ask(
        self,
        prompts: Sequence[Prompt],
        places: Sequence[int],
        sampling: Sampling,
        journal: Journal,
    ) -> None:
        model, tokenizer = self._loaded
        room = model.config.max_position_embeddings - sampling.max_new_tokens
        fitting: list[tuple[tuple[int, ...], int]] = []
        for place in places:
            prompt = prompts[place]
            tokens = encode_prompt(tokenizer, prompt.messages, begun=prompt.begun)
            if len(tokens) > room:
                journal.write(place, TOO_LONG)
            else:
                fitting.append((tokens, place))
        fitting.sort(key=lambda each: len(each[0]))  # less padding

        def hear(index: int, completion: Completion) -> None:
            response = respond(tokenizer, completion.tokens, completion.finished)
            journal.write(fitting[index][1], response)
            self.effort.add(response.completion_tokens)

        with self.effort.generating():
            complete(
                model,
                [tokens for tokens, _ in fitting],
                [prompts[place].key for _, place in fitting],
                sampling,
                int(tokenizer.eos_token_id),  # type: ignore[arg-type]
                self.batch,
                hear,
            )
