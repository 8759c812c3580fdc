"""The engine ``hf``: transformers, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.evaluate.engine import TOO_LONG, Place, Prompt, Response, respond
from pipeline.model.chat import encode_prompt
from pipeline.model.decode import Sampling, generate
from pipeline.model.weights import load_model
from pipeline.provenance import MODEL, installed


def open_engine(place: Place) -> TransformersEngine:
    """Return the engine of a model."""
    return TransformersEngine(place.model, place.batch)


class TransformersEngine:
    """Runs a model folder with transformers, in batches of prompts of similar length."""

    name = "hf"

    def __init__(self, folder: Path, batch: int) -> None:
        self.model, self.tokenizer = load_model(folder)
        self.batch = batch
        self.libraries = installed(*MODEL)

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        report: Callable[[int], None],
    ) -> list[Response]:
        """Return one response for each prompt, in order.

        A prompt that leaves no room for the longest answer in the model's context is not run: its
        response is empty with finish reason ``prompt_too_long``.
        """
        encoded = [
            encode_prompt(self.tokenizer, prompt.messages, begun=prompt.begun) for prompt in prompts
        ]
        room = self.model.config.max_position_embeddings - sampling.max_new_tokens
        responses = [TOO_LONG] * len(prompts)
        fitting = [index for index, tokens in enumerate(encoded) if len(tokens) <= room]
        fitting.sort(key=lambda index: len(encoded[index]))  # less padding
        end = int(self.tokenizer.eos_token_id)  # type: ignore[arg-type]
        for start in range(0, len(fitting), self.batch):
            chosen = fitting[start : start + self.batch]
            completions = generate(
                self.model,
                [encoded[index] for index in chosen],
                [prompts[index].key for index in chosen],
                sampling,
                end,
            )
            for index, completion in zip(chosen, completions, strict=True):
                responses[index] = respond(self.tokenizer, completion.tokens, completion.finished)
            report(len(prompts) - len(fitting) + start + len(chosen))
        return responses
