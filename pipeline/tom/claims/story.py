"""A story that claims can be read and checked against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from pipeline.tom.belief import Beliefs
from pipeline.tom.claims.lexicon import ROLES
from pipeline.tom.claims.reader import END, BeliefClaim, read_claims
from pipeline.tom.claims.vocabulary import Vocabulary
from pipeline.tom.language import Language
from pipeline.tom.observation import CONTAINER, ROOM
from pipeline.tom.rules import Rules
from pipeline.tom.solve import read
from pipeline.tom.story import Enter, Exit, Place, Present, Story, agents_of


@dataclass(frozen=True)
class ReadStory:
    """What a story's names are, and what is believed in it.

    Attributes:
        beliefs: Who believes what.
        vocabulary: Its names.
        rooms: The room that each object was last put in by the narrator.
    """

    beliefs: Beliefs
    vocabulary: Vocabulary
    rooms: Mapping[str, str]

    def claims(self, response: str, thing: str) -> list[BeliefClaim]:
        """The claims of a response; ``thing`` is the object asked about."""
        return read_claims(response, self.vocabulary, thing)

    def with_places(self, places: Iterable[str]) -> ReadStory:
        """The story, with places to read that it need not have: the options of a question.

        Nothing is believed to be in those that it does not have.
        """
        names = self.vocabulary
        known = names.people | names.objects | names.rooms | names.containers
        added = {name for name in places if name not in known and name.lower() not in ROLES}
        if not added:
            return self
        return replace(self, vocabulary=replace(names, options=frozenset(added)))

    def holds(self, claim: BeliefClaim) -> bool:
        """Whether a claim is true: at the end, or at any moment where it is about one.

        Who is in no position to know of an object believes nothing about it.
        """
        return (claim.place in self._believed(claim)) is not claim.negated

    def _believed(self, claim: BeliefClaim) -> frozenset[str | None]:
        aspect = CONTAINER if claim.place in self.vocabulary.containers else ROOM
        history = [o.value for o in self.beliefs.history(claim.holders, claim.object, aspect)]
        if not history and aspect == ROOM:
            history = [self.rooms.get(claim.object)]
        return frozenset(history[-1:] if claim.when == END else history)


@lru_cache(maxsize=4096)  # the completions of a prompt follow each other, epoch after epoch
def read_story(language: Language, story: str, rules: Rules, thing: str = "") -> ReadStory:
    """Read a story.

    Args:
        language: The language it is in.
        story: Its text.
        rules: How beliefs change.
        thing: The object asked about.

    Raises:
        ParseError: At the first sentence that is not in the language.
        KeyError: If an agent moves something before having entered any room.
    """
    parsed, beliefs = read(language, story, rules, thing)
    return ReadStory(
        beliefs=beliefs,
        vocabulary=_vocabulary(parsed.events, beliefs, story, thing),
        rooms={e.object: e.room for e in parsed.events if isinstance(e, Place)},
    )


def _vocabulary(events: Story, beliefs: Beliefs, story: str, thing: str) -> Vocabulary:
    """The names of a story; what is asked about is an object, even if things are in it."""
    seen = [o for o in beliefs.observations if o.aspect in (CONTAINER, ROOM)]
    containers = {o.value for o in seen if o.aspect == CONTAINER and o.value}
    entered = {e.room for e in events if isinstance(e, Enter | Exit | Place | Present)}
    return Vocabulary(
        people=frozenset(agents_of(events)),
        objects=frozenset(o.object for o in seen) - (containers - {thing}),
        containers=frozenset(containers),
        rooms=frozenset(entered | {o.value for o in seen if o.aspect == ROOM and o.value}),
        story=story,
    )
