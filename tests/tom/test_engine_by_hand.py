"""One story with every kind of event: what it means, how it is told, solved and compared."""

from __future__ import annotations

import pytest

from pipeline.tom.belief import Beliefs
from pipeline.tom.check import Agreement, check
from pipeline.tom.conversation import speakers, speaks_least, suspect_answer
from pipeline.tom.explain import explain
from pipeline.tom.language import EXPLORE_TOM, HI_TOM, language_of
from pipeline.tom.observation import ROOM, Observation
from pipeline.tom.parse import hi_tom, tomi
from pipeline.tom.parse.text import LONGEST_QUESTION, LONGEST_STORY, ParseError, listed, names_in
from pipeline.tom.question import BEFORE, BEGINNING, WhereQuestion
from pipeline.tom.shortcut import pick_unaware
from pipeline.tom.solve import solve, split_choices
from pipeline.tom.state import best_change, object_of
from pipeline.tom.story import Aside, Change, Claim, Enter, Move, Place, Present, Report, Stay
from pipeline.tom.structure import structure, structure_id
from tests.tom.guessing import guess

ALSO = "While this action was happening,"
SENTENCES = (
    "Ann entered the hall.",
    "Bob entered the hall.",
    "Cleo entered the den.",
    "Ann moved the hat to the box, which is also located in the hall."
    f" {ALSO} Cleo witnessed this action in secret (and only this action).",
    "Ann dyed the hat a bright red."
    f" {ALSO} Bob got distracted and did not realize what happened, without anyone noticing.",
    "Bob told out loud about the rent.",
    "Ann told privately to Cleo about the rent.",
    "Ann moved the hat to the attic, leaving the box in its original location.",
    "Bob told privately to Ann that the hat is in the box.",
    "Bob left the hall.",
)
STORY = " ".join(SENTENCES)


def test_its_structure() -> None:
    events = EXPLORE_TOM.story(STORY, "hat").events
    steps = (
        ("Enter", ("agent 1",), "place 1"),
        ("Enter", ("agent 2",), "place 1"),
        ("Enter", ("agent 3",), "place 2"),
        ("Aside", "Move", "agent 1", "object 1", "place 3", ("agent 3",), ()),
        ("Aside", "Change", "agent 1", "object 1", "state 1", True, (), ("agent 2",)),
        ("Discuss", "agent 2", None, "topic 1"),
        ("Discuss", "agent 1", "agent 3", "topic 1"),
        ("Carry", "agent 1", "object 1", "place 4", "place 3"),
        ("Report", "agent 2", "agent 1", "object 1", "container", "place 3"),
        ("Exit", "agent 2", "place 1"),
    )
    assert structure(events) == steps
    assert structure_id(events) == "09a5feeb514efd0a"  # as in the data that studies have made


def test_those_who_come_together_are_numbered_by_what_they_do_next() -> None:
    told = (
        Enter(("Ann", "Bob", "Cleo", "Dan"), "hall"),
        Place("hat", "box", "hall"),
        Aside(Move("Dan", "hat", "jar"), (), ("Bob",)),
        Claim("Cleo", "Ann", "hat", "box"),
        Stay("Ann", "hall"),
        Enter(("Ann", "Eve", "Dan"), "den"),
        Enter(("Ann",), "waiting_room"),
        Present("Ann", "hall"),
    )
    assert structure(told) == (
        ("Enter", ("agent 1", "agent 2", "agent 3", "agent 4"), "place 1"),
        ("Place", "object 1", "place 2", "place 1"),
        ("Aside", "Move", "agent 1", "object 1", "place 3", (), ("agent 2",)),
        ("Claim", "agent 4", "agent 3", "object 1", "place 2"),
        ("Enter", ("agent 1", "agent 3", "agent 5"), "place 4"),
        ("Present", "agent 3", "place 1"),
    )
    many = tuple("ABCDEFGHIJKL")
    assert structure((Enter(many, "hall"),))[0][1] == tuple(f"agent {n}" for n in range(1, 13))


def test_who_believes_what_after_each_sentence() -> None:
    lines = {
        4: """\
       hat (container) | really box; Ann, Bob and Cleo: box
       hat (room) | really hall; Ann, Bob and Cleo: hall
       box (room) | really hall""",
        5: """\
       hat (dyed the hat a bright red) | really known; Ann: known
         Ann has a wrong idea of Bob: known""",
        6: "       topic 'rent' | Ann and Bob: known",
        7: "       topic 'rent' | Ann, Bob and Cleo: known",
        8: """\
       hat (container) | really no longer where it was; Ann and Bob: no longer where it was; \
Cleo: box
         Cleo has a wrong idea of Ann and Bob: box
       hat (room) | really attic; Ann: attic; Bob: no longer where it was; Cleo: hall
         Bob has a wrong idea of Ann: no longer where it was
         Cleo has a wrong idea of Ann and Bob: hall""",
        9: "       hat (container) | really no longer where it was; Ann, Bob and Cleo: box",
    }
    told = []
    for number, sentence in enumerate(SENTENCES, 1):
        told += [f"{number:>3}  {sentence}", *([lines[number]] if number in lines else [])]
    assert explain("explore_tom", STORY) == "\n".join(told)


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        (
            "In which container will Bob search for the hat?",
            "box",
            f"the container of the hat for Bob: decided by sentence 9: {SENTENCES[8]}",
        ),
        (
            "In which container is the hat now?",
            None,
            f"for the world the container of the hat is unknown since sentence 8: {SENTENCES[7]}",
        ),
        (
            "In which room does Cleo think that Bob will search for the hat?",
            "hall",
            f"the room of the hat for Cleo thinking of Bob: decided by sentence 4: {SENTENCES[3]}",
        ),
        (
            "In which room was the hat before Ann moved the hat to the attic?",
            "hall",
            f"the room of the hat for the world: decided by sentence 5: {SENTENCES[4]}",
        ),
        (
            "In which room was the hat before Ann moved the hat to the?",
            "hall",
            f"the room of the hat for the world: decided by sentence 5: {SENTENCES[4]}",
        ),
        (
            "In which room was the hat before Ann entered the hall?",
            None,
            "no sentence tells the world the room of the hat",
        ),
        (
            "In which room was the hat before Ann sang?",
            None,
            "no sentence of the story says 'Ann sang'",
        ),
        ("Does Cleo know about rent?", "yes", f"decided by sentence 7: {SENTENCES[6]}"),
        ("Does Cleo know about cake?", "no", "no talk about 'cake' reaches Cleo"),
        (
            "Does Bob believe that the hat is bright red?",
            "no",
            f"sentence 5: {SENTENCES[4]} is not seen by Bob",
        ),
        (
            "Does Ann think that Bob believes that the hat is bright red?",
            "yes",
            f"decided by sentence 5: {SENTENCES[4]}",
        ),
        (
            "Does Ann believe that the pen is bright red?",
            None,
            "no sentence of the story changes what 'pen is bright red' is about",
        ),
    ],
)
def test_answers_and_reasons(question: str, answer: str | None, reason: str) -> None:
    found = solve("explore_tom", STORY, question)
    assert (found.answer, found.reason) == (answer, reason)


def test_choices_are_read_in_every_form() -> None:
    assert split_choices("A. a b, B. c") == split_choices(["A. a b", " c "]) == ("a b", "c")
    assert split_choices(["a. b", "A.b", "AB. c"]) == ("a. b", "A.b", "AB. c")
    assert split_choices(None) == split_choices("") == ()
    question = "In which room is the hat now?"
    assert solve("explore_tom", STORY, question, "hall, attic").answer == "attic"
    refused = solve("explore_tom", STORY, question, "hall, den")
    assert refused.answer is None and refused.reason.startswith("the story implies 'attic', which")


def seen(moment: int, value: str | None, *group: str, real: bool = True) -> Observation:
    return Observation(moment, "hat", value, frozenset(group), real=real)


def test_memory_questions_pass_over_what_is_gone() -> None:
    known = Beliefs((seen(0, None), seen(1, "box", "Ann"), seen(3, "jar", "Ann"), seen(5, None)))
    assert WhereQuestion("hat", when=BEGINNING).answer(known) == "box"
    before = WhereQuestion("hat", ("Ann",), when=BEFORE, event="x")
    found = [before.answer(known, moment) for moment in (1, 2, 3, 4)]
    assert found == [None, "box", "box", "jar"] and before.answer(known) is None
    assert WhereQuestion("hat").answer(known) is None
    assert known.of(("Ann",), "hat") == "jar" and known.of(("Ann",), "hat", ROOM) is None
    assert [o.moment for o in known.until(3).observations] == [0, 1, 3]
    assert [o.moment for o in known.history(("Ann",), "hat")] == [1, 3]


def test_which_chains_an_observation_reaches() -> None:
    told = Observation(0, "hat", "box", frozenset("AB"), frozenset({("C", "A")}), real=False)
    chains = ("", "A", "AB", "ABA", "C", "CA", "AC")
    assert [told.reaches(tuple(chain)) for chain in chains] == [0, 1, 1, 1, 0, 1, 0]
    secret = Observation(0, "hat", "box", frozenset("AB"), aware=frozenset("AC"))
    assert [secret.reaches(tuple(chain)) for chain in chains] == [1, 1, 1, 1, 1, 1, 0]
    assert not secret.reaches(("B",)) and not secret.reaches(("B", "A"))


def test_a_change_is_the_one_that_shares_most_words() -> None:
    story = tuple(
        Change("Ann", thing, state)
        for thing, state in (
            ("hat", "painted the hat with stripes"),
            ("hat", "painted the hat with dots"),
            ("pen", "made the pen and the hat striped red"),
            (None, "striped the hat red"),
            ("cap", "washed the cap"),
            ("cap", "was painting the cap"),
        )
    )
    assert best_change("hat has many dots", story) == (1, "hat", "painted the hat with dots")
    assert best_change("hat is striped and red", (Aside(story[0]), *story[1:]))[0] == 0  # type: ignore[index]
    assert best_change("hat", story)[0] == 0 and best_change("tie is red", story) is None  # type: ignore[index]
    assert best_change("cap is painted", story)[0] == 5  # type: ignore[index]
    told = "Ann took the red hat box."
    assert object_of("red hat box is open", told) == ("red hat box",)
    assert object_of("red hat is open", told) == ("red hat",) and object_of("box", told) == ()


def test_labels_are_compared_by_order_and_type() -> None:
    labelled: list[tuple[str, str, dict[str, object]]] = [
        ("Does Bob know about rent?", " YES", {}),
        ("Does Bob know about rent?", "no", {}),
        ("In which room is the hat now?", "attic", {"order": 0}),
        ("In which room was the hat at the beginning?", "attic", {}),
        ("Well?", "x", {}),
        ("Well?", "x", {"order": 2, "question_type": "t"}),
        ("Does Ann believe that the hat is red?", "yes", {"order": -1, "story": "So."}),
    ]
    rows = [{"story": STORY, "question": q, "answer": a, **more} for q, a, more in labelled]
    report = check("explore_tom", rows)
    orders = {"-1": (0, 1), "0": (1, 2), "1": (1, 2), "2": (0, 1), "?": (0, 1)}
    assert list(report.by_order.items()) == list(orders.items())
    kinds = {"knows": (1, 2), "room, beginning": (0, 1), "room, now": (1, 1), "state": (0, 1)}
    assert report.by_type == {**kinds, "t": (0, 1), "unreadable": (0, 1)}
    assert list(report.by_type) == sorted(report.by_type)
    assert [d.row for d in report.disagreements] == [rows[1], *rows[3:]]
    assert (report.total, report.agreed, report.share) == (7, 2, 2 / 7)
    assert Agreement().share == 1


def test_what_cannot_be_read_is_shown_up_to_120_characters() -> None:
    for length, shown in ((120, "x" * 120), (121, "x" * 117 + "...")):
        assert f"sentence 3 ('{shown}'): it has none of the forms" in str(
            ParseError("b", 3, "x" * length)
        )
    HI_TOM.story("Ann likes the box. " + " " * (LONGEST_STORY - 19))
    with pytest.raises(ParseError, match=r"it has 20,001 characters; allowed: 20,000"):
        HI_TOM.story("Ann likes the box. " + " " * (LONGEST_STORY - 18))
    asked = "Where is the hat really?"
    assert hi_tom.parse_question(asked + " " * (LONGEST_QUESTION - len(asked))).object == "hat"
    with pytest.raises(ParseError, match=r"it has 2,001 characters; allowed: 2,000"):
        tomi.parse_question(asked + " " * (LONGEST_QUESTION - len(asked) + 1))
    for text, place in (("Bob told out loud about the rent.", 1), (f"{SENTENCES[0]} {ALSO} x.", 2)):
        with pytest.raises(ParseError) as caught:
            EXPLORE_TOM.story(text)
        assert caught.value.number == place


def test_an_object_is_placed_where_its_mover_stands() -> None:
    told = "Ann entered the den.\nBob is in the hall.\n{}The hat is in the box.\nAnn likes the hat."
    moved = "\nBob moved the hat to the jar."
    for before, after, room in (
        ("", moved, "hall"),
        ("", "", "den"),
        ("Ann exited the den.\n", "", "hall"),
    ):
        events = tomi.parse_story(told.format(before) + after).events
        assert next(e.room for e in events if isinstance(e, Place)) == room


def test_reports_tell_of_rooms_and_containers() -> None:
    said = "Ann told out loud that"
    text = f"{STORY} {said} the hat is in the den. {said} Bob is in the hall."
    reports = [e for e in EXPLORE_TOM.story(text).events if isinstance(e, Report)]
    assert [(r.object, r.aspect) for r in reports] == [
        ("hat", "container"),
        ("hat", "room"),
        ("Bob", "room"),
    ]


def test_what_states_have_in_common_is_their_object() -> None:
    def objects(*states: str) -> list[str | None]:
        text = " ".join(["Ann entered the hall.", *(f"Ann {state}." for state in states)])
        return [e.object for e in EXPLORE_TOM.story(text).events if isinstance(e, Change)]

    assert objects("washed the old chair", "painted the old chair") == ["old chair"] * 2
    assert objects("washed the old chair", "hung the coat up") == [None, None]
    assert objects("washed the chair") == [None]
    long = "very old and red and worn and wooden chair"  # nine words
    assert objects(f"washed the {long}", f"painted the {long}") == [long.removesuffix(" chair")] * 2


def test_what_is_only_said_is_not_really_so() -> None:
    told = "Ann entered the hall. Ann told out loud that the hat is in the box."
    assert explain("explore_tom", told).split("\n")[2:] == ["       hat (container) | Ann: box"]


@pytest.mark.parametrize(("room", "place"), [("hall", "jar"), ("den", "box")])
def test_a_third_agent_may_be_there_already(room: str, place: str) -> None:
    told = (
        *("Ann entered the hall.", "Bob entered the hall.", "The hat is in the box."),
        *(f"Cleo is in the {room}.", "Bob exited the hall.", "Ann moved the hat to the jar."),
    )
    asked = "Where does Ann think that Bob searches for the hat?"
    assert solve("tomi", "\n".join(told), asked).answer == place


def test_names_and_languages() -> None:
    assert names_in("Ann, Bob, and Cleo") == names_in("Ann, Bob and Cleo") == ("Ann", "Bob", "Cleo")
    assert [listed(names) for names in (["A"], ["A", "B"], ["A", "B", "C"])] == [
        "A",
        "A and B",
        "A, B and C",
    ]
    assert language_of("hi_tom_style") is language_of("hi_tom") and language_of("tom") is None


def test_suspects_of_a_conversation() -> None:
    talk = "Ann: Hello.\nBob: Hello.\nAnn: Rain.\nCleo: So?"
    options = ("(a) it rains", "(b) Bob is unaware of it")
    assert speakers("Ann: Hello.\nAnn: Rain.") == () and speaks_least(talk) is None
    for who, answer in (("Ann", options[1]), ("Bob", options[0])):
        question = f"What does {who} believe?"
        assert suspect_answer(lambda _: "Ann", talk, question, options) == answer
    assert (
        suspect_answer(lambda _: "Ann", talk, "What does Bob know?", (*options, "(c) x"))
        == options[1]
    )
    assert suspect_answer(lambda _: "Ann", talk, "What does Bob know?", options[:1]) is None
    assert pick_unaware(("it CANNOT be known", "so")) == "it CANNOT be known"


@pytest.mark.parametrize(
    ("rule", "answer"),
    [("initial", "box"), ("last", "box"), ("first_move", "box"), ("scene_start", "box"),
     ("earliest_exit", "box"), ("most_frequent", "box")],
)  # fmt: skip
def test_rules_where_nothing_is_moved_twice(rule: str, answer: str | None) -> None:
    question = "In which container does Bob think that Ann will search for the hat?"
    assert guess(rule, "explore_tom", STORY, question) == answer
