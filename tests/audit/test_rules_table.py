"""Every rule that learns nothing on stories written by hand, with the answer of each."""

from __future__ import annotations

import pytest

from pipeline.rules.listed import (
    MAJORITY,
    RULES,
    Baseline,
    baselines,
    chance,
    is_gold,
    majority_answers,
    rule_answers,
)
from pipeline.rules.reading import Reading, read_all
from pipeline.tasks.example import Example

STORY = """\
Ann, Bob and Cleo entered the hall.
The hat is in the box.
Ann moved the hat to the jar.
Ann exited the hall.
Bob moved the hat to the pot.
Bob exited the hall.
Cleo moved the hat to the bag.
Cleo exited the hall.
Ann likes the crate.
Bob likes the pot.
Ann dislikes the crate.
Bob dislikes the crate."""
AGAIN = """
Ann, Bob and Cleo entered the waiting_room.
Cleo and Bob entered the den.
The hat is in the crate.
Cleo moved the hat to the jar.
Cleo exited the den.
Bob moved the hat to the box.
Bob exited the den."""
PLACES = ("jar", "box", "pot", "bag", "crate")
TALK = "Ann: Hello.\nBob: Hello, Cleo.\nCleo: Hello.\nBob: Rain.\nAnn: Yes."


def chained(story: str, choices: tuple[str, ...] | None = PLACES) -> Example:
    asked = "Where does Cleo think Ann thinks Bob thinks the hat is?"
    return Example("hi_tom", "hi_tom", story, asked, "jar", choices=choices, order=3)


def talked(question: str, *choices: str, kind: str = "choice", order: int | None = 1) -> Example:
    options = choices or None
    return Example("fantom", "fantom", TALK, question, "x", kind, options, order=order)  # type: ignore[arg-type]


KNOWS, UNAWARE = "(a) Ann thinks that it rains.", "(b) Ann is unaware of the rain."
TABLE = {
    "one scene": (
        chained(STORY),
        {
            "initial": "box",
            "scene start": "box",
            "last": "bag",
            "first move": "jar",
            "most frequent": "pot",  # the crate is no place of the hat
            "innermost exit": "pot",
            "outermost exit": "bag",
            "earliest exit": "jar",
            "first claim": "bag",  # nobody claims anything
            "last claim": "bag",
            "claim to innermost": "jar",
            "claim to outermost": "jar",
            "first mention": "box",
            "last mention": "crate",
            "most mentioned": "crate",
            "first choice": "jar",
            "last choice": "crate",
        },
    ),
    "two scenes": (
        chained(STORY.replace("dislikes the crate", "likes the bag") + AGAIN),
        {
            "initial": "box",
            "scene start": "crate",
            "last": "box",
            "first move": "jar",
            "most frequent": "bag",
            "innermost exit": "box",
            "outermost exit": "jar",
            "earliest exit": "jar",
            "first claim": "box",
            "last claim": "box",
            "claim to innermost": "jar",
            "claim to outermost": "jar",
            "first mention": "box",
            "last mention": "box",
            "most mentioned": "bag",
            "first choice": "jar",
            "last choice": "crate",
        },
    ),
    "a belief": (
        talked("What does Ann believe about the rain?", KNOWS, UNAWARE),
        {
            "phrase cue": UNAWARE,
            "first choice": KNOWS,
            "last choice": UNAWARE,
            "speaks first": UNAWARE,
            "speaks least": KNOWS,
        },
    ),
    "who knows": (
        talked("List all the characters who know this.", kind="names"),
        {"speaks first": "Bob, Cleo", "speaks least": "Ann, Bob"},
    ),
    "whether Cleo knows": (
        talked("Does Cleo know this? Answer yes or no.", kind="yes_no"),
        {"phrase cue": "no", "speaks first": "yes", "speaks least": "no"},
    ),
    "whether it is there": (talked("Is it there?", kind="yes_no"), {}),
    "the world": (
        talked("Does Cleo know this? Answer yes or no.", kind="label", order=0),
        {},
    ),
}


@pytest.mark.parametrize(("example", "answers"), TABLE.values(), ids=TABLE)
def test_every_rule_on_one_example(example: Example, answers: dict[str, str]) -> None:
    given = rule_answers(read_all([example]))
    assert list(given) == [*RULES, MAJORITY]
    assert {name: found for name, (found,) in given.items() if found is not None} == {
        **answers,
        MAJORITY: example.answer,
    }


def test_of_places_mentioned_as_often_the_first_mentioned_is_taken() -> None:
    [reading] = read_all([chained("The pot, a jar, the pot, the box and one jar.")])
    assert reading.mentions == ("pot", "jar", "pot", "box", "jar")
    assert RULES["most mentioned"](reading) == "pot"


def test_baselines_leave_out_what_is_never_defined_and_count_what_is_not_right() -> None:
    examples = [chained(STORY), chained(STORY, None), TABLE["a belief"][0]]
    found = baselines(read_all(examples))
    assert set(found) == {*RULES, MAJORITY}
    shown = {name: (rule.given, rule.right) for name, rule in found.items()}
    assert shown["first choice"] == ((True, False, True), (True, False, False))
    assert shown["phrase cue"] == ((False, False, True), (False, False, False))
    assert shown["innermost exit"] == ((True, True, False), (False, False, False))
    assert {rule.chances for rule in found.values()} == {(1 / 4, 1 / 4, 1 / 2)}
    assert "phrase cue" not in baselines(read_all(examples[:2]))


def test_the_figures_of_a_rule() -> None:
    rule = Baseline(
        "r", (True, True, False, False), (True, False, False, False), (0.5, 0.5, 0.25, 1)
    )
    assert (rule.accuracy, rule.coverage, rule.with_guess) == (0.25, 0.5, (1 + 0.25 + 1) / 4)
    assert rule.among([3, 0]) == Baseline("r", (False, True), (False, True), (1, 0.5))


def reading(kind: str, choices: tuple[str, ...] | None, mentions: tuple[str, ...] = ()) -> Reading:
    return Reading(Example("b", "t", "s", "q", "x", kind, choices), None, False, mentions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (reading("yes_no", None), 1 / 2),
        (reading("yes_no", ("yes", "no", "perhaps")), 1 / 2),
        (reading("span", ("a", "b", "c")), 1 / 3),
        (reading("span", ("a", "b", "c"), ("a", "b", "a")), 1 / 2),
        (reading("span", ("a", "b"), ("a", "b", "c")), 1 / 2),
        (reading("span", None, ("a",)), 1),
        (reading("span", None), 0),
    ],
)
def test_a_blind_guess(read: Reading, expected: float) -> None:
    assert chance(read) == expected


def kinds(answers: list[str], **fields: object) -> list[Example]:
    return [Example("b", "t", "s", str(n), a, **fields) for n, a in enumerate(answers)]  # type: ignore[arg-type]


def test_the_majority_is_that_of_a_kind_of_question() -> None:
    options = ("(a) x", "(b) y", "(c) z")
    lettered = [
        *kinds([options[2], options[2], options[0]], answer_kind="choice", choices=options),
        *kinds(["(a) u"], answer_kind="choice", choices=("(a) u", "(b) v")),
        *kinds(["elsewhere"], answer_kind="choice", choices=options),
        *kinds(["none"], answer_kind="choice"),
    ]
    given = ["(c) z", "(c) z", "(c) z", "(b) v", "(c) z", ""]
    assert majority_answers(lettered) == given
    plain = [
        *kinds(["jar", "pot", "pot"], question_type="moved_tom", choices=("jar", "pot")),
        *kinds(["jar", "jar"], question_type="moved_no_tom"),
        *kinds(["box"], question_type="moved"),
        *kinds(["bag"], question_type="moved_tom_again"),
        *kinds(["yes"], question_type="moved", answer_kind="yes_no"),
    ]
    assert majority_answers(plain) == ["jar"] * 6 + ["bag", "yes"]
    assert majority_answers([*plain, *lettered]) == ["jar"] * 6 + ["bag", "yes", *given]


@pytest.mark.parametrize(
    ("answer", "gold", "kind", "right"),
    [
        ("The Red_Box.", "red box", "span", True),
        ("?", "?", "span", True),  # no words, and yet the same
        ("box", "red box", "span", False),
        ("Bob, Ann", "Ann, Bob", "names", True),
        ("Bob, Ann", "Ann, Bob", "span", False),
        ("Ann", "Ann, Bob", "names", False),
        ("ann, Bob", "Ann, Bob", "names", False),
    ],
)
def test_the_gold_answer_is_compared_after_normalisation(
    answer: str, gold: str, kind: str, right: bool
) -> None:
    assert is_gold(answer, Example("b", "t", "s", "q", gold, kind)) is right  # type: ignore[arg-type]
