"""Prompts: how a story and its question are put to a model.

Tasks with ``choices_in_prompt`` name their options after the question.
The answer always starts with a pre-filled ``<think>``, as in Study 1.
"""

from __future__ import annotations

from collections.abc import Callable

from pipeline.data.messages import Messages
from pipeline.tasks import registry
from pipeline.tasks.example import Example

_TAGS = (
    "Think first, then answer. Put your reasoning between <think> and </think>, and after it the "
    "final answer alone between <answer> and </answer>."
)
_ASSUMPTIONS = (
    "Assume two things. (1) An agent sees everything that happens in a room until the agent leaves "
    "it. (2) Agent A can work out what agent B knows or thinks only if the two were in the same "
    "room or otherwise dealt with each other."
)
_JSON = (
    'Answer with one JSON object that has two fields: "thinking", your reasoning, and "answer", '
    "the final answer alone."
)
_BOXED = "Let's think step by step and output the final answer within \\boxed{}."


def compact(example: Example) -> Messages:
    """The story and the question, nothing else: for tiny models."""
    return [{"role": "user", "content": _body(example, "\n")}]


def tom_rl(example: Example) -> Messages:
    """Study 1's training prompt: tags and two assumptions, no answer choices (in our words)."""
    return [
        {"role": "system", "content": f"You are a helpful assistant. {_TAGS} {_ASSUMPTIONS}"},
        {"role": "user", "content": _labelled(example)},
    ]


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
    """The GSM8K prompt of Study 1."""
    return [{"role": "user", "content": f"{example.question}\n{_BOXED}"}]


PROMPTS: dict[str, Callable[[Example], Messages]] = {
    "compact": compact,
    "tom-rl": tom_rl,
    "tom-rl-json": tom_rl_json,
    "rlvr": rlvr,
    "boxed": boxed,
}


def _body(example: Example, between: str) -> str:
    return between.join(part for part in (example.story, _question(example)) if part)


def _labelled(example: Example) -> str:
    return f"Story: {example.story}\nQuestion: {_question(example)}"


def _question(example: Example) -> str:
    question = example.question.strip()
    if example.choices and registry.get(example.task).choices_in_prompt:
        return f"{question}\nOptions: {', '.join(example.choices)}"
    return question
