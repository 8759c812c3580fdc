"""The kinds of questions, and the answer that a story's beliefs imply."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.tom.belief import Beliefs
from pipeline.tom.observation import CONTAINER, TOPIC, Chain, Observation

NOW, BEGINNING, BEFORE = "now", "beginning", "before"


@dataclass(frozen=True, slots=True)
class WhereQuestion:
    """Where does this chain of agents believe the object to be? The empty chain asks for the truth.

    Attributes:
        chain: The nested believers; its length is the belief order.
        aspect: Container or room.
        when: ``NOW``, at the ``BEGINNING``, or ``BEFORE`` an event (ToMi's and ExploreToM's memory
            questions).
        event: The words of that event, for ``BEFORE``.
    """

    object: str
    chain: Chain = ()
    aspect: str = CONTAINER
    when: str = NOW
    event: str = ""

    @property
    def order(self) -> int:
        return len(self.chain)

    def decisive(self, beliefs: Beliefs, moment: int | None = None) -> Observation | None:
        """The observation that decides the answer; ``moment`` is the index of ``event``."""
        if self.when == NOW:
            return beliefs.decisive(self.chain, self.object, self.aspect)
        known = [o for o in beliefs.history(self.chain, self.object, self.aspect) if o.value]
        if self.when == BEGINNING:
            return known[0] if known else None
        earlier = [o for o in known if moment is not None and o.moment < moment]
        return earlier[-1] if earlier else None

    def answer(self, beliefs: Beliefs, moment: int | None = None) -> str | None:
        """The implied place, or None where no belief is defined."""
        decisive = self.decisive(beliefs, moment)
        return decisive.value if decisive else None


@dataclass(frozen=True, slots=True)
class KnowsQuestion:
    """Has this topic been heard of by the chain: does A know, does A think that B knows?"""

    topic: str
    chain: Chain

    @property
    def order(self) -> int:
        return len(self.chain)

    def decisive(self, beliefs: Beliefs) -> Observation | None:
        return beliefs.decisive(self.chain, self.topic, TOPIC)

    def answer(self, beliefs: Beliefs) -> str:
        """``yes`` or ``no`` (first order), or ExploreToM's words for it (second order)."""
        known = self.decisive(beliefs) is not None
        if self.order == 1:
            return "yes" if known else "no"
        return "knows about it" if known else "does not know about it"


@dataclass(frozen=True, slots=True)
class StateQuestion:
    """Does the chain believe that something holds of an object (ExploreToM's state updates)?

    The question uses other words than the story ("the horn is striped" for "painted the horn with
    stripes"), so it holds the whole clause, object included, for the solver to match.
    """

    clause: str
    chain: Chain

    @property
    def order(self) -> int:
        return len(self.chain)


Question = WhereQuestion | KnowsQuestion | StateQuestion


def asked_about(question: Question) -> str:
    """The object whose place is asked for; empty for other questions."""
    return question.object if isinstance(question, WhereQuestion) else ""
