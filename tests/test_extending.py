"""docs/extending.md: the code of a rule and of a story language does what the page says."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

from pipeline.tom import belief, language, minds, observation, question, rules, shortcut, story
from pipeline.tom.belief import beliefs
from pipeline.tom.generate import item
from pipeline.tom.parse import text
from pipeline.tom.question import WhereQuestion
from pipeline.tom.shortcut import Surface
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs" / "extending.md").read_text(encoding="utf-8")
MODULES = (belief, language, minds, observation, question, rules, shortcut, story, item, text)


def code_of(heading: str) -> dict[str, Any]:
    """What the code below a heading defines."""
    section = PAGE.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    found: dict[str, Any] = {"re": re, "Random": Random, "replace": replace}
    for module in MODULES:
        found |= {name: value for name, value in vars(module).items() if name[0].isupper()}
        found |= {
            name: value
            for name, value in vars(module).items()
            if callable(value) and not name.startswith("_")
        }
    blocks = re.findall(r"```python\n(.*?)```", section, re.S)
    assert blocks
    for block in blocks:
        exec("from __future__ import annotations\n" + block, found)
    return found


def test_the_story_language_is_read() -> None:
    code = code_of("A story language")
    toy = code["TOY"]
    told = (
        "Ann comes into the hall. Bob comes into the hall. Ann puts the hat into the box. "
        "Bob goes out of the hall. Ann puts the hat into the jar."
    )
    known = beliefs(toy.story(told).events, toy.rules_named("plain"))
    assert toy.question("Where does Bob look for the hat?").answer(known) == "box"
    assert toy.question("Where does Ann look for the hat?").answer(known) == "jar"
    drawn = code["generate"](Random(0))
    assert drawn.questions[0].answer in drawn.story


def test_the_rule_answers() -> None:
    rule = code_of("A rule")["second_move"]
    told = language.HI_TOM.story(
        "Ann entered the hall. The hat is in the red_box. Ann moved the hat to the blue_jar. "
        "Ann moved the hat to the green_case. Ann moved the hat to the white_bag."
    )
    for upto, answer in ((2, "red_box"), (3, "blue_jar"), (4, "green_case"), (5, "green_case")):
        events = text.ParsedStory(told.events[:upto], told.sentences[:upto])
        surface = Surface("", events, WhereQuestion("hat"), (), beliefs(events.events))
        assert rule(surface) == answer


def test_the_mind_does_not_notice_the_last_move() -> None:
    mind = code_of("A mind")["MIND"]
    told = language.HI_TOM.story(
        "Ann and Bob entered the hall.\nThe hat is in the box.\nAnn moved the hat to the tin.\n"
        "Bob moved the hat to the jar."
    ).events
    known = belief.beliefs(told)
    lesser = belief.Beliefs(mind.noticed(told, known.observations))
    assert [each.of(("Ann",), "hat") for each in (known, lesser)] == ["jar", "tin"]
