"""Acting on minds: plans against an engine's replay, rules, players, and the words of tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice

import pytest

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.data.imitation import gold_trace
from pipeline.tasks.acting import match, match_strictly, tasks_of, told
from pipeline.tasks.example import Example
from pipeline.tom.acting import PLAYERS, Acting, Goal, acting, plans, template
from pipeline.tom.belief import beliefs
from pipeline.tom.generate.acts import goal_text, read_question
from pipeline.tom.language import HI_TOM
from pipeline.tom.rules import HI_TOM as RULES
from pipeline.tom.rules import HI_TOM_LITERAL

STORY = """Ann, Ben and Cleo entered the hall.
The hat is in the red_box.
Ben exited the hall.
Ann moved the hat to the blue_jar.
Ann exited the hall."""
ASKS = "What does Cleo do then, so that in the end {}? Go on."
SECRET = "Ann thinks the hat is in the red_box and Ben does not think the hat is in the red_box"
FALSE = "Ann thinks the hat is in the red_box and the hat is not in the red_box"
NESTED = "Ben thinks Ann thinks the hat is in the green_bag"


def asks(goal: str) -> Example:
    return Example("acting", "acting", STORY, ASKS.format(goal), "")


@pytest.mark.parametrize(
    ("goal", "answer", "right", "strictly"),
    [
        # Cleo is inside and has left after nobody: Ann, who is outside, may or may not believe her.
        (FALSE, "Cleo privately told Ann that the hat is in the red_box now.", False, False),
        (
            FALSE,
            "Cleo exited the hall. Cleo privately told Ann that the hat is in the red_box now.",
            True,
            True,
        ),
        (
            FALSE,
            "1. Cleo exited the hall.\n2. Cleo publicly claimed that hat is in the red_box now.",
            True,
            True,
        ),
        (
            FALSE,
            "Well, she lies.\nCleo exited the hall. Cleo privately told Ann that the hat is in the "
            "red_box now. So Ann believes it.",
            True,
            False,
        ),
        (
            FALSE,
            "Cleo exited the hall. Cleo privately told Ben that the hat is in the blue_jar now. "
            "Cleo privately told Ann that the hat is in the red_box now.",
            True,
            False,  # what Ben is told can be left out
        ),
        (FALSE, "Cleo exited the hall. Cleo entered the hall. " * 2, False, False),
        (FALSE, "Ben privately told Ann that the hat is in the red_box now.", False, False),
        (FALSE, "Cleo moved the hat to the red_box.", False, False),
        (FALSE, "Cleo moved the cap to the red_box.", False, False),
        (FALSE, "Cleo entered the hall.", False, False),
        (FALSE, "", False, False),
        (
            SECRET,
            "Cleo exited the hall. Cleo publicly claimed that hat is in the red_box now.",
            False,
            False,
        ),
        (
            NESTED,
            "Cleo exited the hall. Cleo publicly claimed that hat is in the green_bag now.",
            False,  # a claim says nothing of what one listener thinks of another
            False,
        ),
    ],
    ids=range(13),
)
def test_a_plan_is_right_if_its_replay_reaches_the_goal(
    goal: str, answer: str, right: bool, strictly: bool
) -> None:
    assert match(answer, asks(goal)) == right
    assert match_strictly(answer, asks(goal)) == strictly


def test_no_goal_no_grade() -> None:
    for question in ("Where is the hat?", "What does Cleo do then, so that in the end it rains?"):
        assert not match("Cleo exited the hall.", Example("a", "acting", STORY, question, ""))
    other = Example("a", "acting", "Once upon a time.", ASKS.format(FALSE), "")
    assert told("Cleo exited the hall.", other) == ()


def drawn(count: int, **settings: str) -> list[Example]:
    source = HiTomSource(
        kind="hi_tom_style", agents=3, structure="free", tell=(True,), seed=5, **settings
    )
    texts = (rows[0]["story"] for rows in stories(source, "test", 10**6))
    return list(islice(tasks_of(texts), count))


def asked_of(example: Example) -> tuple[Acting, Goal]:
    actor, goal = read_question(example.question)
    asked = acting(HI_TOM.story(example.story).events, actor)
    assert asked is not None
    assert goal_text(goal, asked.thing) in example.question
    return asked, goal


@pytest.mark.parametrize("telling", ["benchmark", "brief"])
def test_tasks_of_any_telling_have_right_answers(telling: str) -> None:
    for example in drawn(60, telling=telling):
        assert match_strictly(example.answer, example)
        asked, goal = asked_of(example)
        acts = told(example.answer, example)
        assert len(acts) == example.meta["acts"]
        # As the engine says that beliefs are, from the whole story, however trust is read.
        for rules in (RULES, HI_TOM_LITERAL):
            known = beliefs((*asked.story, *acts), rules)
            for wanted in goal:
                believed = known.of(wanted.chain, asked.thing)
                assert (believed == wanted.place) == wanted.so


@pytest.mark.parametrize("telling", ["benchmark", "brief"])
def test_reasoning_to_imitate_is_true_and_leads_to_the_answer(telling: str) -> None:
    changed = 0
    for example in drawn(60, telling=telling):
        asked, _ = asked_of(example)
        acts = told(example.answer, example)
        trace = gold_trace(example)
        assert trace and example.answer in trace
        before, after = trace.split(f"{example.answer} ")
        now = said(before.removeprefix("Now ").removesuffix(". "), asked.actor)
        then = said(after.removeprefix("Then ").removesuffix("."), asked.actor)
        assert then
        changed += now != then
        for moment, goal in ((asked.story, now), ((*asked.story, *acts), then)):
            for rules in (RULES, HI_TOM_LITERAL):
                known = beliefs(moment, rules)
                assert all(known.of(each.chain, asked.thing) == each.place for each in goal)
    assert changed >= 55, "a goal is none of what is so already"


def said(text: str, actor: str) -> Goal:
    """What reasoning says, which is in the words of a goal."""
    asked = f"What does {actor} do then, so that in the end {text}?"
    return read_question(asked)[1] if text else ()


def test_no_rule_solves_them_and_players_are_ranked() -> None:
    examples = drawn(300)
    solved = Counter[str]()
    reached = defaultdict[tuple[str, bool], Counter[tuple[str, ...]]](Counter)
    for example in examples:
        asked, goal = asked_of(example)
        for name, player in PLAYERS.items():
            solved[name] += asked.reaches(player(asked, goal), goal)
        inside = asked.begins().inside(asked.actor, asked.room)
        rules = {template(plan, goal) for plan in plans(asked, goal)}
        reached[str(example.meta["goal"]), inside].update(rules)
    by_rules = sum(max(each.values()) for each in reached.values())
    assert by_rules <= 0.6 * len(examples)
    assert solved["optimal"] == len(examples)
    assert max(solved["level 0"], solved["level 1"]) < 0.5 * len(examples)
