"""A second reading of stories of free structure, from their text alone, that shares no code.

It scans the lines for one chain of believers at a time and knows three things: who is inside, in
which order the others left, and what the chain holds.
"""

from __future__ import annotations

import re
from random import Random

from pipeline.tom.generate import brief
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.language import HI_TOM

_ENTERED = re.compile(r"(.+) entered the (?!waiting_room)\w+\.")
_LEFT = re.compile(r"(\w+) (?:left|exited the \w+)\.")
_SHOWN = re.compile(r"(?:The \w+ is in the|\w+ moved (?:it|the \w+) to the) (\w+)\.")
_SAID = re.compile(
    r"(\w+) (?:publicly claimed|privately told (\w+)) that (?:the )?\w+ is in the (\w+) now\."
)
_NAMES = re.compile(r"[A-Z]\w+")


def believed(story: str, chain: tuple[str, ...]) -> str | None:
    """Where the chain holds the object to be; the empty chain is the world."""
    inside: set[str] = set()
    gone: list[str] = []
    where = held = None
    for line in story.splitlines():
        if found := _SAID.fullmatch(line):
            speaker, one, place = found.groups()
            for hearer in [one] if one else sorted({*inside, *gone} - {speaker}):
                later = speaker in inside or gone.index(speaker) > (
                    gone.index(hearer) if hearer in gone else len(gone)
                )
                trusted = hearer in gone and later
                if chain == (speaker, hearer) or (
                    trusted and chain in [(hearer,), (hearer, speaker)]
                ):
                    held = place
            continue
        if found := _ENTERED.fullmatch(line):
            inside |= set(_NAMES.findall(found[1]))
            gone = [name for name in gone if name not in inside]
        elif found := _LEFT.fullmatch(line):
            inside.discard(found[1])
            gone.append(found[1])
        elif found := _SHOWN.fullmatch(line):
            where = found[1]
        else:
            continue
        if inside.issuperset(chain) and not _LEFT.fullmatch(line):
            held = where
    return held


def asked(question: str) -> tuple[str, ...]:
    """The believers that a question names, outermost first."""
    return tuple(_NAMES.findall(question.removeprefix("Where")))


def test_engine_and_text_agree_on_5000_fresh_questions() -> None:
    seen, returns = 0, 0
    for seed in range(1400):
        settings = HiTomSettings(agents=3 + seed % 3, tell=True, noise=0, structure="free")
        item = HI_TOM.generate(settings, Random(f"text:{seed}"), "benchmark")
        for text in (item.story, brief.render(item.events)):
            returns += len(_ENTERED.findall(text)) > 1
            for question in item.questions:
                assert question.answer == believed(text, asked(question.text)), (text, question)
                seen += 1
    assert seen > 5000
    assert returns > 500
