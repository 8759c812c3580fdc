"""``audit.json``: findings about a suite's columns, and their overlap with training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from pipeline.formats.records import Record
from pipeline.rules.learned import LEARNED

Counts = dict[str, int]
Shares = dict[str, float]


class Best(Record):
    """The most accurate rule."""

    rule: str
    accuracy: float


class RuleGroup(Record):
    """Rules on some of the examples.

    Attributes:
        rules: Accuracy by rule.
        with_guess: Accuracy with a blind guess where a rule is undefined, if anywhere.
    """

    rows: int
    best: Best
    rules: Shares
    with_guess: Shares


class Baselines(Record):
    """Rules on a set of examples.

    Attributes:
        rules: Accuracy by rule.
        coverage: Share of the examples on which a rule is defined, by rule.
        with_guess: Accuracy with a blind guess where a rule is undefined, if anywhere.
        chance: Accuracy of a blind guess.
        majority: Accuracy of the most common answer to questions of the type.
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
    """Out-of-fold accuracy of rules learned from gold answers.

    Attributes:
        accuracy: Boosted trees on surface features.
        readable: The best list of one rule and another where it is undefined.
        readable_accuracy: Of the best list.
        wording: A linear model of the stories' wording; None where there is too little to fit.
        pairs: Share of counterfactual pairs with both right, by the best of these; None without
            pairs.
    """

    accuracy: float
    readable: str
    readable_accuracy: float
    wording: float | None = None
    pairs: float | None = None

    @property
    def highest(self) -> float:
        return max(self.accuracy, self.readable_accuracy, self.wording or 0.0)


class Won(Record):
    """The winnings of one response on all examples.

    Attributes:
        what: The answer, or the name of a cheat.
        published: Share of the examples right by the published rule.
        strict: The same by the strict match, which training pays.
    """

    what: str
    published: float
    strict: float


class WonWithoutAnswer(Record):
    """Winnings of responses without an answer.

    Attributes:
        constant: The best answer that is the same for every question.
        strict_constant: The same by the strict match.
        cheats: Responses that name several answers or repeat the prompt, the best first.
    """

    constant: Won
    strict_constant: Won
    cheats: list[Won]

    @property
    def cheat(self) -> Won:
        return self.cheats[0]

    def best(self) -> dict[str, Won]:
        """The best of each kind, by its description in tables."""
        constants = (self.constant, self.strict_constant)
        return {f"always {won.what!r}": won for won in constants} | {self.cheat.what: self.cheat}


class Balance(Record):
    """Distribution of the gold answers; rows without such a position are under ``none``.

    Attributes:
        answers: The most common ones with their shares.
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
    """A question with several answers about one story: ids of the rows by answer."""

    question: str
    answers: dict[str, list[str]]


class ShortcutConflict(Record):
    """The best rule, and the ids of the examples on which it is wrong."""

    rule: str
    ids: list[str]


class Flag(Record):
    """A caveat for scores on these examples.

    Attributes:
        where: ``all`` examples, or a kind of question.
        what: The rule, the word or the flaw.
        value: Accuracy of the rule, score of the word, or number of rows.
        against: The better of chance and majority, or the threshold.
    """

    kind: Literal["rule", "lexical", "conflict", "duplicate"]
    where: str
    what: str
    value: int | float
    against: int | float


class ColumnAudit(Record):
    """Findings about one set of examples.

    Attributes:
        orders: Rows by belief order.
        question_types: Rows by question type.
        unread: Rows in a parser's language that could not be read.
        duplicates: Rows that repeat an earlier one verbatim, answer included.
        duplicate_ids: The first of their ids.
        label_conflicts: Questions with several answers.
        label_conflict_examples: The first of them.
        twin_conflicts: Rows whose twin in the other prompt variant disagrees, by order.
        learned: None where the set is too small.
        learned_from: Accuracy of a rule learned from a training set, by combination.
        lexical: The most telling word by kind of question.
        shortcut_conflict: Examples on which the best rule is wrong.
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
    """Overlap of a column with a training set, in rows of the column.

    Attributes:
        leaked: On a story of the training set, also if retold.
        normalised_story: On its text but for case, punctuation and spacing.
        structure: On the events of one of its stories under other names.
        unread: Of unknown structure.
        question: With the wording of one of its questions.
        item: With text and question of one of its rows.
        ngram: With an n-gram of it.
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
        training: Winnings without an answer on each training set, by combination.
        learned: Out-of-fold rules learned from each training set.
        leakage: Overlap of each column with training, by combination.
        validation: Overlap of the validation set with training, by combination.
    """

    columns: dict[str, ColumnAudit]
    training: dict[str, WonWithoutAnswer] = Field(default={})
    learned: dict[str, Learned] = Field(default={})
    leakage: dict[str, dict[str, Leak]]
    validation: dict[str, Leak] = Field(default={})

    def best_rule(self, column: str, combinations: Sequence[str]) -> Best | None:
        found = self.columns.get(column)
        if found is None:
            return None
        learned = max((found.learned_from.get(each, 0.0) for each in combinations), default=0.0)
        listed = found.baselines.best
        return Best(rule=LEARNED, accuracy=learned) if learned > listed.accuracy else listed

    def won_without_answer(self) -> dict[str, WonWithoutAnswer]:
        training = {f"train: {name}": found for name, found in self.training.items()}
        return training | {name: column.without_answer for name, column in self.columns.items()}
