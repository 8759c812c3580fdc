"""The rules that learn nothing: as told in words, and where a topic or a room is asked for."""

from __future__ import annotations

import re
from random import Random

from pipeline.rules.words import RULE_WORDS
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.hi_tom_items import generate_item
from tests.tom.guessing import guess


def place_at_first_exit(story: str, asked: list[str], for_good: bool) -> str:
    """Where the object was when the first of those asked about left: for good, or at all."""
    places, exits = [""], dict[str, str]()
    for line in story.splitlines():
        if found := re.fullmatch(r"(?:The \w+ is in|\w+ moved .+ to) the (\w+)\.", line):
            places.append(found[1])
        elif (found := re.fullmatch(r"(\w+) exited .+", line)) and found[1] in asked:
            exits.setdefault(found[1], places[-1])
        elif for_good and " entered the " in line:
            exits = {who: place for who, place in exits.items() if who not in line.split()}
    return next(iter(exits.values()), places[-1])


def test_the_earliest_exit_is_the_first_for_good() -> None:
    assert RULE_WORDS["earliest exit"].endswith("the first of those asked about left for good")
    another = 0
    for seed in range(300):
        settings = HiTomSettings(agents=3, tell=True, noise=0, structure="free")
        item = generate_item(settings, Random(f"exit:{seed}"))
        for question in item.questions[1:]:
            asked = re.findall(r"[A-Z]\w+", question.text.removeprefix("Where"))
            said = guess("earliest_exit", "hi_tom", item.story, question.text, question.choices)
            assert said == place_at_first_exit(item.story, asked, for_good=True), item.story
            another += said != place_at_first_exit(item.story, asked, for_good=False)
    assert another > 30


def test_no_rule_of_places_answers_who_knows() -> None:
    story = "Ann entered the hall. Bob entered the hall. Ann told out loud about the rent."
    first = "Does Bob know about rent? Answer yes or no."
    assert guess("initial", "explore_tom", story, first) is None
    assert guess("earliest_exit", "explore_tom", story, first) is None


def test_rooms_are_candidates_where_a_room_is_asked_for() -> None:
    story = (
        "Ann entered the hall. Bob entered the attic. Bob left the attic. "
        "Ann moved the hat to the box, which is also located in the hall."
    )
    question = "In which room does Bob think that Ann will search for the hat?"
    assert guess("most_frequent", "explore_tom", story, question) == "hall"
    assert guess("last", "explore_tom", story, question) == "hall"
