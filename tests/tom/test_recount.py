"""Recounts: who learned of each place, and beliefs that can be read off; written and read back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from random import Random

import pytest

from pipeline.tom.belief import beliefs
from pipeline.tom.claims.reader import read_claims
from pipeline.tom.claims.words import Vocabulary
from pipeline.tom.generate.hi_tom import HiTomSettings
from pipeline.tom.generate.hi_tom_items import generate_item
from pipeline.tom.generate.item import GeneratedItem
from pipeline.tom.parse.hi_tom import parse_question
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import (
    UNKNOWN,
    Heard,
    Line,
    Seen,
    aligned,
    believed_along,
    heeds_claim,
    implied,
    number,
    omitted,
    read_lines,
    recount,
    truth,
)
from pipeline.tom.story import Claim, Enter, Exit, Move, Place, agents_of
from pipeline.tom.trace import write_recount, write_track

NUMBERS = [number(count) for count in range(1, 80)]

EVENTS = (
    Enter(("Ann", "Ben", "Cara"), "hall"),
    Place("fig", "jar", "hall"),
    Exit("Ann", "hall"),
    Move("Ben", "fig", "box"),
    Exit("Ben", "hall"),
    Exit("Cara", "hall"),
    Claim("Cara", "Ben", "fig", "bag"),
    Claim("Ann", None, "fig", "tin"),
)


def test_it_says_who_saw_and_who_trusts_what_was_said() -> None:
    told = write_recount(WhereQuestion("fig", ("Ann", "Ben")), EVENTS, beliefs(EVENTS))
    assert told == (
        "jar: Ann Ben Cara. box: Ben Cara. bag from Cara: Ben trusts. "
        "tin from Ann: Ben doubts. Cara doubts. Ann thinks Ben thinks the fig is in the tin."
    )
    world = write_recount(WhereQuestion("fig", ()), EVENTS, beliefs(EVENTS))
    assert world.endswith("Cara doubts. The fig is really in the box.")


def test_a_walk_says_after_each_line_what_is_believed_by_then() -> None:
    known = beliefs(EVENTS)
    asked = WhereQuestion("fig", ("Ann", "Cara"))
    assert write_recount(asked, EVENTS, known, walk=True) == (
        "jar: Ann Ben Cara. So jar. box: Ben Cara. Still jar. "
        "bag from Cara: Ben trusts. Still jar. tin from Ann: Ben doubts. Cara doubts. So tin. "
        "Ann thinks Cara thinks the fig is in the tin."
    )
    world = write_recount(WhereQuestion("fig", ()), EVENTS, known, walk=True)
    assert "So box. bag from Cara: Ben trusts. Still box. tin from" in world


def test_who_heeds_no_claim_believes_the_same_without_any() -> None:
    heeded, kept = Counter[bool](), 0
    for seed in range(150):
        item = generate_item(HiTomSettings(agents=3, tell=True, structure="free"), Random(seed))
        known = beliefs(item.events)
        silent = beliefs(tuple(e for e in item.events if not isinstance(e, Claim)))
        for question in item.questions:
            asked = parse_question(question.text)
            heeds = heeds_claim(asked, known)
            moved = asked.answer(known) != asked.answer(silent)
            assert heeds or not moved
            heeded[heeds] += 1
            kept += heeds and not moved
    assert min(heeded.values()) > 50 and kept > 5  # a claim may repeat what is believed


def test_a_track_says_of_everybody_whether_they_are_there() -> None:
    back = (*EVENTS[:4], Enter(("Ann",), "hall"), *EVENTS[4:])
    asked = WhereQuestion("fig", ("Cara", "Ben"))
    assert write_track(asked, back, beliefs(back)) == (
        "one jar: Cara in Ben in Ann in. So jar. two Ann two. "
        "three box: Cara in Ben in Ann two. So box. "
        "four Ann in. four box: Cara in Ben in Ann in. So box. five Ben five. six Cara six. "
        "seven bag from Cara six to Ben: Cara six says Ben five trusts Ann in misses. So bag. "
        "eight tin from Ann in to all: Cara six trusts Ben five trusts Ann in says. Still bag. "
        "Cara thinks Ben thinks the fig is in the bag."
    )


def test_a_track_is_read_back_and_written_again_and_tells_whom_to_trust() -> None:
    claims = 0
    for item in items(200):
        known = beliefs(item.events)
        asked = parse_question(item.questions[-1].text)
        text = f" {write_track(asked, item.events, known)}</think><answer> x</answer>"
        found = read_lines(text)
        told = recount(asked, item.events, known)
        assert truth([each.line for each in found], told) == truth(told, told)
        assert len(found) == len(told)
        assert [text[each.start : each.end] for each in found] == [e.told(e.line) for e in found]
        assert f" {' '.join(text[e.start : e.after] for e in found)}" == text[: found[-1].after]
        for each in found:
            if isinstance(each.line, Heard) and each.step is not None:
                since = dict(each.step.since)
                left = {a: NUMBERS.index(since[a]) for a in since if since[a] in NUMBERS}
                for hearer, trusts in each.line.hearers:
                    claims += 1
                    last = left.get(each.line.speaker, len(NUMBERS))
                    assert trusts == (hearer in left and left[hearer] < last)
    assert claims > 300


def test_another_line_of_a_track_says_who_is_not_there() -> None:
    told = "one jar: Ann in Ben in. So jar. two Ann two. three box: Ann two Ben in. Still jar."
    _, box = read_lines(told)
    assert box.told(Seen("tin", ("Ann",))) == "two Ann two. three tin: Ann in Ben three."


def test_its_one_claim_is_the_answer() -> None:
    settings = HiTomSettings(agents=3, tell=True, noise=0.3, structure="free")
    for seed in range(100):
        item = generate_item(settings, Random(seed))
        known = beliefs(item.events)
        for question in item.questions:
            asked = parse_question(question.text)
            names = Vocabulary(
                people=frozenset(agents_of(item.events)),
                objects=frozenset({asked.object}),
                containers=frozenset(o.value for o in known.observations if o.value),
            )
            for told in (
                write_recount(asked, item.events, known),
                write_recount(asked, item.events, known, walk=True),
                write_track(asked, item.events, known),
            ):
                (claim,) = read_claims(told, names, asked.object)
                assert (claim.holders, claim.place) == (asked.chain, question.answer)


def items(count: int) -> Iterator[GeneratedItem]:
    for seed in range(count):
        structure = "free" if seed % 3 else "upstream"
        agents = 3 + seed % 3
        yield generate_item(
            HiTomSettings(agents=agents, tell=True, noise=0.2, structure=structure), Random(seed)
        )


def lines_of(text: str) -> tuple[Line, ...]:
    return tuple(each.line for each in read_lines(text))


def stated(lines: tuple[Line, ...]) -> int:
    return sum(len(line.statements) for line in lines)


def test_what_is_written_is_read_back_and_all_true() -> None:
    for item in items(200):
        known = beliefs(item.events)
        asked = parse_question(item.questions[-1].text)
        told = recount(asked, item.events, known)
        text = f" {write_recount(asked, item.events, known, walk=True)}</think><answer> x</answer>"
        found = read_lines(text)
        assert tuple(each.line for each in found) == told
        assert [text[each.start : each.end] for each in found] == [str(line) for line in told]
        assert sum(truth(told, told)) == stated(told) > 0


def test_every_corrupted_word_makes_a_statement_false_or_unsaid() -> None:
    """Each word of a recount in turn, by each other name of its story, and left out."""
    tried = 0
    for item in items(40):
        known, people = beliefs(item.events), agents_of(item.events)
        told = recount(parse_question(item.questions[-1].text), item.events, known)
        places = sorted({line.place for line in told})
        words = " ".join(map(str, told)).split(" ")
        for spot, word in enumerate(words):
            core = word.strip(":.")
            others = (
                people if core in people else places if core in places else ("trusts", "doubts")
            )
            for other in ("", *(name for name in others if name != core)):
                changed = [*words[:spot], word.replace(core, other), *words[spot + 1 :]]
                found = lines_of(" ".join(each for each in changed if each))
                assert found != told
                true = sum(truth(found, told))
                twice = any(len(set(line.statements)) < len(line.statements) for line in found)
                assert true < stated(told), (told, found)
                assert true < stated(found) or stated(found) < stated(told) or twice
                tried += 1
    assert tried > 2000


def test_a_recount_implies_what_the_engine_computes() -> None:
    """For every chain of up to three agents, and the world, of 500 stories."""
    answered = 0
    for item in items(500):
        known, people = beliefs(item.events), agents_of(item.events)[:4]
        thing = parse_question(item.questions[-1].text).object
        told = recount(WhereQuestion(thing), item.events, known)
        for length in range(4):
            for chain in permutations(people, length):
                believed = known.of(chain, thing)
                assert implied(told, chain) == believed, (told, chain)
                answered += believed is not None
    assert answered > 8_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The hat is in the jar.",
        "Ann: it is, she thinks, in the jar.",
        "Step 1: Ann and Ben, who stayed, see the jar",
        "jar: It is there.",
        "jar : Ann.",
        "The jar: Ann.",
        "jar: Ann; Ben: box",
    ],
)
def test_other_text_is_no_recount(text: str) -> None:
    assert read_lines(text) == ()


TOLD = (
    Seen("jar", ("Ann", "Ben")),
    Seen("box", ("Ben",)),
    Heard("bag", "Cara", (("Ben", True), ("Ann", False))),
)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("jar: Ben Ann. box: Ben. bag from Cara: Ann doubts. Ben trusts.", (1, 1, 2)),
        ("box: Ben. bag from Cara: Ben trusts. Ann trusts.", (1, 1)),
        ("box: Ben. jar: Ann Ben.", (0, 1)),
        ("jar: Ann Ben. jar: Ann Ben. box: Ben.", (1, 0, 1)),
        ("jar: Ann. tin: Ben. bag from Ann: Ben trusts.", (0, 0, 0)),
        ("bag from Cara: ", (0,)),
    ],
)
def test_lines_count_in_their_order_and_once(text: str, true: tuple[int, ...]) -> None:
    assert truth(lines_of(text), TOLD) == true


def test_a_false_line_stands_for_the_true_one_in_its_place() -> None:
    wrong = lines_of("jar: Ann Ben. tin: Ben. bag from Ann: Ben trusts. jar: Cara.")
    assert aligned(wrong, TOLD) == (*TOLD, None)


@pytest.mark.parametrize(
    ("text", "left", "believed"),
    [
        ("jar: Ben Ann. box: Ben. bag from Cara: Ann doubts. Ben trusts.", 0, "jar jar jar"),
        ("box: Ben. bag from Cara: Ben trusts. Ann trusts.", 1, "jar jar"),
        ("jar: Ann Ben. bag from Cara: Ben trusts.", 2, "jar jar"),
        ("tin from Dan: Ann trusts. jar: Ann Ben.", 3, "unknown jar"),
        ("jar: Ann Ben. tin from Dan: Ann trusts. Ben trusts.", 1, "jar jar"),
    ],
)
def test_what_is_left_out_and_what_is_believed_by_then(text: str, left: int, believed: str) -> None:
    lines = lines_of(text)
    assert omitted(lines, TOLD) == left
    assert [str(each or UNKNOWN) for each in believed_along(lines, TOLD, ("Ann",))] == (
        believed.split()
    )


def test_a_long_text_is_read_in_time() -> None:
    units = ("\n", " ", "a", ". ", "a: ", "a: b ", "a: B ", "a from B: C trusts.", "a:.")
    tracks = ("one a: B in. ", "one B two. ", "one a: B two ", "one a from B in to all: B in says ")
    for unit in (*units, *tracks):
        read_lines(unit * (300_000 // len(unit)))
