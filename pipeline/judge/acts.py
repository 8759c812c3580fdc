"""How well a model acts on minds, beside what it knows of them and players of known depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count as count_up
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipeline.base.errors import UserError
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.evaluate.answers import How, read_answers
from pipeline.evaluate.statistics import Estimate, mcnemar, share
from pipeline.judge.items import Item, items_of, share_right
from pipeline.tasks import registry
from pipeline.tasks.acting import tasks_of, told
from pipeline.tasks.example import Example
from pipeline.tasks.grading import extract_tagged_or_all
from pipeline.tom.acting import PLAYERS, Player, acting
from pipeline.tom.belief import beliefs
from pipeline.tom.generate.acts import kind_of, read_question
from pipeline.tom.generate.hi_tom import render_question
from pipeline.tom.language import HI_TOM
from pipeline.tom.question import WhereQuestion

ACT, LITERAL = "acting", "hi_tom_style"
"""The tasks that grade acts, and literal questions about the same stories."""

_LETTERS = 200
NEEDED = ("story", "question", "answer", "response")


def act_rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield ``count`` tasks, each with a literal question about the same story after it."""
    source = HiTomSource(kind="hi_tom_style", agents=3, structure="free", tell=(True,), seed=seed)
    chunks = (stories(source, f"acts:{number}", 1000) for number in count_up())
    told = (rows[0]["story"] for chunk in chunks for rows in chunk)
    for number, example in enumerate(islice(tasks_of(told), count)):
        for asks, row in (("act", example), ("literal", _literal(example))):
            fields = {"story": row.story, "question": row.question, "answer": row.answer}
            goal = {"goal": example.meta["goal"], "acts": example.meta["acts"]}
            yield {"id": f"{seed}-{number}-{asks}", **fields, "order": row.order, **goal}


def _literal(task: Example) -> Example:
    """Where the chain of the goal believes the object to be when the story ends."""
    actor, goal = read_question(task.question)
    events = HI_TOM.story(task.story).events
    asked = acting(events, actor)
    assert asked is not None, "a task is about one room and one object"
    chain = goal[0].chain
    answer = beliefs(events).of(chain, asked.thing)
    return replace(
        task,
        task=LITERAL,
        benchmark=LITERAL,
        question=render_question(WhereQuestion(asked.thing, chain)),
        answer=answer or "",
        order=len(chain),
    )


@dataclass(frozen=True, slots=True)
class Acted:
    """How a model did.

    Attributes:
        goals: Shares of tasks solved, by kind of goal.
        acts: Share of all tasks solved.
        literal: Share of literal questions answered right, if any were asked.
        read: Number of tasks whose answer could be read, and the beginning of one that could not.
        players: Share of the same tasks that each player solves, and the p-value of McNemar's exact
            test between the player and the model.
    """

    goals: Mapping[str, Estimate]
    acts: Estimate
    literal: Estimate | None
    read: tuple[int, str]
    players: Mapping[str, tuple[Estimate, float]]

    def as_json(self) -> dict[str, Any]:
        return {
            "acts": self.acts.as_json(),
            "literal": self.literal.as_json() if self.literal else None,
            "read": self.read[0],
            "goals": {goal: found.as_json() for goal, found in self.goals.items()},
            "players": {
                name: {**found.as_json(), "p": round(p, 6)}
                for name, (found, p) in self.players.items()
            },
        }


def acted(path: Path, columns: Mapping[str, str] = MappingProxyType({})) -> Acted:
    """Grade a file of responses to tasks, and to literal questions where they are among them.

    Args:
        path: The file.
        columns: Fields by what they hold, where the guess is wrong.

    Raises:
        UserError: If it cannot be read, or has no task.
    """
    answers = read_answers(path, registry.get(ACT), NEEDED, How(columns=columns))
    tasks: list[tuple[Example, str]] = []
    others: list[tuple[Example, str]] = []
    for each in answers:
        is_task = _is_task(each.example)
        example = each.example if is_task else replace(each.example, task=LITERAL)
        (tasks if is_task else others).append((example, each.response))
    if not tasks:
        raise UserError(
            f"{path}: no question asks what somebody does so that others believe something; write "
            "such tasks with: tomrl act -o tasks.jsonl"
        )
    return _acted(items_of(tasks, extract_tagged_or_all), items_of(others))


def _is_task(example: Example) -> bool:
    try:
        read_question(example.question)
    except ValueError:
        return False
    return True


def _acted(tasks: Sequence[Item], others: Sequence[Item]) -> Acted:
    kinds: dict[str, list[Item]] = {}
    for item in tasks:
        kinds.setdefault(kind_of(read_question(item.example.question)[1]), []).append(item)
    unread = [i.response for i in tasks if not told(i.extracted or "", i.example)]
    model = [item.right for item in tasks]
    stories_of = [item.example.story_id for item in tasks]
    players = {}
    for name, player in PLAYERS.items():
        solved = [_solves(player, item.example) for item in tasks]
        players[name] = (share(solved, stories_of), mcnemar(solved, model))
    return Acted(
        goals={kind: share_right(items) for kind, items in sorted(kinds.items())},
        acts=share_right(tasks),
        literal=share_right(others) if others else None,
        read=(len(tasks) - len(unread), unread[0].strip()[:_LETTERS] if unread else ""),
        players=players,
    )


def _solves(player: Player, example: Example) -> bool:
    actor, goal = read_question(example.question)
    asked = acting(HI_TOM.story(example.story).events, actor)
    return asked is not None and asked.reaches(player(asked, goal), goal)
