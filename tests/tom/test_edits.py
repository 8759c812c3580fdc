"""Edits of recounts: each implies another belief, and is what its kind says."""

from __future__ import annotations

from random import Random

from pipeline.tom.edits import CORRECTED, DROPPED, EXCHANGED, FALSIFIED, Told, edits
from pipeline.tom.recount import Heard, Seen, implied, truth
from pipeline.tom.retelling import Retold
from tests.judge.made_recounts import recounted_questions
from tests.tom.retold import retold_of

TRUE = (
    Seen("jar", ("Ann", "Ben")),
    Seen("box", ("Ben",)),
    Heard("bag", "Cara", (("Ben", True), ("Ann", False), ("Dan", False))),
)
STORY = Retold(TRUE, ("Ann",), ("Ann", "Ben", "Cara", "Dan"), ("jar", "box", "bag"))


def test_each_kind_is_what_it_says() -> None:
    """Over all edits that are drawn of recounts that are partly wrong."""
    kinds = dict.fromkeys((FALSIFIED, CORRECTED, DROPPED, EXCHANGED), 0)
    others: list[Told] = []
    for place, (example, *_) in enumerate(recounted_questions()):
        random, story = Random(place), retold_of(example)
        lines = tuple(
            Seen(line.place, story.people[:2]) if random.random() < 0.2 else line
            for line in story.lines
        )
        told = Told(lines, story)
        for each in edits(told, others[-5:], {"bag"}, random):
            kinds[each.kind] += 1
            before, after = sum(truth(lines, story.lines)), sum(truth(each.lines, story.lines))
            assert implied(each.lines, story.chain) == each.implied
            assert each.implied not in (implied(lines, story.chain), "bag", each.lines[-1].place)
            match each.kind:
                case "falsified":
                    assert after < before and len(each.lines) == len(lines)
                case "corrected":
                    assert after > before and set(each.lines) - set(lines) <= set(story.lines)
                case "dropped":
                    assert len(each.lines) == len(lines) - 1
                case "exchanged":
                    named = {agent for line in each.lines for agent in _agents(line)}
                    assert named <= set(story.people)
        others.append(told)
    assert min(kinds.values()) > 20, kinds


def _agents(line: Seen | Heard) -> tuple[str, ...]:
    if isinstance(line, Seen):
        return line.witnesses
    return (line.speaker, *(agent for agent, _ in line.hearers))


def test_places_witnesses_and_trust_are_falsified() -> None:
    whole = (*TRUE, Seen("tin", ("Dan",)))
    story = Retold(whole, STORY.chain, STORY.people, (*STORY.places, "tin"))
    drawn = {
        each.lines
        for seed in range(200)
        for each in edits(Told(whole, story), [], (), Random(seed))
        if each.kind == FALSIFIED
    }
    changed = [[(a, b) for a, b in zip(whole, lines, strict=True) if a != b] for lines in drawn]
    assert all(len(each) == 1 for each in changed)
    assert {(str(before), str(after)) for ((before, after),) in changed} == {
        ("jar: Ann Ben.", "box: Ann Ben."),
        ("jar: Ann Ben.", "bag: Ann Ben."),
        ("box: Ben.", "box: Ann Ben."),
        (str(TRUE[2]), "bag from Cara: Ben trusts. Ann trusts. Dan doubts."),
    }


def test_a_recount_that_implies_nothing_is_not_edited() -> None:
    assert edits(Told((Seen("jar", ("Ben",)),), STORY), [], (), Random(0)) == []
