"""Prompt templates.

Tasks with ``choices_in_prompt`` name their options after the question, with letters where an option
is a sentence. Prompts that ask for tags
start the answer with a pre-filled ``<think>``, as in Study 1; those that ask for JSON or for a
boxed number have nothing pre-filled.
"""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_uppercase

from pipeline.base.errors import UserError
from pipeline.data.messages import Messages
from pipeline.data.original import ORIGINAL, Frame
from pipeline.tasks import registry
from pipeline.tasks.example import Example

_TAGS = (
    "Think first, then answer. Put your reasoning between <think> and </think>, and after it the "
    "final answer alone between <answer> and </answer>."
)
_JSON = (
    'Answer with one JSON object that has two fields: "thinking", your reasoning, and "answer", '
    "the final answer alone."
)
_BOXED = "Let's think step by step and output the final answer within \\boxed{}."


def compact(example: Example) -> Messages:
    """Story and question only: for tiny models."""
    return [{"role": "user", "content": _body(example, "\n")}]


def labelled(example: Example) -> Messages:
    """Story and question under headings: another form than tiny models know."""
    return [{"role": "user", "content": _labelled(example)}]


def tom_rl_json(example: Example) -> Messages:
    """Study 1's prompt for base models: a JSON answer, no assumptions (in our words)."""
    return [
        {"role": "system", "content": f"You are a helpful assistant. {_JSON}"},
        {"role": "user", "content": _labelled(example)},
    ]


def rlvr(example: Example) -> Messages:
    """Study 2's prompt: tags, no assumptions (in our words)."""
    return [
        {"role": "system", "content": f"You are a helpful assistant. {_TAGS}"},
        {"role": "user", "content": _labelled(example)},
    ]


def boxed(example: Example) -> Messages:
    return [{"role": "user", "content": f"{example.question}\n{_BOXED}"}]


Maker = Callable[[Example], Messages]

PROMPTS: dict[str, Maker] = {
    "compact": compact,
    "labelled": labelled,
    "tom-rl-json": tom_rl_json,
    "rlvr": rlvr,
    "boxed": boxed,
}
"""Templates in our own words, by name."""

_NOTHING_PREFILLED = ("tom-rl-json", "boxed")


def maker(name: str, frame: Frame | None = None) -> Maker:
    """The template of a style; published ones need a ``frame`` (:mod:`pipeline.data.original`)."""
    if name != ORIGINAL:
        return PROMPTS[name]
    if frame is None:
        raise UserError(
            f"the prompt {name} is taken from the files of source tom_rl, which the study does not "
            "acquire; add acquire.tom_rl: {kind: upstream}, or choose another prompt"
        )
    return lambda example: frame.messages(example.story, _question(example, example.question))


def is_prefilled(name: str) -> bool:
    return name not in _NOTHING_PREFILLED


def _body(example: Example, between: str) -> str:
    return between.join(
        part for part in (example.story, _question(example, example.question.strip())) if part
    )


def _labelled(example: Example) -> str:
    story = f"Story: {example.story}\n" if example.story else ""  # sums have none
    return f"{story}Question: {_question(example, example.question.strip())}"


def _question(example: Example, question: str) -> str:
    if not (example.choices and registry.get(example.task).choices_in_prompt):
        return question
    if example.answer_kind == "choice":
        lettered = (
            f"\n{letter}. {c}" for letter, c in zip(ascii_uppercase, example.choices, strict=False)
        )
        return f"{question}\nOptions:{''.join(lettered)}"
    return f"{question}\nOptions: {', '.join(example.choices)}"
