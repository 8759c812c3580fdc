"""A second reading of Hi-ToM's stories, written from docs/belief-engine.md, that shares no code.

It scans the lines for one chain of believers at a time and keeps what that page speaks of: who is
in which room, where each object is, who takes part in the scene, and in which order they left it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from pipeline.tom.belief import beliefs
from pipeline.tom.generate import brief, hi_tom, hi_tom_items
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.hi_tom_items import generate_item
from pipeline.tom.rules import HI_TOM as HI_TOM_RULES
from pipeline.tom.rules import HI_TOM_LITERAL
from pipeline.tom.story import Claim, Event, Story, agents_of

_ENTERED = re.compile(r"(.+) entered the (\w+)\.")
_LEFT = re.compile(r"(\w+) (?:left|exited the \w+)\.")
_SHOWN = re.compile(r"The (\w+) is in the (\w+)\.")
_MOVED = re.compile(r"(\w+) moved (?:it|the (\w+)) to the (\w+)\.")
_SAID = re.compile(
    r"(\w+) (?:publicly claimed|privately told (\w+)) that (?:the )?(\w+) is in the (\w+) now\."
)
_NAMES = re.compile(r"[A-Z]\w+")


@dataclass
class Reader:
    """What a reader of a story keeps who wants to know where one chain holds one object to be.

    Attributes:
        people: Everybody in the story.
        chain: The believers, outermost first; none of them: the world.
        thing: The object.
        stayed: Whether somebody who has left believes a speaker who is still inside.
    """

    people: set[str]
    chain: tuple[str, ...]
    thing: str
    stayed: bool
    held: str | None = None
    room_of: dict[str, str] = field(default_factory=dict)  # of people
    home: str = ""  # the room of the object
    place: str = ""
    scene: str = ""  # its room
    took_part: set[str] = field(default_factory=set)
    left: list[str] = field(default_factory=list)

    def inside(self, room: str) -> set[str]:
        return {person for person in self.people if self.room_of.get(person) == room}

    def seen_by(self, group: set[str]) -> None:
        """An observation by a group reaches every chain of its members."""
        if group.issuperset(self.chain):
            self.held = self.place

    def enter(self, people: list[str], room: str) -> None:
        for person in people:
            if room != self.scene:
                self.leave(person)
        if room != "waiting_room":
            elsewhere = room != self.scene or not self.inside(room)
            if not self.scene or (len(people) > 1 and elsewhere):
                self.scene, self.took_part, self.left = room, set(), []
        self.room_of |= dict.fromkeys(people, room)
        there = self.inside(room)
        if room == self.scene:
            self.took_part |= there
            self.left = [person for person in self.left if person not in there]
        if room == self.home != "":
            self.seen_by(there)

    def leave(self, person: str) -> None:
        if self.scene and self.room_of.get(person) == self.scene:
            self.left.append(person)
        self.room_of.pop(person, None)

    def show(self, thing: str, place: str, room: str) -> None:
        if thing == self.thing:
            self.home, self.place = room, place
            self.seen_by(self.inside(room))

    def hear(self, speaker: str, one: str | None, place: str) -> None:
        for listener in [one] if one else self.people - {speaker}:
            if self.chain == (speaker, listener) or (
                self.chain in [(listener,), (listener, speaker)] and self.trusts(listener, speaker)
            ):
                self.held = place

    def trusts(self, listener: str, speaker: str) -> bool:
        if listener not in self.took_part:
            return True
        if listener not in self.left:
            return False
        later = self.left[self.left.index(listener) + 1 :]
        return speaker in later or (self.stayed and speaker in self.inside(self.scene))


def believed(story: str, chain: tuple[str, ...], thing: str, stayed: bool) -> str | None:
    """Where the chain holds the object to be."""
    lines = story.splitlines()
    people = {name for line in lines if _ENTERED.fullmatch(line) for name in _NAMES.findall(line)}
    reader, room, shown = Reader(people, chain, thing, stayed), "", ""
    for line in lines:
        if found := _SAID.fullmatch(line):
            if found[3] == thing:
                reader.hear(found[1], found[2], found[4])
        elif found := _ENTERED.fullmatch(line):
            room = found[2]
            reader.enter(_NAMES.findall(found[1]), room)
        elif found := _LEFT.fullmatch(line):
            reader.leave(found[1])
        elif found := _SHOWN.fullmatch(line):
            shown = found[1]
            reader.show(shown, found[2], room)
        elif found := _MOVED.fullmatch(line):
            reader.show(found[2] or shown, found[3], reader.room_of[found[1]])
    return reader.held if chain else reader.place


def asked(question: str) -> tuple[tuple[str, ...], str]:
    """The believers that a question names, outermost first, and the object."""
    thing = re.search(r"the (\w+) (?:is|really)", question)
    assert thing is not None
    return tuple(_NAMES.findall(question.removeprefix("Where"))), thing[1]


def settings() -> Iterator[tuple[HiTomSettings, Random]]:
    for seed in range(1400):
        yield (
            HiTomSettings(3 + seed % 3, tell=True, noise=0, structure="free"),
            Random(f"text:{seed}"),
        )
    for seed in range(300):
        yield HiTomSettings(2 + seed % 4, 1 + seed % 3, tell=seed % 4 > 0), Random(f"told:{seed}")


def test_engine_and_literal_reader_agree_on_fresh_questions() -> None:
    # The literal reader knows nothing of the engine's choice: no gold answer hangs on it.
    seen, returns, public, private = 0, 0, 0, 0
    for chosen, random in settings():
        item = generate_item(chosen, random, "benchmark")
        texts = [item.story, brief.render(item.events)] if chosen.structure == "free" else []
        public, private = public + ("publicly" in item.story), private + ("told" in item.story)
        for text in texts or [item.story]:
            returns += bool(texts) and len(_ENTERED.findall(text)) > 1
            for question in item.questions:
                said = believed(text, *asked(question.text), stayed=False)
                assert question.answer == said, (text, question)
                seen += 1
    assert seen > 10_000
    assert min(returns, public, private) > 500


def test_pairs_hang_on_neither_reading() -> None:
    for seed in range(300):
        random = Random(f"pairs:{seed}")
        found = hi_tom_items.pair(
            HiTomSettings(3 + seed % 3, tell=True, structure="free"), random, "benchmark"
        )
        for item in (found.observed, found.hidden):
            for question in item.questions:
                for stayed in (False, True):
                    said = believed(item.story, *asked(question.text), stayed)
                    assert question.answer == said, (item.story, question)


def test_engine_and_reader_agree_on_either_reading_where_it_matters() -> None:
    differ = 0
    for chosen, random in settings():
        drawn = hi_tom.generate(chosen, random)
        events = tuple(by_anybody(event, drawn.events, random) for event in drawn.events)
        text = hi_tom.render(events)
        known = beliefs(events, HI_TOM_RULES), beliefs(events, HI_TOM_LITERAL)
        for question in drawn.questions:
            answers = [question.answer(each) for each in known]
            assert answers == [
                believed(text, question.chain, question.object, stayed) for stayed in (True, False)
            ], text
            differ += answers[0] != answers[1]
    assert differ > 100


def by_anybody(event: Event, story: Story, random: Random) -> Event:
    """A claim as made by anybody, also by those inside; other events as they are."""
    if not isinstance(event, Claim):
        return event
    others = [agent for agent in agents_of(story) if agent != event.listener]
    return replace(event, speaker=random.choice(others))
