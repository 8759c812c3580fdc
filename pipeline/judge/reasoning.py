"""The second axis of the verdict: is what the reasoning states true, and does the answer follow?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.evaluate.statistics import Estimate, share
from pipeline.judge.answers import in_percent
from pipeline.judge.items import Item
from pipeline.reward.fidelity import Case, Said, case_of, claims_about
from pipeline.tom.observation import Chain

FAITHFUL, UNFAITHFUL, ABSENT, UNREADABLE = "faithful", "unfaithful", "absent", "unreadable"

MAJORITY = 0.5
"""Share of responses without a claim above which reasoning is absent, of stories that the engine
cannot read above which it is unreadable, and of faithful responses that faithful reasoning needs
(the lower end of the interval)."""

ENOUGH_TRUE = 0.7
"""Share of true claims that faithful reasoning needs, by the lower end of the interval."""


@dataclass(frozen=True, slots=True)
class Statements:
    """What one response states about the object asked for, as it is at the end of the story.

    Attributes:
        made: Distinct claims.
        true: Those that are true.
        decisive: Chains of believers on which the answer stands: the one asked, and each inner one.
        stated: Decisive chains of which something is said.
        held: Those of which the last thing said is true.
        follows: Whether the answer is what is last said of the chain asked; None where nothing is.
    """

    made: int
    true: int
    decisive: int
    stated: int
    held: int
    follows: bool | None

    @property
    def faithful(self) -> bool:
        """Return whether what decides is stated, none of it false, and the answer follows."""
        return 0 < self.stated == self.held and self.follows is not False


@dataclass(frozen=True, slots=True)
class ReasoningVerdict:
    """What the reasoning is.

    Attributes:
        is_: ``faithful``, ``unfaithful``, ``absent`` or ``unreadable``.
        because: The reason in a sentence.
        readable: Share of responses to questions that the engine can read.
        silent: Share of these that state no belief.
        faithful: Share of the others that are faithful.
        true: Share of true claims among all.
        follows: Share of answers that are what is said of the chain asked, where something is.
        decisive: Share of decisive chains that are truly stated.
        wrong_trace: Share of right answers, with claims, whose reasoning is not faithful.
    """

    is_: str
    because: str
    readable: float
    silent: Estimate
    faithful: Estimate
    true: Estimate
    follows: Estimate
    decisive: Estimate
    wrong_trace: Estimate


def statements(item: Item) -> Statements | None:
    """Return what a response states; None where the engine cannot read the story or question."""
    case = case_of(item.example)
    if case is None:
        return None
    made = claims_about(item.response, case.question, case.story)
    truth = {said: case.story.holds(claim) for said, claim in made.items()}
    last = _last_said(made)
    stated = [chain for chain in case.decisive if chain in last]
    held = [chain for chain in stated if truth[chain, last[chain], False]]
    return Statements(
        made=len(made),
        true=sum(truth.values()),
        decisive=len(case.decisive),
        stated=len(stated),
        held=len(held),
        follows=_follows(item, case, last),
    )


def _last_said(made: Iterable[Said]) -> dict[Chain, str]:
    """Return the place last said of each chain of believers."""
    return {holders: place for holders, place, negated in made if not negated}


def _follows(item: Item, case: Case, last: dict[Chain, str]) -> bool | None:
    place = last.get(case.question.chain)
    return None if place is None else item.says(place)


def judge_reasoning(items: Sequence[Item], stated: Sequence[Statements | None]) -> ReasoningVerdict:
    """Return what the reasoning of responses is, with the evidence.

    Args:
        items: The responses.
        stated: What each of them states.
    """
    found = list(zip(items, stated, strict=True))
    read = [(item, made) for item, made in found if made is not None]
    speaking = [(item, made) for item, made in read if made.made]
    readable = len(read) / len(found) if found else 0.0
    silent = _share([(item, made.made == 0) for item, made in read])
    faithful = _share([(item, made.faithful) for item, made in speaking])
    true = _share(
        [(item, place < made.true) for item, made in speaking for place in range(made.made)]
    )
    is_, because = _decide(readable, silent, faithful, true)
    return ReasoningVerdict(
        is_=is_,
        because=because,
        readable=readable,
        silent=silent,
        faithful=faithful,
        true=true,
        follows=_share([(i, made.follows) for i, made in speaking if made.follows is not None]),
        decisive=_share(
            [(item, place < made.held) for item, made in speaking for place in range(made.decisive)]
        ),
        wrong_trace=_share([(i, not made.faithful) for i, made in speaking if i.right]),
    )


def _decide(
    readable: float, silent: Estimate, faithful: Estimate, true: Estimate
) -> tuple[str, str]:
    if readable <= MAJORITY:
        return UNREADABLE, f"the engine reads {readable:.0%} of the stories and questions"
    if silent.value > MAJORITY:
        return ABSENT, f"{silent.value:.1%} of the responses state no belief of their own"
    because = (
        f"{in_percent(true)} of the claims are true, and {in_percent(faithful)} of the responses "
        "with claims state what decides the answer, state it truly and answer by it"
    )
    is_faithful = faithful.low > MAJORITY and true.low > ENOUGH_TRUE
    return (FAITHFUL if is_faithful else UNFAITHFUL), because


def _share(values: Sequence[tuple[Item, bool]]) -> Estimate:
    return share([value for _, value in values], [item.example.story_id for item, _ in values])
