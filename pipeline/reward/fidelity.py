"""Fidelity of the reasoning: are the beliefs it states true, and do they lead to the answer?

The story is replayed by the belief engine, every belief claim found in the reasoning is checked
against it, and the chains on which the answer stands must be among the true ones. The score is

    (true claims / claims made) x (decisive chains truly stated / decisive chains),

over distinct claims, so that neither silence, nor repetition, nor naming every container pays. What
stands in the story or in the question word for word is no claim of the response: copying them earns
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.reward.reward import Fidelity
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.belief import Beliefs
from pipeline.tom.language import PLAIN, UPSTREAM, language_of
from pipeline.tom.observation import Chain
from pipeline.tom.question import NOW, WhereQuestion
from pipeline.tom.solve import read
from pipeline.tom.trace import BeliefClaim, find_claims

LONGEST_REASONING = 20_000
"""Characters of reasoning that are read, about twice the longest response of Study 1."""

LONGEST_GIVEN = 100_000
"""Characters of a story, and of a question, in which copied sentences are looked for."""

_SENTENCE_END = re.compile(r"[.!?\n]")
_WORD = re.compile(r"\w+")


def fidelity(response: str, example: Example) -> Fidelity | None:
    """Check the reasoning of a response (the text before ``</think>``) against the story.

    Every claim is read as one about the object asked for.

    Returns:
        None where the engine cannot read the story or the question: nothing can be checked then.
    """
    case = _read(example.benchmark, example.story, example.question)
    if case is None:
        return None
    claims = _claims(_reasoning(response), case.names) - case.copied
    true = {claim for claim in claims if case.holds(claim)}
    stated = {claim.chain for claim in true}
    return Fidelity(len(claims), len(true), len(case.decisive), len(stated & case.decisive))


def has_own_words(response: str, example: Example) -> bool:
    """Return whether any sentence of the reasoning stands neither in the story nor the question.

    All that can be asked of reasoning about a story that the engine cannot read.
    """
    story, question = example.story[:LONGEST_GIVEN], example.question[:LONGEST_GIVEN]
    given = f" {_plain(story)}  {_plain(question)} "
    sentences = {_plain(part) for part in _SENTENCE_END.split(_reasoning(response))}
    return any(sentence and f" {sentence} " not in given for sentence in sentences)


def is_readable(example: Example) -> bool:
    """Return whether the engine can check reasoning about this example."""
    return _read(example.benchmark, example.story, example.question) is not None


def decisive_chains(question: WhereQuestion) -> frozenset[Chain]:
    """Return the chains on which the answer stands: the chain asked and each inner one.

    Of "Ann thinks Bob thinks": (Ann, Bob) and (Bob). Of a question about the world: the world.
    """
    chain = question.chain
    return frozenset(chain[start:] for start in range(max(1, len(chain))))


def _reasoning(response: str) -> str:
    """Return the text before ``</think>``, as much as is read; nothing where it never ends."""
    end = response.find(THINK_END)
    return response[: min(end, LONGEST_REASONING)] if end >= 0 else ""


def _plain(text: str) -> str:
    """Return the words in lower case with one space between them."""
    return " ".join(_WORD.findall(text.lower()))


def _claims(text: str, names: Sequence[str]) -> set[BeliefClaim]:
    for name in names:
        text = text.replace(name, _joined(name))
    return set(find_claims(text))


def _joined(name: str) -> str:
    return name.replace(" ", "_")


def _names_of_two_words(question: WhereQuestion, beliefs: Beliefs) -> tuple[str, ...]:
    """Return names such as ExploreToM's "green basket", which a claim holds as one word.

    The longest come first, so that no part of a name is taken for a shorter one.
    """
    values = {o.value for o in beliefs.observations if o.value and o.aspect == question.aspect}
    names = {name for name in (*values, question.object) if " " in name}
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


@dataclass(frozen=True)
class _Case:
    """All that checking needs to know of a story and its question."""

    question: WhereQuestion
    beliefs: Beliefs
    names: tuple[str, ...]  # of two words
    copied: frozenset[BeliefClaim]  # found in the story and the question themselves
    decisive: frozenset[Chain]

    def holds(self, claim: BeliefClaim) -> bool:
        asked = self.question
        place = self.beliefs.of(claim.chain, asked.object, asked.aspect)
        return place is not None and _joined(place) == claim.container


@lru_cache(maxsize=4096)  # the completions of a prompt follow each other, epoch after epoch
def _read(benchmark: str, story: str, question: str) -> _Case | None:
    language = language_of(benchmark)
    if language is None or not story:
        return None
    rules = language.rules_named(UPSTREAM if benchmark == language.name else PLAIN)
    try:
        asked = language.question(question)
        if not isinstance(asked, WhereQuestion) or asked.when != NOW:
            return None
        _, beliefs = read(language, language.in_full(story), rules, asked.object)
    except (ValueError, KeyError):
        return None
    names = _names_of_two_words(asked, beliefs)
    copied = frozenset(_claims(f"{story}\n{question}", names))
    return _Case(asked, beliefs, names, copied, decisive_chains(asked))
