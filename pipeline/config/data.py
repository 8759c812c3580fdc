"""Data of training, evaluation and audit: rows of tasks and their prompts."""

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
        orders: Belief orders to keep; all if absent.
        where: Required values of fields of the example or of its meta, such as
            ``is_interesting: true`` or ``answer_kind: yes_no``.
        fold: Keep the stories of one fold only; the folds share no story.
        rule: Keep questions on which the earliest-exit rule is ``right``, ``wrong``, or ``half`` of
            each, balanced by order; all if absent.
        hard: Keep only questions that learned rules do not solve (:mod:`pipeline.data.hard`), from
            a pool ten times as large.
        renamed: Permute the names of agents and containers within each story, to expose structures
            known by heart (:mod:`pipeline.data.other_names`).
        limit: Rows to keep, drawn with the study seed; all if absent.
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
    """Training and validation data of one combination."""

    train: Listed[Part] = Field(min_length=1)
    validation: Listed[Part] = Field(min_length=1)


class Dataset(Section):
    """Training data.

    Attributes:
        split: ``published`` keeps the papers' splits with their leaks; ``by-story`` fails if a
            story is on both sides.
        licence_note: Why training on non-commercial or evaluation-only data is allowed here; such
            data is refused without it.
    """

    split: Split
    prompt: TrainingPrompt
    combinations: dict[Key, Combination] = Field(min_length=1)
    licence_note: str | None = None


class SuiteTask(Part):
    """One column of the result table.

    Attributes:
        trained: Optional list of the combinations that train on this kind of question: the report's
            marks are computed, and the audit refuses a wrong list.
    """

    trained: Annotated[Listed[str], Distinct] = ()


class SideCheck(Part):
    """A column without beliefs: does training on stories cost arithmetic?

    It is answered once, greedily, whatever the study samples otherwise, and has no rules or
    verdict.
    """

    prompt: Literal["boxed", "compact"] = "boxed"
    max_new_tokens: Tokens


class Suite(Section):
    """The evaluation questions of every cell, by column name.

    Attributes:
        demonstrations: Questions whose answers prompt programs may know.
    """

    tasks: dict[Key, SuiteTask] = Field(min_length=1)
    side_checks: dict[Key, SideCheck] = Field(default={})
    demonstrations: Part | None = Field(default=None, exclude_if=lambda part: part is None)

    @property
    def columns(self) -> dict[str, SuiteTask | SideCheck]:
        """Side-checks last."""
        return {**self.tasks, **self.side_checks}


class AuditSettings(Section):
    """The data audit: rule baselines, leakage, duplicates."""

    ngram: Positive = 13
