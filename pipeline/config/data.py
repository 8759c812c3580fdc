"""What is trained on, evaluated on and audited: rows of tasks, and how they are put to a model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.section import Distinct, Key, Listed, Positive, Section, Tokens

PromptStyle = Literal["compact", "labelled", "tom-rl", "tom-rl-json", "rlvr"]
TrainingPrompt = Literal["compact", "tom-rl", "rlvr"]
"""Prompts that ask for the tags that rewards read, after a pre-filled ``<think>``."""
Split = Literal["published", "by-story"]


class Part(Section):
    """Rows taken from one registered task.

    Attributes:
        task: A registered task.
        orders: Belief orders to keep; all if absent.
        where: Values that fields of the example or of its meta must have, such as
            ``is_interesting: true`` or ``answer_kind: yes_no``.
        fold: Keep the stories of one fold only; the folds share no story.
        rule: Keep questions that the rule of the earliest exit answers (``right``), those it does
            not (``wrong``), or as many of each (``half``), equally many of each order; all if
            absent.
        hard: Keep only questions that are left when what learned rules answer is filtered out
            (:mod:`pipeline.data.hard`), which takes a pool ten times as large.
        renamed: Tell each of them under other names, agents and containers of a story taking each
            other's, so that a structure known by heart shows (:mod:`pipeline.data.other_names`).
        limit: Number of rows to keep, drawn with the study seed; all if absent.
    """

    task: str
    orders: Annotated[Listed[int], Field(min_length=1), Distinct] | None = None
    where: dict[str, bool | int | str] = Field(default={})
    fold: Literal["train", "validation", "test"] | None = None
    rule: Literal["right", "wrong", "half"] | None = None
    hard: bool = False
    renamed: bool = False
    limit: Positive | None = None


class Combination(Section):
    """What one combination trains on and validates on."""

    train: Listed[Part] = Field(min_length=1)
    validation: Listed[Part] = Field(min_length=1)


class Dataset(Section):
    """Training data.

    Attributes:
        split: ``published`` keeps the papers' splits, leaks and all; ``by-story`` fails where a
            story stands on both sides.
        prompt: The prompt that training shows.
        licence_note: Why data marked non-commercial or evaluation-only may be trained on here;
            without it such data is refused.
    """

    split: Split
    prompt: TrainingPrompt
    combinations: dict[Key, Combination] = Field(min_length=1)
    licence_note: str | None = None


class SuiteTask(Part):
    """One column of the result table.

    Attributes:
        trained: Combinations that train on this column's kind of question. It may be left out: the
            report's marks are computed, and the audit refuses a list that the data contradicts.
    """

    trained: Annotated[Listed[str], Distinct] = ()


class SideCheck(Part):
    """A column that is no question about minds: does training on stories cost arithmetic?

    It is answered once, by the most likely tokens, whatever the study samples otherwise. No rule
    and no verdict is about it.

    Attributes:
        prompt: How it is asked, of every cell.
        max_new_tokens: Longest completion.
    """

    prompt: Literal["boxed", "compact"] = "boxed"
    max_new_tokens: Tokens


class Suite(Section):
    """What every cell is asked.

    Attributes:
        tasks: The evaluation tasks, by column name.
        side_checks: Further columns, by name.
    """

    tasks: dict[Key, SuiteTask] = Field(min_length=1)
    side_checks: dict[Key, SideCheck] = Field(default={})

    @property
    def columns(self) -> dict[str, SuiteTask | SideCheck]:
        """All columns by name, side-checks last."""
        return {**self.tasks, **self.side_checks}


class AuditSettings(Section):
    """The data audit: rule baselines, leakage, duplicates."""

    ngram: Positive = 13
