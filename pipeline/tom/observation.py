"""The unit of belief: one moment that can change what some chains of agents believe."""

from __future__ import annotations

from dataclasses import dataclass

Chain = tuple[str, ...]
"""``("Ann", "Bob")`` reads "Ann thinks Bob thinks"; the empty chain is the world itself."""

CONTAINER = "container"
ROOM = "room"
TOPIC = "topic"
GONE = None
"""The value after a thing has left for an unknown place."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One moment that can change beliefs about one aspect of one thing.

    Attributes:
        moment: Index of the event in the story.
        object: The thing concerned (for a topic: the topic).
        value: Its place or state, as observed or as said; ``GONE`` if it has left.
        group: Agents known to be there. Every chain of these agents is updated: those who see
            something together know that they do, to any depth.
        chains: Further chains that are updated one by one.
        real: Whether this is the truth about the world, rather than something said.
        aspect: What is observed: ``CONTAINER``, ``ROOM``, ``TOPIC``, or the words of a state.
        aware: Agents who really notice, where these are not just the group: some look on in secret,
            some are distracted. Chains then begin with one of these and go on inside the group.
    """

    moment: int
    object: str
    value: str | None
    group: frozenset[str]
    chains: frozenset[Chain] = frozenset()
    real: bool = True
    aspect: str = CONTAINER
    aware: frozenset[str] | None = None

    def reaches(self, chain: Chain) -> bool:
        """The observation sets the belief of this chain."""
        if not chain:
            return self.real
        if self.aware is None:
            seen = self.group.issuperset(chain)
        else:
            seen = chain[0] in self.aware and self.group.issuperset(chain[1:])
        return seen or chain in self.chains
