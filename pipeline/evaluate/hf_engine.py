"""The engine ``hf``: transformers, in this process.

What takes seconds to import is imported once there is something to ask: a run that was stopped may
have asked it all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.ownership import owned
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import (
    TOO_LONG,
    EnginePlace,
    Prompt,
    Response,
    complete_alike,
    respond,
)
from pipeline.evaluate.journal import Journal, JournalFile, KeptFigures
from pipeline.evaluate.option_scoring import Choice, batches
from pipeline.formats.files import digest_of
from pipeline.formats.provenance import MODEL, installed
from pipeline.model.chat import encode_continued, encode_prompt

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from pipeline.engine.decode import Completion

SMALL_PRODUCT = 2**22
"""Multiplications below which a linear layer is better off without the calls of oneDNN."""


def open_engine(place: EnginePlace) -> TransformersEngine:
    return TransformersEngine(place.model, place.work, place.batch, place.threads, place.precision)


class TransformersEngine:
    """Runs a model folder with transformers, on an accelerator where there is one.

    Args:
        folder: The model, in Hugging Face layout; loaded once there is something to ask.
        work: Keeps the answers as they come.
        batch: Completions that are written at a time.
        threads: To compute with, as this process is told when the model is loaded.
        precision: Number format to compute in, ``float32`` or ``bfloat16``.
    """

    name = "hf"

    def __init__(
        self,
        folder: Path,
        work: Path,
        batch: int,
        threads: int | None = None,
        precision: str = "float32",
    ) -> None:
        self.folder, self.work, self.batch = folder, work, batch
        self.threads, self.precision = threads, precision
        self.libraries = installed(*MODEL)
        self._held = ExitStack()  # as long as the model is loaded
        self._journal = cache(partial(JournalFile, work, self._computed_by))

    @property
    def _computed_by(self) -> list[object]:
        """What figures that are kept depend on, beside prompts.

        The folder's name is its digest: a checkout may be moved.
        """
        usual = self.precision == "float32"
        return [self.folder.name, self.libraries, *([] if usual else [self.precision])]

    @cached_property
    def _loaded(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        from pipeline.engine.device import choose_device, own_gpu, set_up_torch
        from pipeline.engine.families import refuse_unfit
        from pipeline.model.weights import load_model

        if self.threads is not None:
            set_up_torch(self.threads)
        model, tokenizer = load_model(self.folder, plain_below=SMALL_PRODUCT)
        refuse_unfit(model)
        self._held.enter_context(own_gpu("auto", partial(print, "engine hf:", flush=True)))
        return model.to(choose_device("auto")), tokenizer  # type: ignore[arg-type]

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        report: Callable[[int], None],
    ) -> list[Response]:
        """One response for each prompt, in order.

        A prompt that leaves no room for the longest answer in the model's context is not run: its
        response is empty with finish reason ``prompt_too_long``.

        Raises:
            UserError: If another process is at it.
        """
        with owned(self.work):
            return complete_alike(prompts, sampling, report, self._answered)

    def _answered(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        journal = Journal(self._journal(sampling), prompts, report)
        if missing := journal.missing:
            self._ask(prompts, missing, sampling, journal)
        return journal.answers()

    def _ask(
        self,
        prompts: Sequence[Prompt],
        places: Sequence[int],
        sampling: Sampling,
        journal: Journal,
    ) -> None:
        from pipeline.engine.device import answering
        from pipeline.engine.families import context_of
        from pipeline.engine.stream import complete
        from pipeline.model.weights import end_ids_of

        model, tokenizer = self._loaded
        room = context_of(model.config) - sampling.max_new_tokens
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
            prompt, place = fitting[index]
            response = respond(tokenizer, completion.tokens, completion.finished, len(prompt))
            journal.write(place, response)

        with answering(model, self.precision):
            complete(
                model,
                [tokens for tokens, _ in fitting],
                [prompts[place].key for _, place in fitting],
                sampling,
                end_ids_of(model, tokenizer),
                self.batch,
                hear,
            )

    def log_likelihoods(
        self, choices: Sequence[Choice], report: Callable[[int], None]
    ) -> list[tuple[float, ...]]:
        """Of each text of each choice, in nats; none where the model has no room for a prompt.

        Which prompts are computed together depends on what is asked alone, and not on what an
        earlier run has left, so that a run that goes on ends in the same figures.

        Raises:
            UserError: If another process is at it.
        """
        with owned(self.work):
            model = digest_of(self._computed_by)[:12]
            kept = KeptFigures(self.work / f"{model}.options.jsonl")
            found = dict[int, tuple[float, ...]]()
            for places in batches(choices):
                batch = [choices[place] for place in places]
                name = digest_of([[prompt.digest, texts] for prompt, texts in batch])
                values = kept.get(name, lambda batch=batch: self._scored(batch))  # type: ignore[misc]
                found.update(zip(places, map(tuple, values), strict=True))
                report(len(found))
        return [found[place] for place in range(len(choices))]

    def _scored(self, batch: Sequence[Choice]) -> list[list[float]]:
        from pipeline.engine.families import context_of
        from pipeline.engine.likelihood import log_likelihoods

        model, tokenizer = self._loaded
        room = context_of(model.config)
        encoded = [encode_continued(tokenizer, p.messages, p.begun, texts) for p, texts in batch]
        fits = [len(prompt) + max(map(len, texts)) <= room for prompt, texts in encoded]
        asked = [each for each, fit in zip(encoded, fits, strict=True) if fit]
        if not asked:
            return [[] for _ in batch]
        prompts, texts = zip(*asked, strict=True)
        scores = iter(log_likelihoods(model, prompts, texts, self.precision))
        return [next(scores) if fit else [] for fit in fits]
