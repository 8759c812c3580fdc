"""The sentences that a report opens with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.analysis.answer import MOST_TOLD, ONE_RUN, answer
from pipeline.analysis.verdicts import cell_verdicts
from pipeline.rules.form import FORM_RULES, OF_OPTIONS
from pipeline.rules.listed import MAJORITY, RULES
from pipeline.rules.words import RULE_WORDS, what_it_does
from pipeline.tom.minds import MINDS
from tests.analysis.made import scores
from tests.analysis.test_seeds import seeded
from tests.analysis.test_verdicts import TRAINED, made


def test_every_rule_and_mind_is_put_into_words() -> None:
    assert set(RULE_WORDS) == {*RULES, MAJORITY}
    assert all(what_it_does(name) for name in (*RULE_WORDS, *MINDS, *FORM_RULES))
    assert what_it_does("longest name" + OF_OPTIONS) == (
        "answers with the place that has the longest name of the options"
    )
    both = what_it_does("returns missed and sight alone")
    assert both == (
        "takes who returns to learn nothing by it and tracks who sees what but ignores claims"
    )
    said = what_it_does("learned rule, near last move, else most mentioned")
    assert said is not None and said.endswith("comes close to “last move, else most mentioned”")
    assert what_it_does("learned rule") == "follows a rule that can be learned from its own answers"
    assert what_it_does("first claim, else initial") is None


@pytest.mark.parametrize(
    ("answers", "by", "said"),
    [
        (
            "rule",
            "earliest exit",
            "answers with where the object was when the first of those",
        ),
        ("rule", "first claim, else last", "answers by the rule “first claim, else last” (80% of"),
        (
            "simpler mind",
            "sight alone",
            "tracks who sees what but ignores claims (80%",
        ),
        ("mixture", "beliefs and last", "mixes beliefs and last (80% of its answers)"),
        ("by heart", None, "knows some story structures by heart and guesses elsewhere"),
        ("unexplained", None, "gives answers that no rule or mind that was tried explains"),
        ("unread", None, "too few answers are read for a verdict"),
        (
            "undecided",
            None,
            "fit no verdict: the best rule or mind predicts 80% of its answers; no evidence",
        ),
        ("beliefs", None, "answers by what the agents of the story believe."),
    ],
)
def test_a_training_gets_a_sentence(answers: str, by: str | None, said: str) -> None:
    results = made({})
    verdicts = [replaced(each, answers, by) for each in cell_verdicts(results, [])]
    sentences = answer(results, verdicts)
    assert len(sentences[:-1]) == len(results.trained()) <= MOST_TOLD
    assert sentences[-1] == ONE_RUN
    assert said in sentences[0] and sentences[0].startswith("Trained on hi, nano ")
    assert "although" not in sentences[0]


def test_a_gain_that_holds_is_set_against_the_verdict() -> None:
    results = made({TRAINED: 180})
    (cell,) = results.trained()
    better = replace(cell, tasks={**cell.tasks, TRAINED: scores(1.0)})
    results = replace(results, cells={**results.cells, cell.key: better})
    verdicts = cell_verdicts(results, [])
    sentence, _ = answer(results, verdicts)
    assert sentence.endswith("although accuracy on hi_tom_orders_0_2 rises by 40.0 points.")
    believer = [replaced(each, "beliefs", None) for each in verdicts]
    assert "although" not in answer(results, believer)[0]


def test_many_verdicts_are_counted() -> None:
    results = made({})
    found = [each for each in cell_verdicts(results, []) if each.combination] * (MOST_TOLD + 1)
    assert answer(results, found) == [
        "None of 5 verdicts on trained models finds beliefs.",
        "The others: 5 rule (most often earliest exit: 5).",
    ]
    assert answer(results, []) == []


def replaced(verdict, answers: str, by: str | None):  # type: ignore[no-untyped-def]
    return verdict.model_copy(update={"answers": answers, "by": by})


def test_several_seeds_are_not_one_run() -> None:
    results = seeded([0.6, 0.7])
    assert ONE_RUN not in answer(results, cell_verdicts(results, []))
