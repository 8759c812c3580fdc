"""Stories against a model: a search for the shortest ones that it gets wrong.

Best-first over events, as ExploreToM searches (Sclar et al. 2024, arXiv 2412.12175), on the belief
engine's own scenes: every step adds an event that may come next, asks the model about the story so
far, and goes on from where it is right least often, shorter stories first. Gold answers are the
engine's, so that a story counts as found by what the model answers alone. What a learned rule
solves counts as right, so that the search goes where no rule does; of what is found, those
questions are left out at last that rules and learners of wording solve.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count, permutations
from random import Random
from statistics import fmean

from pipeline.config.sources import HiTomSource
from pipeline.data.generated import scene_of
from pipeline.data.hard import best_share, hard_ones
from pipeline.rules.learned import FEWEST, MOST_FITTED, LearnedRule
from pipeline.rules.reading import read_all
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion, gold_places
from pipeline.tasks.example import Example
from pipeline.tom.belief import beliefs
from pipeline.tom.generate.hi_tom_free import FreeScene, following, opening
from pipeline.tom.generate.hi_tom_items import ask, told
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import HI_TOM, HI_TOM_LITERAL
from pipeline.tom.story import Event, Story
from pipeline.tom.structure import structure_id

ORDERS = (1, 2)
TASK = "hi_tom_style"
_ROUND, _CHILDREN = 64, 4  # stories gone on with at a time, ways to go on
_CLAIMS = 4  # of two, what is believed is mostly what a simple rule says
_MORE = 1.5  # times as many questions that no rule solves, until what is found is filtered again
_LONGER = 4  # so many times the questions is a part more that is looked at
_REFITTED = 1000  # questions that are found until the rule is learned again, at most

Target = Callable[[Sequence[Example]], Sequence[tuple[bool, str | None]]]
"""What a model makes of questions: whether its answer is right, and the answer."""


@dataclass(frozen=True, slots=True)
class Found:
    """A question that the model got wrong.

    Attributes:
        example: The question.
        events: How much happens in its story.
        said: What was answered.
    """

    example: Example
    events: int
    said: str | None

    def row(self) -> dict[str, object]:
        """It as a row that ``tomrl judge`` reads."""
        each = self.example
        fields = {"story": each.story, "question": each.question, "answer": each.answer}
        more = {"choices": list(each.choices or ()), "order": each.order, "events": self.events}
        return {"id": each.id, **fields, **more, "response": self.said or ""}


@dataclass(frozen=True, slots=True)
class Attacked:
    """What a search came to.

    Attributes:
        asked: Questions that were put to the model.
        right: Those that it got right.
        wrong: What was found before rules were held down.
        solved: Those of them that a rule got right which had learned from the ones before.
        kept: The questions that no rule solves, shortest stories first.
        rules: How often the best rule, listed or learned, is right on them; None of too few.
    """

    asked: int
    right: int
    wrong: int
    solved: int
    kept: tuple[Found, ...]
    rules: float | None


@dataclass(frozen=True, slots=True, order=True)
class _Node:
    """A story that may be gone on with: where the model is right least often, then the shortest."""

    right: float
    length: int
    number: int
    events: Story = field(compare=False)


def attack(
    target: Target,
    source: HiTomSource,
    wanted: int,
    budget: int,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> Attacked:
    """Search for stories that a model gets wrong.

    Args:
        target: The model.
        source: How stories are told, and among how many people.
        wanted: Questions to find.
        budget: Questions that may be put to the model.
        seed: Of names, of the events that are tried, and of the questions asked.
        report: Hears how many questions were asked.
    """
    search = _Search(source, Random(f"attack:{seed}"))
    rule, found, asked, right = _Rule(), list[Found](), 0, 0
    kept, held, enough = tuple[Found, ...](), 0, float(wanted)
    while asked < budget and search.waiting:
        children = search.grown()
        put = [(node, e) for node in children for e in search.questions(node)][: budget - asked]
        answers = target([example for _, example in put])
        asked += len(put)
        right += sum(correct for correct, _ in answers)
        new = [
            Found(example, len(node.events), said)
            for (node, example), (correct, said) in zip(put, answers, strict=True)
            if not correct
        ]
        unsolved = rule.unsolved([each.example for each in new])
        of_node = dict[int, list[bool]]()
        for node, example in put:
            of_node.setdefault(node.number, []).append(example.id not in unsolved)
        search.keep(children, of_node)
        found += new
        report(asked)
        if len(found) - rule.solved >= enough:
            kept, held = _held(found, wanted, seed), len(found)
            enough = _MORE * (len(found) - rule.solved)
            if len(kept) == wanted:
                break
    if len(kept) < wanted and held < len(found):  # fits take minutes where much was found
        kept = _held(found, wanted, seed)
    share = best_share([each.example for each in kept])
    return Attacked(asked, right, len(found), rule.solved, kept, share)


class _Rule:
    """A learned rule of what was found so far.

    Attributes:
        solved: The questions that it got right before it learned from them.
    """

    def __init__(self) -> None:
        self._asked, self._gold = list[SurfaceQuestion](), list[int]()
        self._rule: LearnedRule | None = None
        self._next, self.solved = float(FEWEST), 0

    def unsolved(self, examples: Sequence[Example]) -> set[str]:
        """Ids of the questions that it does not solve; then it learns from them."""
        asked, gold = gold_places(read_all(examples))
        said = self._rule.answers(asked) if self._rule else [UNDEFINED] * len(asked)
        left = {e.id for e, a, g in zip(examples, said, gold, strict=True) if a != g}
        self.solved += len(asked) - len(left)
        self._asked += asked
        self._gold += gold
        if len(self._asked) >= self._next:
            self._rule = LearnedRule.fit(self._asked[-MOST_FITTED:], self._gold[-MOST_FITTED:])
            self._next = len(self._asked) + min(len(self._asked) / 2, _REFITTED)
        return left


def _held(found: Sequence[Found], wanted: int, seed: int) -> tuple[Found, ...]:
    """The shortest stories among those questions that no rule solves.

    Short stories are alike, so that rules solve more of them than of all: the more are left out of
    these, the longer the others that stand in for them.
    """
    random = Random(f"attack:held:{seed}")
    by_id = {each.example.id: each for each in found}
    hard = _hard([each.example for each in by_id.values()], random)
    shortest = sorted((by_id[e.id] for e in hard), key=lambda each: (each.events, each.example.id))

    most = wanted
    left = _hard([each.example for each in shortest[:most]], random)
    while len(left) < wanted and most < len(shortest):
        most += max(1, most // _LONGER)
        left = _hard([each.example for each in shortest[:most]], random)
    return tuple(by_id[each.id] for each in left[:wanted])


def _hard(examples: Sequence[Example], random: Random) -> list[Example]:
    return hard_ones(examples, [example.order for example in examples], random)


class _Search:
    """The stories that may be gone on with, and the structures that were tried.

    Args:
        source: How stories are told, and among how many people.
        random: Draws events, names and questions.
    """

    def __init__(self, source: HiTomSource, random: Random) -> None:
        self.source, self.random = source, random
        self.scene, _ = scene_of(source, random)
        self.numbers = count()
        begun = opening(self.scene)
        self.waiting = [_Node(1.0, len(begun), next(self.numbers), begun)]
        self.forms = set[str]()

    def grown(self) -> list[_Node]:
        """Stories with an event more, from the most promising ones.

        Who has no new way to go on is given up.
        """
        parents = [heapq.heappop(self.waiting) for _ in range(min(_ROUND, len(self.waiting)))]
        found = list[_Node]()
        for parent in parents:
            children = list(self._children(parent))
            found += children
            if children:
                heapq.heappush(self.waiting, parent)
        return found

    def keep(self, nodes: Sequence[_Node], right: Mapping[int, Sequence[bool]]) -> None:
        """Keep stories to go on with, by how often the model was right about them."""
        for node in nodes:
            answers = right.get(node.number)
            share = fmean(answers) if answers else node.right
            heapq.heappush(self.waiting, replace(node, right=share))

    def questions(self, node: _Node) -> Iterator[Example]:
        """Yield a question of each order, about the story with other names.

        The answer is the same whether or not somebody outside trusts a speaker who is inside.
        """
        scene, choices = scene_of(self.source, self.random)
        style = self.source.telling
        called = dict(zip(_names(self.scene), _names(scene), strict=True))
        events = tuple(_renamed(event, called) for event in node.events)
        known, literal = (beliefs(events, rules) for rules in (HI_TOM, HI_TOM_LITERAL))
        for order in ORDERS:
            chains = list(permutations(scene.agents, order))
            for chain in self.random.sample(chains, len(chains)):
                asked = WhereQuestion(scene.thing, chain)
                answer = asked.answer(known)
                if answer is not None and answer == asked.answer(literal):
                    story, question = told(events, style), ask(asked, style)
                    yield Example(
                        TASK, TASK, story, question, answer, choices=tuple(choices), order=order
                    )
                    break

    def _children(self, parent: _Node) -> Iterator[_Node]:
        """Yield new ways to go on, each kind of event as likely as any other."""
        kinds = following(self.scene, parent.events, _CLAIMS)
        for _ in range(_CHILDREN if kinds else 0):
            events = (*parent.events, self.random.choice(self.random.choice(kinds)))
            form = structure_id(events)
            if form not in self.forms:
                self.forms.add(form)
                yield _Node(parent.right, len(events), next(self.numbers), events)


def _names(scene: FreeScene) -> tuple[str, ...]:
    return (*scene.agents, scene.room, scene.thing, scene.container, *_others(scene))


def _others(scene: FreeScene) -> list[str]:
    return [container for container in scene.containers if container != scene.container]


def _renamed(event: Event, called: Mapping[str, str]) -> Event:
    values = {each.name: getattr(event, each.name) for each in fields(event)}
    renamed = {name: _called(value, called) for name, value in values.items()}
    return replace(event, **renamed)  # type: ignore[arg-type]


def _called(value: object, called: Mapping[str, str]) -> object:
    if isinstance(value, tuple):
        return tuple(_called(each, called) for each in value)
    return called.get(value, value) if isinstance(value, str) else value
