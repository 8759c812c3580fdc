"""Tasks of acting on minds: goals for an agent of a Hi-ToM-style story, and their words.

Goals are kept such that no rule on the words of a goal and on whether the agent is inside reaches
many: a rule is a plan without names (:func:`pipeline.tom.acting.template`), the best one for each
kind of goal.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from pipeline.tom.acting import (
    MOST_ACTS,
    Acting,
    Goal,
    Plan,
    Wanted,
    World,
    acting,
    plans,
    template,
)
from pipeline.tom.generate.hi_tom import render
from pipeline.tom.observation import Chain
from pipeline.tom.story import Story, agents_of

MOST_BY_RULE = 0.58
"""Largest share of the goals of a kind that a rule may reach while they are drawn."""

_FEWEST = 4
_FORM = re.compile(r"What does (\w+) do then, so that in the end (.+?)\?")
_WANTED = re.compile(
    r"(?P<chain>(?:\w+ thinks )*)(?:(?P<no>\w+) does not think )?"
    r"the (?P<thing>[\w-]+) is (?P<not>not )?in the (?P<place>[\w-]+)"
)


@dataclass(frozen=True, slots=True)
class ActTask:
    """What an agent is to bring about after a story.

    Attributes:
        kind: Name of the kind of goal.
        shortest: A plan with the fewest acts.
    """

    asked: Acting
    goal: Goal
    kind: str
    shortest: Plan


def goals(one: str, other: str, place: str) -> dict[str, Goal]:
    """Goals about two people and a place, by kind."""
    believes = Wanted((one,), place)
    unknown = Wanted((other,), place, so=False)
    return {
        "believed": (believes,),
        "secret": (believes, unknown),
        "false": (believes, Wanted((), place, so=False)),
        "true": (believes, unknown, Wanted((), place)),
        "nested": (Wanted((one, other), place), unknown),
    }


def kind_of(goal: Goal) -> str:
    """The kind under which :func:`goals` has such a goal."""
    first, *others = goal
    if len(first.chain) > 1:
        return "nested"
    if any(not wanted.chain for wanted in others):
        return "true" if any(wanted.so for wanted in others) else "false"
    return "secret" if others else "believed"


@dataclass(slots=True)
class _Reached:
    """How many goals of one kind each rule reaches."""

    count: int = 0
    by: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, rules: Iterable[tuple[str, ...]]) -> bool:
        """Count a goal unless a rule reaches too many with it."""
        rules = set(rules)
        most = max(self.by[rule] for rule in rules) + 1
        if most > max(MOST_BY_RULE * (self.count + 1), _FEWEST):
            return False
        self.count += 1
        self.by.update(rules)
        return True


def act_tasks(stories: Iterable[tuple[Story, str]]) -> Iterator[ActTask | None]:
    """Yield a task for each story, or None; ``stories`` come with the seed of their draw."""
    reached = defaultdict[tuple[str, bool], _Reached](_Reached)
    for story, seed in stories:
        task, found = _drawn(story, Random(seed))
        if task is not None:
            inside = task.asked.begins().inside(task.asked.actor, task.asked.room)
            if not reached[task.kind, inside].add(template(plan, task.goal) for plan in found):
                task = None
        yield task


def _drawn(story: Story, random: Random) -> tuple[ActTask | None, list[Plan]]:
    people = agents_of(story)
    if len(people) < 3:
        return None, []
    actor, one, other = random.sample(people, 3)
    asked = acting(story, actor)
    if asked is None:
        return None, []
    kind, goal = random.choice([*goals(one, other, random.choice(asked.places)).items()])
    found = list(plans(asked, goal))
    return (ActTask(asked, goal, kind, found[0]) if found else None), found


def goal_text(goal: Iterable[Wanted], thing: str) -> str:
    """A goal in words: "Ann thinks the hat is in the box and Ben does not think the hat is ..."."""
    return " and ".join(_wanted_text(each, thing) for each in goal)


def _wanted_text(wanted: Wanted, thing: str) -> str:
    is_in = f"the {thing} is {'' if wanted.chain or wanted.so else 'not '}in the {wanted.place}"
    if wanted.so or not wanted.chain:
        return "".join(f"{agent} thinks " for agent in wanted.chain) + is_in
    return f"{wanted.chain[0]} does not think {is_in}"


def reasoning(task: ActTask) -> str:
    """What those whom the goal names believe after the story, the plan, and what they then do."""
    asked, chains = task.asked, tuple(dict.fromkeys(each.chain for each in task.goal))
    after = asked.after(task.shortest)
    assert after is not None, "it is a plan"

    def at(world: World) -> str:
        found = ((chain, world.believed(chain, asked.thing)) for chain in chains)
        return goal_text([Wanted(chain, place) for chain, place in found if place], asked.thing)

    now = at(asked.begins())
    return f"{f'Now {now}. ' if now else ''}{plan_text(task.shortest)} Then {at(after)}."


def question(task: ActTask) -> str:
    """What is asked, with the sentences that an answer may have, and whom people believe."""
    asked = task.asked
    goal, actor, thing = goal_text(task.goal, asked.thing), asked.actor, asked.thing
    return (
        f"What does {actor} do then, so that in the end {goal}? Go on with the story, in at most "
        f"{MOST_ACTS} sentences of these forms: {actor} entered the {asked.room}. {actor} exited "
        f"the {asked.room}. {actor} moved the {thing} to the PLACE. {actor} publicly claimed that "
        f"{thing} is in the PLACE now. {actor} privately told SOMEBODY that the {thing} is in the "
        "PLACE now. Everybody hears what is claimed publicly. Whoever is outside believes those "
        "who left after them; whoever is inside believes no claim."
    )


def read_question(text: str) -> tuple[str, Goal]:
    """The agent who acts, and the goal; ValueError where that is not asked."""
    found = _FORM.match(text)
    parts = [_WANTED.fullmatch(part) for part in found[2].split(" and ")] if found else []
    if found is None or None in parts:
        raise ValueError("it does not ask what somebody does so that others believe something")
    return found[1], tuple(_read(part) for part in parts if part)


def _read(part: re.Match[str]) -> Wanted:
    chain: Chain = tuple(part["chain"].split(" thinks ")[:-1])
    if part["no"]:
        return Wanted((part["no"],), part["place"], so=False)
    return Wanted(chain, part["place"], so=part["not"] is None)


def plan_text(plan: Plan) -> str:
    return render(plan).replace("\n", " ")
