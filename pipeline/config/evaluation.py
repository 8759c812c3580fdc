"""How completions are sampled for scoring."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.base.plugins import ENGINES, LIKELIHOODS, SERVED
from pipeline.config.data import PromptStyle
from pipeline.config.section import Batch, Section, Tokens, one_of

_NOT_BY = (
    ("precision", "float32", {"vllm"}, "does not let it be chosen"),
    ("scoring", "answers", {*ENGINES, *SERVED} - {*LIKELIHOODS}, "does not say how likely it is"),
)
"""A field, the value that any engine takes, and the engines that take no other, with the reason."""


def _is_usual(precision: object) -> bool:
    return precision == "float32"


EACH_STEP = 64
"""Questions of each column that a kept step is asked, unless the study says otherwise."""


class Evaluate(Section):
    """How completions are sampled for scoring.

    Attributes:
        engine: What runs the model, see :data:`pipeline.base.plugins.ENGINES`; ``openai`` and
            ``replay`` are for models of the kinds ``api`` and ``recorded``.
        prompt: Prompt of trained cells.
        base_prompt: Prompt of base and API cells, where it differs.
        crossed: Also ask base models with the prompt of trained cells, and trained cells with that
            of base models, so that what the prompt does can be told from what training does.
        think: Whether answers to prompts that ask for tags may reason; else an empty thought is
            pre-filled.
        samples: Answers to each question; several take a temperature above 0. Accuracy, verdicts
            and changes are of the first; mean@k, pass@k and majority@k stand beside them.
        temperature: 0 takes the most likely token.
        top_p: Nucleus.
        max_new_tokens: Longest completion.
        tried: Questions, one of each story, on which it is tried whether the reasoning is used: it
            is edited, and the model goes on from there (0: not tried). Models with weights can.
        scoring: ``answers`` grades what is written; ``options`` also asks which option of a
            question is the likeliest, see :mod:`pipeline.evaluate.options`.
        batch: Prompts decoded at once.
        at: Which weights of a trained cell are asked: those that it ends with (``used``), or also
            those of every step that it saves (``all``), see :mod:`pipeline.evaluate.along`.
        each_step: Questions of each column that these are asked at most, pairs whole.
        precision: Number format of the engine ``hf``; greedy texts of ``bfloat16`` are often others
            than those of ``float32``, so that columns compare within one alone.
    """

    engine: Annotated[str, one_of((*ENGINES, *SERVED))] = "hf"
    prompt: PromptStyle
    base_prompt: PromptStyle | None = None
    crossed: bool = False
    think: bool = True
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
