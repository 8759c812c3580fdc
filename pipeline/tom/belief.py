"""The belief engine: who believes what, to any depth, computed only for the chain that is asked.

A chain ``("Ann", "Bob")`` reads "Ann thinks Bob thinks"; the empty chain is the world itself.

The engine replays the events once and writes down every *observation*: the moments that could
change a belief, with the agents who took part. The belief of a chain is then the value of the last
observation that reaches it, so no table over all chains is ever built. The conventions of each
benchmark are options of :class:`pipeline.tom.rules.Rules`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.tom.observation import CONTAINER, Observation
from pipeline.tom.quirks import third_agent_overwrites
from pipeline.tom.replay import Replay
from pipeline.tom.rules import HI_TOM, Rules
from pipeline.tom.story import Story, agents_of


@dataclass(frozen=True, slots=True)
class Beliefs:
    """All that a story implies about who believes what; ask with :meth:`of`."""

    observations: tuple[Observation, ...]

    def of(self, chain: Iterable[str], thing: str, aspect: str = CONTAINER) -> str | None:
        """The value that the chain believes in (by default the place of ``thing``), or None."""
        decisive = self.decisive(chain, thing, aspect)
        return decisive.value if decisive else None

    def decisive(
        self, chain: Iterable[str], thing: str, aspect: str = CONTAINER
    ) -> Observation | None:
        """The observation that decides the chain's belief about ``thing``."""
        chain = tuple(chain)
        for observation in reversed(self.observations):
            if (
                observation.object == thing
                and observation.aspect == aspect
                and observation.reaches(chain)
            ):
                return observation
        return None

    def history(
        self, chain: Iterable[str], thing: str, aspect: str = CONTAINER
    ) -> tuple[Observation, ...]:
        """All observations that set the chain's belief about ``thing``, oldest first."""
        chain = tuple(chain)
        return tuple(
            observation
            for observation in self.observations
            if observation.object == thing
            and observation.aspect == aspect
            and observation.reaches(chain)
        )

    def until(self, moment: int) -> Beliefs:
        return Beliefs(tuple(o for o in self.observations if o.moment <= moment))


def beliefs(story: Story, rules: Rules = HI_TOM) -> Beliefs:
    """Replay a story under the given rules; KeyError for a move before any room was entered."""
    observations = Replay(rules, agents_of(story)).run(story)
    if rules.quirk_third_agent:
        observations += third_agent_overwrites(story, rules)
    return Beliefs(tuple(observations))
