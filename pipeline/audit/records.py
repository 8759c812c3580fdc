"""``audit.json``: what the audit found in the columns of a suite, and between them and training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from pipeline.formats.records import Record
from pipeline.rules.learned import LEARNED

Counts = dict[str, int]
Shares = dict[str, float]


class Best(Record):
    """The rule that is right most often."""

    rule: str
    accuracy: float


class RuleGroup(Record):
    """The rules on some of the examples.

    Attributes:
        rows: Number of examples.
        best: The best rule on them.
        rules: Accuracy by rule.
        with_guess: Accuracy with a blind guess where the rule is undefined, of rules that are.
    """

    rows: int
    best: Best
    rules: Shares
    with_guess: Shares


class Baselines(Record):
    """The rules on a set of examples.

    Attributes:
        rules: Accuracy by rule.
        coverage: Share of the examples on which a rule is defined, by rule.
        with_guess: Accuracy with a blind guess where the rule is undefined, of rules that are.
        best: The best rule.
        chance: Accuracy of a blind guess.
        majority: Accuracy of the most common answer to questions of the type.
        by_order: The rules by belief order.
        by_type: The rules by question type.
    """

    rules: Shares
    coverage: Shares
    with_guess: Shares
    best: Best
    chance: float
    majority: float
    by_order: dict[str, RuleGroup]
    by_type: dict[str, RuleGroup]


class Learned(Record):
    """What rules score that are learned from gold answers, always on other stories.

    Attributes:
        accuracy: Of boosted trees on surface features, fitted to other stories of the set.
        readable: The best list of one rule and another where it is undefined.
        readable_accuracy: Of the best list by other stories of the set.
        wording: Of a linear model of the stories' wording, fitted to other stories of the set; None
            where there is too little to fit.
        pairs: Share of counterfactual pairs both of which the best one of these answers right;
            None where there are no pairs.
    """

    accuracy: float
    readable: str
    readable_accuracy: float
    wording: float | None = None
    pairs: float | None = None

    @property
    def highest(self) -> float:
        """The accuracy of the best of these rules."""
        return max(self.accuracy, self.readable_accuracy, self.wording or 0.0)


class Won(Record):
    """What one response wins on all examples.

    Attributes:
        what: The answer, or the name of a cheat.
        published: Share of the examples on which the published rule takes it for right.
        strict: The same by the strict match, which training pays.
    """

    what: str
    published: float
    strict: float


class WonWithoutAnswer(Record):
    """What is won by responses that know nothing.

    Attributes:
        constant: The best found of answers that are the same whatever is asked.
        strict_constant: The same by the strict match.
        cheats: Responses that name several answers or repeat what was given, the best first.
    """

    constant: Won
    strict_constant: Won
    cheats: list[Won]

    @property
    def cheat(self) -> Won:
        """The best cheat by the published rule."""
        return self.cheats[0]

    def best(self) -> dict[str, Won]:
        """The best of each kind, as tables show them: an answer that is always the same."""
        constants = (self.constant, self.strict_constant)
        return {f"always {won.what!r}": won for won in constants} | {self.cheat.what: self.cheat}


class Balance(Record):
    """How the gold answers are spread; rows without such a place are under ``none``.

    Attributes:
        answers: The most common ones with their shares.
        distinct: How many there are.
        evenness: Entropy as a share of the largest possible.
        choice_position: Rows by the place of the gold answer among the choices.
        mention_rank: Rows by its rank among the candidates in the order in which the story first
            mentions them.
        mention_part: Rows by the tenth of the story in which it is last mentioned.
    """

    answers: Shares
    distinct: int
    evenness: float
    choice_position: Counts
    mention_rank: Counts
    mention_part: Counts


class Lexical(Record):
    """The most telling word of some questions, and its I(Z;Y) / H(Y)."""

    score: float
    word: str


class LabelConflict(Record):
    """A question that is asked of one story with several answers: the ids of the rows by answer."""

    question: str
    answers: dict[str, list[str]]


class ShortcutConflict(Record):
    """The best rule, and the ids of the examples on which it is wrong."""

    rule: str
    ids: list[str]


class Flag(Record):
    """Something that makes a score on these examples hard to read.

    Attributes:
        kind: What it is.
        where: ``all`` examples, or a kind of question.
        what: The rule or word, or what is wrong.
        value: Accuracy of the rule, score of the word, or number of rows.
        against: The better of chance and majority, or the threshold.
    """

    kind: Literal["rule", "lexical", "conflict", "duplicate"]
    where: str
    what: str
    value: int | float
    against: int | float


class ColumnAudit(Record):
    """What was found in one set of examples.

    Attributes:
        rows: Number of examples.
        stories: Number of stories.
        orders: Rows by belief order.
        question_types: Rows by question type.
        unread: Rows in a language of the parsers that could not be read.
        duplicates: Rows that repeat an earlier one to the letter, answer included.
        duplicate_ids: The first of their ids.
        label_conflicts: Questions with several answers.
        label_conflict_examples: The first of them.
        twin_conflicts: Rows whose twin in the other prompt variant says otherwise, by order.
        balance: How the gold answers are spread.
        baselines: What rules score that learn nothing.
        learned: What rules score that are learned from the set; None where it is too small.
        learned_from: Accuracy of a rule learned from a training set, by combination.
        without_answer: What is won by responses that know nothing.
        lexical: The most telling word by kind of question.
        shortcut_conflict: Where the best rule is wrong.
        flags: What makes a score hard to read.
    """

    rows: int
    stories: int
    orders: Counts
    question_types: Counts
    unread: int
    duplicates: int
    duplicate_ids: list[str]
    label_conflicts: int
    label_conflict_examples: list[LabelConflict]
    twin_conflicts: Counts
    balance: Balance
    baselines: Baselines
    learned: Learned | None = None
    learned_from: Shares = Field(default={})
    without_answer: WonWithoutAnswer
    lexical: dict[str, Lexical]
    shortcut_conflict: ShortcutConflict
    flags: list[Flag]


class Leak(Record):
    """What a column shares with a training set, in rows of the column.

    Attributes:
        rows: Number of rows.
        leaked: Rows on a story of the training set, also if retold.
        normalised_story: Rows on its text but for case, punctuation and spacing.
        structure: Rows on the events of one of its stories under other names.
        unread: Rows of which no structure is known.
        question: Rows with the wording of one of its questions.
        item: Rows with text and question of one of its rows.
        ngram: Rows with an n-gram of it.
        ngram_words: Words in an n-gram.
        ngram_share: Mean share of a row's n-grams that stand in training.
        examples: The first ids of each kind.
    """

    rows: int
    leaked: int
    normalised_story: int
    structure: int
    unread: int
    question: int
    item: int
    ngram: int
    ngram_words: int
    ngram_share: float
    examples: dict[str, list[str]]


class Audit(Record):
    """The whole file.

    Attributes:
        columns: What was found in each column.
        training: What is won without an answer on each training set, by combination.
        learned: What rules score that are learned from each training set, on other stories of it.
        leakage: What each column shares with training, by combination.
        validation: What the validation set shares with training, by combination.
    """

    columns: dict[str, ColumnAudit]
    training: dict[str, WonWithoutAnswer] = Field(default={})
    learned: dict[str, Learned] = Field(default={})
    leakage: dict[str, dict[str, Leak]]
    validation: dict[str, Leak] = Field(default={})

    def best_rule(self, column: str, combinations: Sequence[str]) -> Best | None:
        """The best rule of a column: a listed one, or one learned from a training set."""
        found = self.columns.get(column)
        if found is None:
            return None
        learned = max((found.learned_from.get(each, 0.0) for each in combinations), default=0.0)
        listed = found.baselines.best
        return Best(rule=LEARNED, accuracy=learned) if learned > listed.accuracy else listed

    def won_without_answer(self) -> dict[str, WonWithoutAnswer]:
        """What is won without an answer, by the name of the questions."""
        training = {f"train: {name}": found for name, found in self.training.items()}
        return training | {name: column.without_answer for name, column in self.columns.items()}
