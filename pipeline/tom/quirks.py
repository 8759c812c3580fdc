"""Effects of upstream's own mistakes, needed to reproduce published labels."""

from __future__ import annotations

from pipeline.tom.observation import Chain, Observation
from pipeline.tom.rules import Rules
from pipeline.tom.story import Enter, Exit, Move, Place, Present, Story, agents_of


def third_agent_overwrites(story: Story, rules: Rules) -> list[Observation]:
    """The beliefs that ToMi's generator overwrites after the story is told.

    Its sentences take effect when they are built, and those of the third agent are built last but
    inserted anywhere (``tasks.py`` of facebookresearch/ToMi). So when a third agent is ever in the
    object's room, mover and bystander each think that the other knows the final place.
    """
    move = next((event for event in story if isinstance(event, Move)), None)
    place = next((event for event in story if isinstance(event, Place)), None)
    if move is None or place is None:
        return []
    mover, room = move.agent, place.room
    chains: set[Chain] = set()
    for bystander in agents_of(story):
        if bystander == mover:
            continue
        others = set(agents_of(story)) - {mover, bystander}
        third = bool(others & _entrants(story, room))
        left = Exit(mover, room) in story
        if third and not (left and rules.quirk_mover_exit_protects):
            chains |= {(mover, bystander), (bystander, mover)}
        if rules.quirk_return and left and _returns(story, bystander, mover, room):
            chains |= {(mover, bystander), (bystander, mover)}
    if not chains:
        return []
    end = len(story) - 1
    return [Observation(end, move.object, move.container, frozenset(), frozenset(chains), False)]


def _entrants(story: Story, room: str) -> set[str]:
    entrants: set[str] = set()
    for event in story:
        match event:
            case Enter(agents, where) if where == room:
                entrants.update(agents)
            case Present(agent, where) if where == room:
                entrants.add(agent)
    return entrants


def _returns(story: Story, agent: str, mover: str, room: str) -> bool:
    after = story[story.index(Exit(mover, room)) :]
    return agent in _entrants(after, room)
