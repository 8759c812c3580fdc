"""Models made up so that it is known whether they use their reasoning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.formats.provenance import Libraries
from pipeline.model.chat import PREFILL
from pipeline.tasks.example import Example
from pipeline.tom.language import HI_TOM
from pipeline.tom.observation import Chain
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import UNKNOWN, Line, Seen, implied, read_lines, written
from pipeline.tom.retelling import Retold, retell

RECOUNT, WALK, PROSE = "recount", "walk", "prose"
FORMS = (RECOUNT, WALK, PROSE)

Decide = Callable[[Sequence[Line], Retold], str | None]


def by_trace(lines: Sequence[Line], story: Retold) -> str | None:
    """What the reasoning implies, whatever the story says."""
    return implied(lines, story.chain)


def by_story(lines: Sequence[Line], story: Retold) -> str | None:
    """What the story implies, whatever the reasoning says."""
    return implied(story.lines, story.chain)


def by_first_place(lines: Sequence[Line], story: Retold) -> str | None:
    """A rule: where the object was at the beginning."""
    return story.places[0]


def by_alphabet(lines: Sequence[Line], story: Retold) -> str | None:
    """A rule: the place that is first in the alphabet."""
    return min(story.places)


def by_last_sight(lines: Sequence[Line], story: Retold) -> str | None:
    """A rule: where the object really is."""
    return implied(story.lines, ())


def by_last_line(lines: Sequence[Line], story: Retold) -> str | None:
    """Of the reasoning, the place named last, whoever learned of it."""
    return lines[-1].place if lines else None


def by_first_line(lines: Sequence[Line], story: Retold) -> str | None:
    """Of the reasoning, the place named first, whoever learned of it."""
    return lines[0].place if lines else None


@dataclass
class Simulated:
    """An engine that reasons, says last where the object is thought to be, and answers that.

    It recounts; or walks, where it says after each line what is believed by then, and after the
    last what it is going to answer; or says in prose where each agent, and the chain asked about,
    believe the object to be. Where an answer has begun, it goes on from there; a last sentence that
    stands there already is copied.

    Attributes:
        examples: What it may be asked.
        decide: How it comes to the last sentence. In prose, each claim is like a line about what
            its believers saw together.
        noise: Share of last sentences that name any place instead.
        slips: Share of lines, or claims, that are wrong.
        seed: Of what it draws.
        form: Of its reasoning.
    """

    examples: Iterable[Example]
    decide: Decide
    noise: float = 0.0
    slips: float = 0.0
    seed: int = 0
    form: str = RECOUNT
    name: str = "simulated"
    libraries: Libraries = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {example.id: example for example in self.examples}

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        """One response for each prompt, in order."""
        report(len(prompts))
        return [Response(self._go_on(prompt), 30, "stop") for prompt in prompts]

    def _go_on(self, prompt: Prompt) -> str:
        begun = prompt.begun.removeprefix(PREFILL)
        random = Random(f"{self.seed} {prompt.question} {begun}")
        example = self.known[prompt.question]
        story = retell(example.benchmark, example.story, example.question)
        if story is None:  # a side-check is about no story
            return "</think><answer> 0</answer>"
        thing = HI_TOM.question(example.question)
        assert isinstance(thing, WhereQuestion)
        said = f"the {thing.object} is in the"
        if self.form != PROSE and said in begun:
            place = begun.rstrip(".").split()[-1]
            return f"</think><answer> {place}</answer>"
        done = _claims(begun) if self.form == PROSE else [each.line for each in read_lines(begun)]
        rest = self._rest(done, story, random)
        decided = self.decide([*done, *rest], story)
        place = random.choice(story.places) if random.random() < self.noise else str(decided)
        last = f"{_thinking(story.chain)}{said} {place}."
        told = {RECOUNT: _recount, WALK: _walk(done, story.chain, place), PROSE: _prose(said)}
        return f"{told[self.form](rest)} {last}</think><answer> {place}</answer>"

    def _rest(self, done: Sequence[Line], story: Retold, random: Random) -> list[Line]:
        """What is still to be said: nothing in a recount that was begun, which is whole."""
        if self.form == RECOUNT and done:
            return []
        true = _believed(story) if self.form == PROSE else story.lines
        # A line that stands where a later one should: one before it was left out.
        count = len(done)
        start = true.index(done[-1], count) + 1 if done and done[-1] in true[count:] else count
        return [
            Seen(random.choice(story.places), self._seeing(line, story, random))
            if random.random() < self.slips
            else line
            for line in true[start:]
        ]

    def _seeing(self, line: Line, story: Retold, random: Random) -> tuple[str, ...]:
        if self.form == PROSE and isinstance(line, Seen):
            return line.witnesses
        return tuple(random.sample(story.people, 2))


def _thinking(chain: Sequence[str]) -> str:
    return "".join(f"{agent} thinks " for agent in chain)


def _claims(text: str) -> list[Line]:
    """The claims of a text in this prose, as lines."""
    found = re.findall(r"((?:[A-Z]\w* thinks )+)the \w+ is in the (\w+)\.", text)
    return [Seen(place, tuple(who.split(" thinks ")[:-1])) for who, place in found]


def _believed(story: Retold) -> tuple[Line, ...]:
    """What each agent believes; the chain asked about stands second, at times first."""
    chains = [(agent,) for agent in story.people if (agent,) != story.chain]
    chains.insert(int(len(story.lines) % 3 > 0), story.chain)
    beliefs = [(chain, implied(story.lines, chain)) for chain in chains]
    return tuple(Seen(place, chain) for chain, place in beliefs if place is not None)


def _recount(rest: Sequence[Line]) -> str:
    return f" {written(rest)}" if rest else ""


def _walk(done: Sequence[Line], chain: Chain, last: str) -> Callable[[Sequence[Line]], str]:
    """How a walk goes on after some lines, the last of which still lacks what is believed then."""

    def text(rest: Sequence[Line]) -> str:
        lines, parts = [*done, *rest], list[str]()
        for count in range(max(1, len(done)), len(lines) + 1):
            line = lines[count - 1]
            place = last if count == len(lines) else implied(lines[:count], chain) or UNKNOWN
            said = f"{'So' if line.reaches(chain) else 'Still'} {place}."
            parts.append(said if count == len(done) else f"{line} {said}")
        return "".join(f" {part}" for part in parts)

    return text


def _prose(said: str) -> Callable[[Sequence[Line]], str]:
    def text(rest: Sequence[Line]) -> str:
        return "".join(
            f" {_thinking(each.witnesses)}{said} {each.place}."
            for each in rest
            if isinstance(each, Seen)
        )

    return text
