"""Sampling and scoring of evaluations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.base.plugins import ENGINES, LIKELIHOODS, SERVED
from pipeline.config.data import PromptStyle
from pipeline.config.programs import Program
from pipeline.config.section import Batch, Key, Section, Tokens, one_of

_NOT_BY = (
    ("precision", "float32", {"vllm"}, "does not let it be chosen"),
    ("scoring", "answers", {*ENGINES, *SERVED} - {*LIKELIHOODS}, "does not say how likely it is"),
)
"""(field, default, engines that support no other value, reason)."""


def _is_usual(precision: object) -> bool:
    return precision == "float32"


EACH_STEP = 64
"""Default number of questions per column for kept steps."""


class Evaluate(Section):
    """Sampling and scoring of evaluations.

    Attributes:
        engine: See :data:`pipeline.base.plugins.ENGINES`; ``openai`` and ``replay`` are for models
            of the kinds ``api`` and ``recorded``.
        prompt: Prompt of trained cells.
        base_prompt: Prompt of base and API cells, if different.
        crossed: Also ask base models with the prompt of trained cells and vice versa, to separate
            effects of prompt and training.
        think: Allow reasoning before tagged answers; else an empty thought is pre-filled.
        programs: Ways to have a base model answer without training, by name, such as a ``vote`` of
            eight: each is a cell of its own beside the plain one.
        samples: Answers per question; several need a temperature above 0. Accuracy, verdicts and
            changes use the first; mean@k, pass@k and majority@k are reported beside them.
        temperature: 0 is greedy.
        top_p: Nucleus.
        max_new_tokens: Maximum completion.
        tried: Questions, one per story, for the test of whether the reasoning is used: it is
            edited, and the model continues from there (0: none). Needs weights.
        scoring: ``answers`` grades text; ``options`` also finds the likeliest option, see
            :mod:`pipeline.evaluate.options`.
        batch: Prompts decoded at once.
        at: Weights of a trained cell to evaluate: the final ones (``used``), or also those of every
            saved step (``all``), see :mod:`pipeline.evaluate.along`.
        each_step: Maximum questions of each column for saved steps, pairs whole.
        precision: Number format of the engine ``hf``. Greedy texts of ``bfloat16`` and ``float32``
            often differ, so columns compare within one format alone.
    """

    engine: Annotated[str, one_of((*ENGINES, *SERVED))] = "hf"
    prompt: PromptStyle
    base_prompt: PromptStyle | None = None
    crossed: bool = False
    think: bool = True
    programs: dict[Key, Program] = Field(default={}, exclude_if=lambda programs: not programs)
    samples: Annotated[int, Field(ge=1, le=1024)] = 1
    temperature: float = Field(default=0.0, ge=0, le=100)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_new_tokens: Tokens
    tried: Annotated[int, Field(ge=0, le=10_000)] = 0
    scoring: Literal["answers", "options"] = "answers"
    batch: Batch = 64
    # Cells that ask for no other are written as if there were none.
    precision: Literal["float32", "bfloat16"] = Field(default="float32", exclude_if=_is_usual)
    at: Literal["used", "all"] = Field(default="used", exclude_if=lambda at: at == "used")
    each_step: Annotated[int, Field(ge=2, le=100_000)] = Field(
        default=EACH_STEP, exclude_if=lambda count: count == EACH_STEP
    )

    @property
    def calls(self) -> int:
        """Completions for each question, of a cell."""
        return self.samples * sum(each.calls for each in self.programs.values()) or self.samples

    @model_validator(mode="after")
    def _engine_does_it(self) -> Evaluate:
        for field, usual, engines, why in _NOT_BY:
            if self.engine in engines and (found := getattr(self, field)) != usual:
                others = ", ".join(name for name in ENGINES if name not in engines)
                raise ValueError(
                    f"found {field}: {found} with engine: {self.engine}, which {why}; engines that "
                    f"do: {others}. Name one, or leave {field} out"
                )
        return self

    @model_validator(mode="after")
    def _two_prompts_to_cross(self) -> Evaluate:
        if self.crossed and self.base_prompt in (None, self.prompt):
            raise ValueError(
                f"found crossed: true with base_prompt {self.base_prompt}; crossing takes two "
                "prompts: name another base_prompt, or leave crossed out"
            )
        return self

    @model_validator(mode="after")
    def _samples_differ(self) -> Evaluate:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError(
                f"found samples: {self.samples} with temperature: 0, at which all samples are the "
                "same; name a temperature above 0, or leave samples out"
            )
        return self
