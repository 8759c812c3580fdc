"""Hard questions, chosen as the study ``mini`` chooses them, and responders that are known.

``hard.jsonl`` holds some of its columns, so that no test has to filter thousands of stories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from pipeline.judge.answers import AnswerVerdict, judge_answers
from pipeline.judge.followers import Questions
from pipeline.judge.items import Item
from pipeline.tasks.example import Example

FILE = Path(__file__).with_name("hard.jsonl")
Respond = Callable[[int, Random], str]
"""From the place of a question to an answer."""


@cache
def examples() -> tuple[Example, ...]:
    """The questions: three orders, and counterfactual pairs."""
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return tuple(
        Example(
            benchmark="hi_tom_style",
            task="hi_tom_style",
            story=row["story"],
            question=row["question"],
            answer=row["answer"],
            order=row["order"],
            question_type=f"order_{row['order']}",
            meta={"pair": row["pair"]} if "pair" in row else {},
        )
        for row in rows
    )


@cache
def questions() -> Questions:
    """What rules and minds say to them."""
    return Questions.of(examples())


@cache
def sayings() -> dict[str, Sequence[str | None]]:
    """What each rule and mind says to them, by its name."""
    return {name: answers for name, _, answers in questions().said}


def candidates(place: int) -> tuple[str, ...]:
    """The possible answers to a question."""
    return questions().asked[place].candidates


def gold(place: int, _: Random) -> str:
    """Answer right."""
    return examples()[place].answer


def guess(place: int, random: Random) -> str:
    """Answer with any place."""
    return random.choice(candidates(place))


def saying(name: str, otherwise: str = "last") -> Respond:
    """The responder that a rule, a cue or a mind is, and another where it is silent."""

    def answer(place: int, random: Random) -> str:
        picks, said = questions().asked[place].picks, sayings()
        given = said[name][place] if name in said else picks[name]
        return given or picks[otherwise] or guess(place, random)

    return answer


def noisy(respond: Respond, share: float) -> Respond:
    """A responder that gives another place in a share of its answers."""

    def answer(place: int, random: Random) -> str:
        meant = respond(place, random)
        others = [each for each in candidates(place) if each != meant]
        return random.choice(others) if others and random.random() < share else meant

    return answer


def items(respond: Respond, seed: int = 0) -> list[Item]:
    """What a responder answers."""
    random = Random(seed)
    answers = [respond(place, random) for place in range(len(examples()))]
    return [
        Item(example, f"<answer>{answer}</answer>", answer, answer == example.answer)
        for example, answer in zip(examples(), answers, strict=True)
    ]


def judged(respond: Respond, seed: int = 0) -> AnswerVerdict:
    """The verdict on a responder."""
    return judge_answers(items(respond, seed), questions())
