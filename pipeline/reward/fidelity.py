"""Fidelity of the reasoning: are the beliefs it states true, and do they lead to the answer?

The story is replayed by the belief engine, every claim found in the reasoning about the object
asked for is checked against it, and the chains on which the answer stands must be among the true
ones. The score is

    (true claims / claims made) x (decisive chains truly stated / decisive chains),

over distinct claims about the end of the story, so that neither silence, nor repetition, nor naming
every container pays. A sentence copied from the story is no claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pipeline.reward.reward import Fidelity
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.claims.reader import END, LONGEST_RESPONSE, BeliefClaim, ReadStory, read_story
from pipeline.tom.language import PLAIN, UPSTREAM, language_of
from pipeline.tom.observation import Chain
from pipeline.tom.question import WhereQuestion
from pipeline.tom.solve import split_choices

LONGEST_GIVEN = 100_000
"""Characters of a story or question in which copied sentences are looked for."""

_SENTENCE_END = re.compile(r"[.!?\n]")
_WORD = re.compile(r"\w+")


def fidelity(response: str, example: Example) -> Fidelity | None:
    """Check the reasoning of a response (the text before ``</think>``) against the story.

    Returns:
        None where the engine cannot read the story or the question.
    """
    case = case_of(example)
    if case is None:
        return None
    made = {
        said: case.story.holds(claim)
        for said, claim in claims_about(_reasoning(response), case.question, case.story).items()
        if said not in case.copied
    }
    stated = {holders for (holders, _, negated), true in made.items() if true and not negated}
    return Fidelity(len(made), sum(made.values()), len(case.decisive), len(stated & case.decisive))


def has_own_words(response: str, example: Example) -> bool:
    """Any sentence of the reasoning stands neither in the story nor the question.

    The only check where the engine cannot read the story.
    """
    story, question = example.story[:LONGEST_GIVEN], example.question[:LONGEST_GIVEN]
    given = f" {_plain(story)}  {_plain(question)} "
    sentences = {_plain(part) for part in _SENTENCE_END.split(_reasoning(response))}
    return any(sentence and f" {sentence} " not in given for sentence in sentences)


def is_readable(example: Example) -> bool:
    return case_of(example) is not None


def decisive_chains(question: WhereQuestion) -> frozenset[Chain]:
    """The chains on which the answer depends: the chain asked and each inner one.

    For "Ann thinks Bob thinks": (Ann, Bob) and (Bob); for a question about the world: the world.
    """
    chain = question.chain
    return frozenset(chain[start:] for start in range(max(1, len(chain))))


def _reasoning(response: str) -> str:
    """The text before ``</think>``, truncated; empty if it never ends."""
    end = response.find(THINK_END)
    return response[: min(end, LONGEST_RESPONSE)] if end >= 0 else ""


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


Said = tuple[Chain, str, bool]
"""A claim about an object at the end: (believers, place, negated)."""


def claims_about(text: str, question: WhereQuestion, story: ReadStory) -> dict[Said, BeliefClaim]:
    return {
        (claim.holders, claim.place, claim.negated): claim
        for claim in story.claims(text, question.object)
        if claim.object == question.object and claim.when == END
    }


@dataclass(frozen=True)
class Case:
    """A parsed story and question."""

    question: WhereQuestion
    story: ReadStory
    decisive: frozenset[Chain]
    words: str  # of the question

    @cached_property
    def copied(self) -> frozenset[Said]:
        return frozenset(claims_about(self.words.replace("(", "\n"), self.question, self.story))


def case_of(example: Example) -> Case | None:
    options = split_choices(example.choices)
    return read_case(example.benchmark, example.story, example.question, options)


@lru_cache(maxsize=4096)  # the completions of a prompt follow each other, epoch after epoch
def read_case(
    benchmark: str, story: str, question: str, options: tuple[str, ...] = ()
) -> Case | None:
    """Parse a story and its question, or None; claims may name a place among the options."""
    language = language_of(benchmark)
    if language is None or not story:
        return None
    rules = language.rules_named(UPSTREAM if benchmark == language.name else PLAIN)
    asked = language.place_asked(question)
    if asked is None:
        return None
    try:
        told = read_story(language, story, rules, asked.object).with_places(options)
    except (ValueError, KeyError):
        return None
    return Case(asked, told, decisive_chains(asked), question)
