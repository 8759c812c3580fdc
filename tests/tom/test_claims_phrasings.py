"""Phrasings of belief claims: what denies, supposes, asks or reports one; whose it is; where."""

from __future__ import annotations

import pytest

from pipeline.tom.claims.reader import read_claims
from pipeline.tom.claims.story import ReadStory, read_story
from pipeline.tom.claims.vocabulary import Vocabulary
from pipeline.tom.language import HI_TOM
from pipeline.tom.rules import HI_TOM as RULES

NAMES = Vocabulary(
    people=frozenset({"Mia", "Leo", "Zoe"}),
    objects=frozenset({"fig", "pen"}),
    containers=frozenset({"red_crate", "blue_vase", "green_vase", "red_pan"}),
    rooms=frozenset({"attic"}),
)
STORY = (
    "Mia, Leo and Zoe entered the attic.\nThe fig is in the red_crate.\nLeo exited the attic.\n"
    "Mia moved the fig to the blue_vase.\nMia exited the attic.\nZoe exited the attic."
)
TRUE, BELIEVED = "Leo thinks the fig is in the red_crate", "the fig is in the blue_vase"


def read(text: str, names: Vocabulary = NAMES) -> list[str]:
    """Claims about the end as ``Mia Leo: red_crate``, with "not" where negated."""
    return [
        f"{' '.join(claim.holders)}: {'not ' * claim.negated}{claim.place}"
        for claim in read_claims(text, names, "fig")
        if claim.when == "end"
    ]


def told() -> ReadStory:
    return read_story(HI_TOM, STORY, RULES)


@pytest.mark.parametrize(
    "text",
    [
        f"Does Leo think {BELIEVED}?",
        f"So would Leo believe that {BELIEVED}?",
        f"Leo thinks {BELIEVED}?",
        f"Is it so that {BELIEVED}?",
        f"Wait, does Mia know that Zoe thinks {BELIEVED}?",
        f"We need to decide whether Leo thinks {BELIEVED}.",
        f"Mia asks whether {BELIEVED}.",
        f"It is unclear whether {BELIEVED}.",
        f"I wonder if Leo thinks {BELIEVED}.",
        f"Leo does not know if Mia thinks {BELIEVED}.",
    ],
)
def test_a_question_claims_nothing(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"What does Leo think? {TRUE}.",
        f"So far, {TRUE}.",
        f"{TRUE} (is that so?).",
        f"Whether or not he was told, {TRUE}.",
        f"Who was there matters. {TRUE}!",
    ],
)
def test_what_stands_beside_a_question_is_claimed(text: str) -> None:
    assert read(text) == ["Leo: red_crate"]


@pytest.mark.parametrize(
    "text",
    [
        f"If Leo had stayed, he would think {BELIEVED}.",
        f"If only Leo had stayed, he would think {BELIEVED}.",
        f"If Leo had not left, then he would know that {BELIEVED}.",
        f"If Mia, Zoe and Leo had left, Leo would think {BELIEVED}.",
        f"If Leo were still in the attic, he would know that {BELIEVED}.",
        f"If Leo saw the move, he would think {BELIEVED}.",
        f"If Leo knew of the move, he would think {BELIEVED}.",
        f"If Mia told Leo, he would think {BELIEVED}.",
        f"Had Leo stayed, he would think {BELIEVED}.",
        f"Leo would think {BELIEVED} if he had stayed.",
        f"Leo would think {BELIEVED}, if he had stayed.",
        f"Leo would think {BELIEVED}, had he stayed.",
        f"Leo would only know that {BELIEVED} had he stayed.",
        f"Mia and Leo would think {BELIEVED} if they had stayed.",
        f"If we assume that Leo stayed, he thinks {BELIEVED}.",
        f"If Zoe thinks {BELIEVED}, then Leo would think it is in the red_pan.",
        f"If Zoe thinks {BELIEVED} and Leo thinks it is in the red_pan, they differ.",
        f"Suppose Leo thinks {BELIEVED}.",
        f"Imagine {BELIEVED}.",
        f"Assuming Leo had stayed, he would think {BELIEVED}.",
        f"Assuming that Leo thinks {BELIEVED}, Mia moves it.",
    ],
)
def test_what_is_supposed_is_no_claim(text: str) -> None:
    assert read(f"Zoe left. {text}") == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"Because Leo left, he thinks {BELIEVED}.", ["Leo: blue_vase"]),
        (f"If Leo left before, he would think {BELIEVED}.", ["Leo: blue_vase"]),
        (f"If Leo last saw it there, he would think {BELIEVED}.", ["Leo: blue_vase"]),
        (f"If Leo did not see it, he would think {BELIEVED}.", ["Leo: blue_vase"]),
        (f"If Leo were to guess, he would think {BELIEVED}.", ["Leo: blue_vase"]),
        (f"If Mia and Zoe were there, Leo thinks {BELIEVED}.", ["Leo: blue_vase"]),
        (f"Even if Mia had stayed, Leo would think {BELIEVED}.", ["Leo: blue_vase"]),
        (f"Unless Mia had told him, Leo would think {BELIEVED}.", ["Leo: blue_vase"]),
        (f"Leo thinks {BELIEVED} unless Mia had told him.", ["Leo: blue_vase"]),
        (f"Assuming that nothing changed, Leo thinks {BELIEVED}.", ["Leo: blue_vase"]),
        (f"Leo had left, so he thinks {BELIEVED}.", ["Leo: blue_vase"]),
        (
            f"If Leo had stayed, he would know {BELIEVED}, but he left, so {TRUE}.",
            ["Leo: red_crate"],
        ),
        (f"{TRUE}, but if he had stayed, he would think {BELIEVED}.", ["Leo: red_crate"]),
        (f"If Leo had stayed he would think {BELIEVED}. {TRUE}.", ["Leo: red_crate"]),
        (f"If he left then {TRUE}.", ["Leo: red_crate"]),
    ],
)
def test_a_condition_that_may_hold_or_is_over(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    "text",
    [
        f"It is not true that Leo thinks {BELIEVED}.",
        f"It isn't true that Leo thinks {BELIEVED}.",
        f"It's simply not the case that Leo thinks {BELIEVED}.",
        f"It cannot be right that Leo thinks {BELIEVED}.",
        f"It is false that Leo thinks {BELIEVED}.",
        f"It would be wrong to say that Leo thinks {BELIEVED}.",
        f"It's incorrect to conclude Leo thinks {BELIEVED}.",
        f"It would be a mistake to assume that Leo thinks {BELIEVED}.",
        f"It is unlikely that Leo thinks {BELIEVED}.",
        f"That Leo thinks {BELIEVED} is false.",
        f"The idea that Leo thinks {BELIEVED} is wrong.",
        f"Leo fails to believe that {BELIEVED}.",
        f"Leo failed to realize that {BELIEVED}.",
        f"Leo refuses to believe that {BELIEVED}.",
        f"Leo is unable to know that {BELIEVED}.",
        f"Leo stopped believing that {BELIEVED}.",
        f"Leo has ceased to think that {BELIEVED}.",
        f"Leo no longer thinks {BELIEVED}.",
        f"Leo doubts that {BELIEVED}.",
        f"Leo has forgotten that {BELIEVED}.",
        f"Leo lacks the knowledge that {BELIEVED}.",
        f"Leo never learns that {BELIEVED}.",
        f"Leo would not be aware that {BELIEVED}.",
        f"Leo hardly thinks that {BELIEVED}.",
        f"Leo is far from thinking that {BELIEVED}.",
    ],
)
def test_a_denied_belief_is_negated(text: str) -> None:
    assert read(text) == ["Leo: not blue_vase"]


@pytest.mark.parametrize(
    "text",
    [
        f"It is not clear that Leo thinks {BELIEVED}.",
        f"It is not known that {BELIEVED}.",
        f"We cannot conclude that Leo thinks {BELIEVED}.",
        f"We can't say that Leo thinks {BELIEVED}.",
        f"There is no reason to believe that Leo thinks {BELIEVED}.",
        f"There is no sign that Leo thinks {BELIEVED}.",
        f"This does not mean that Leo thinks {BELIEVED}.",
        f"Nothing suggests that Leo thinks {BELIEVED}.",
        f"I doubt that Leo thinks {BELIEVED}.",
        f"I doubt Leo thinks {BELIEVED}.",
        f"Some would say that Leo thinks {BELIEVED}.",
    ],
)
def test_what_is_not_said_to_be_so_is_no_claim(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"It is true that {TRUE}.", ["Leo: red_crate"]),
        (f"It is false that {BELIEVED}.", [": not blue_vase"]),
        (f"It is not wrong that {TRUE}, and Zoe thinks {BELIEVED}.", None),
        (f"{TRUE}, which is wrong.", ["Leo: red_crate"]),
        (f"It is not true that Leo saw it. {TRUE}.", ["Leo: red_crate"]),
        (f"Leo failed to see the move, so {TRUE}.", ["Leo: red_crate"]),
        (f"The move means that {TRUE}.", ["Leo: red_crate"]),
        (f"Mia is right that {TRUE}.", ["Leo: red_crate"]),
        ("Leo's true belief is that it is in the red_crate.", ["Leo: red_crate"]),
        (f"Leo is wrong, but Zoe knows that {BELIEVED}.", ["Zoe: blue_vase"]),
    ],
)
def test_denials_reach_no_further(text: str, claims: list[str] | None) -> None:
    found = read(text)
    assert found == claims if claims is not None else "Zoe: blue_vase" in found


@pytest.mark.parametrize(
    "said",
    [
        "Mia claims that",
        "Mia says",
        "Mia told Zoe that",
        "Mia has told us that",
        "Mia publicly insists that",
        "Mia suggests that",
        "Zoe heard Mia say that",
        "Mia lied, saying that",
        "Mia's claim is known:",
        "Somebody mentioned that",
        "Zoe knows that Mia said that",
    ],
)
def test_what_people_say_is_no_claim(said: str) -> None:
    assert f"{read(f'{said} {TRUE}.')}".count("red_crate") == (said == "Mia's claim is known:")


def test_what_somebody_claims_is_no_claim() -> None:
    assert read(f"Mia's claim that {TRUE} is a lie.") == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            f"Mia told Leo that {BELIEVED}, so Leo thinks it is in the blue_vase.",
            ["Leo: blue_vase"],
        ),
        (f"Mia says {BELIEVED}, but {TRUE}.", ["Leo: red_crate"]),
        (f"We can say that {TRUE}.", ["Leo: red_crate"]),
        (f"I would say {TRUE}.", ["Leo: red_crate"]),
        (f"The story says that {TRUE}.", ["Leo: red_crate"]),
        (f"Mia's claim implies that {TRUE}.", ["Leo: red_crate"]),
        ("Mia's claim about the red_crate made Leo think it is in the red_crate.", None),
    ],
)
def test_what_follows_from_what_people_say(text: str, claims: list[str] | None) -> None:
    assert read(text) == (claims or ["Leo: red_crate"])


MIA_LEO_ZOE = ["Leo: red_pan", "Mia: red_pan", "Zoe: red_pan"]
NOT_ANY = ["Leo: not red_pan", "Mia: not red_pan", "Zoe: not red_pan"]
PAN = "the fig is in the red_pan"


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"Everyone thinks {PAN}.", MIA_LEO_ZOE),
        (f"Everybody would know that {PAN}.", MIA_LEO_ZOE),
        (f"All of them think {PAN}.", MIA_LEO_ZOE),
        (f"They all believe {PAN}.", MIA_LEO_ZOE),
        (f"All three think {PAN}.", MIA_LEO_ZOE),
        (f"All the characters think {PAN}.", MIA_LEO_ZOE),
        (f"Each of them knows that {PAN}.", MIA_LEO_ZOE),
        (f"Every agent believes {PAN}.", MIA_LEO_ZOE),
        (f"Nobody thinks {PAN}.", NOT_ANY),
        (f"No one is aware that {PAN}.", NOT_ANY),
        (f"None of them knows that {PAN}.", NOT_ANY),
        (f"None of the agents believes {PAN}.", NOT_ANY),
        (f"Everyone except Leo thinks {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Everyone, except for Leo, thinks {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Everyone but Leo thinks {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Everybody except Leo and Zoe thinks {PAN}.", ["Mia: red_pan"]),
        (f"Nobody but Leo thinks {PAN}.", ["Mia: not red_pan", "Zoe: not red_pan"]),
        (f"Zoe thinks everyone thinks {PAN}.", ["Zoe Leo: red_pan", "Zoe Mia: red_pan"]),
        (f"Everyone thinks Zoe thinks {PAN}.", ["Leo Zoe: red_pan", "Mia Zoe: red_pan"]),
        (f"Mia and Zoe stayed. All of them think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Mia and Zoe stayed. They all think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
    ],
)
def test_people_without_names(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"Leo left. The others think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Leo left. Everyone else thinks {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Leo left. The other agents think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Leo left. The other two think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Leo left. The rest think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Leo left. No one else thinks {PAN}.", ["Mia: not red_pan", "Zoe: not red_pan"]),
        (f"Leo thinks the others think {PAN}.", ["Leo Mia: red_pan", "Leo Zoe: red_pan"]),
        (f"Leo and the others think {PAN}.", ["Leo: red_pan", "Mia: red_pan", "Zoe: red_pan"]),
        (f"Leo and Mia left, while the other thinks {PAN}.", ["Zoe: red_pan"]),
        (
            f"{TRUE}. Mia thinks {BELIEVED}. The others think {PAN}.",
            ["Leo: red_crate", "Mia: blue_vase", "Zoe: red_pan"],
        ),
        (f"Mia left. Leo left. The others think {PAN}.", ["Mia: red_pan", "Zoe: red_pan"]),
        (f"Mia and Leo left. Zoe left. So the others think {PAN}.", MIA_LEO_ZOE[:2]),
    ],
)
def test_the_others_are_those_not_just_named(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"Neither Mia nor Leo thinks {PAN}.", ["Mia: not red_pan", "Leo: not red_pan"]),
        (f"Neither Mia nor Leo is aware that {PAN}.", ["Mia: not red_pan", "Leo: not red_pan"]),
        (f"Mia and Zoe left. Neither thinks {PAN}.", ["Mia: not red_pan", "Zoe: not red_pan"]),
        (
            f"Mia and Zoe left. Neither of them knows that {PAN}.",
            ["Mia: not red_pan", "Zoe: not red_pan"],
        ),
        (
            f"Zoe thinks neither Mia nor Leo knows that {PAN}.",
            ["Zoe Mia: not red_pan", "Zoe Leo: not red_pan"],
        ),
        (f"Neither Mia nor Leo moved it, so Zoe thinks {PAN}.", ["Zoe: red_pan"]),
    ],
)
def test_neither_one_nor_the_other(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    "text",
    [
        f"Not everyone thinks {PAN}.",
        f"Everyone who stayed thinks {PAN}.",
        f"Everyone in the attic thinks {PAN}.",
        f"Someone thinks {PAN}.",
        f"People think {PAN}.",
        f"The others think {PAN}.",
        f"Everyone else thinks {PAN}.",
        "The location that everyone knows of is the red_pan.",
        "Everyone saw the fig in the red_pan.",
        "No one moved it to the red_pan.",
        "No one moved the fig and thinks it is in the red_pan.",
    ],
)
def test_no_one_in_particular(text: str) -> None:
    assert read(text) == []


def test_no_one_in_particular_is_no_pronoun() -> None:
    assert read(f"Leo left. No one moved it. He thinks {PAN}.") == ["Leo: red_pan"]
    assert read(f"Mia and Leo left. Everyone saw it. They think {PAN}.") == MIA_LEO_ZOE


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Leo will look for the fig in the red_pan.", ["Leo: red_pan"]),
        ("Leo will search for it in the red pan.", ["Leo: red_pan"]),
        ("Leo searches for the fig in the red_pan.", ["Leo: red_pan"]),
        ("Leo looks in the red_pan.", ["Leo: red_pan"]),
        ("Leo would search the red_pan.", ["Leo: red_pan"]),
        ("Leo will first check the red_pan.", ["Leo: red_pan"]),
        ("Mia and Leo will look inside the red_pan.", ["Mia: red_pan", "Leo: red_pan"]),
        ("Leo will not look for it in the red_pan.", ["Leo: not red_pan"]),
        ("Mia thinks that Leo searches for the fig in the red_pan.", ["Mia Leo: red_pan"]),
        ("Mia thinks Zoe thinks Leo will look in the red_pan.", ["Mia Zoe Leo: red_pan"]),
        ("Mia thinks Leo searched for it in the red_pan.", ["Mia Leo: red_pan"]),
        ("Mia expects Leo to look for it in the red_pan.", ["Mia Leo: red_pan"]),
        ("Leo looked in the red_pan.", []),
        ("Leo searched for the fig in the red_pan.", []),
        ("Leo checks the red_pan.", []),
        ("Leo looks at the fig in the red_pan.", []),
        ("Now let's look at Leo in the red_pan.", []),
        ("We look for the fig in the red_pan.", []),
        ("If Leo had stayed, he would look in the red_pan.", []),
        ("Will Leo look in the red_pan?", []),
        ("Leo will look for the fig in the attic.", []),
    ],
)
def test_where_one_looks_is_where_one_thinks_it_is(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Leo thinks the fig is in the crate.", ["Leo: red_crate"]),
        ("Leo thinks it is in the same pan.", ["Leo: red_pan"]),
        ("The fig is in the Crate.", [": red_crate"]),
        ("Leo thinks it is in the vase.", []),  # there are two
        ("Leo thinks it is in crate.", []),
        ("Leo thinks it is in the blue crate.", ["Leo: blue_crate"]),
    ],
)
def test_the_last_word_of_a_name(text: str, claims: list[str]) -> None:
    assert read(text) == claims


def test_a_thing_or_a_word_of_the_reader_is_no_last_word() -> None:
    names = Vocabulary(
        frozenset({"Leo"}), frozenset({"fig", "box"}), frozenset({"red_box", "red_container"})
    )
    assert read("Leo thinks it is in the box. He thinks it is in the container.", names) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Leo: red_crate", ["Leo: red_crate"]),
        ("- **Leo**: the red_crate\n- **Mia**: blue_vase", ["Leo: red_crate", "Mia: blue_vase"]),
        ("Leo: red_crate, Mia: blue_vase", ["Leo: red_crate", "Mia: blue_vase"]),
        ("Mia and Leo: red_pan", ["Mia: red_pan", "Leo: red_pan"]),
        ("Leo: still in the red_crate", ["Leo: red_crate"]),
        ("Leo's belief: red_crate", ["Leo: red_crate"]),
        (
            "**Leo's Thought**: Leo left, so his thought of its location is the red_pan.",
            ["Leo: red_pan"],
        ),
        ("- Initially: red_crate\n- Leo: blue_vase\n- Mia: red_crate", []),
        ("Moves:\nLeo: red_crate", []),
        ("Moves: one.\nNow beliefs.\nLeo: red_crate", ["Leo: red_crate"]),
        ("Leo: attic", []),
        ("Leo: left the red_crate", []),
    ],
)
def test_a_list_of_people_and_places(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Leo saw it in the red_pan. He thinks it is still there.", ["Leo: red_pan"]),
        ("Leo saw it in the red_pan. He thinks it's still in it.", ["Leo: red_pan"]),
        ("Leo saw it in the red_pan. Mia thinks Leo thinks it stays there.", ["Mia Leo: red_pan"]),
        ("Mia put it in the red_pan, and Leo thinks it remains inside it.", ["Leo: red_pan"]),
        ("Leo left the red_pan. It is in it, he said.", [": red_pan"]),
        ("Leo was in it. He saw it in the red_pan.", []),
        ("Leo thinks it is in it.", []),
    ],
)
def test_a_place_meant_by_a_pronoun(text: str, claims: list[str]) -> None:
    assert read(text) == claims


def test_a_copied_sentence_makes_no_claim_but_tells_what_is_meant() -> None:
    copied = "The fig is in the red_crate.\nLeo exited the attic.\n"
    claims = told().claims(f"{copied}Leo thinks it is still there.", "fig")
    assert [(c.holders, c.place) for c in claims] == [(("Leo",), "red_crate")]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "Mia and Leo think it is in the red_pan and the blue_vase, respectively.",
            ["Mia: red_pan", "Leo: blue_vase"],
        ),
        (
            "Leo and Mia respectively believe the fig is in the red_pan and in the blue_vase.",
            ["Leo: red_pan", "Mia: blue_vase"],
        ),
        (
            "All three, Mia, Leo and Zoe, think it is in the red_pan, the blue_vase and the crate "
            "respectively.",
            ["Mia: red_pan", "Leo: blue_vase", "Zoe: red_crate"],
        ),
        (
            "Zoe thinks Mia and Leo think it is in the red_pan and the blue_vase, respectively.",
            ["Zoe Mia: red_pan", "Zoe Leo: blue_vase"],
        ),
        ("Mia and Leo think it is in the red_pan, the blue_vase and the attic, respectively.", []),
        ("Mia and Leo moved it to the red_pan and the blue_vase, respectively.", []),
        (
            "Mia and Leo think it is in the red_pan and the blue_vase.",
            ["Mia: red_pan", "Leo: red_pan"],
        ),
        (
            "It is in the red_pan, and Mia and Leo think it is in the blue_vase and the red_crate "
            "respectively.",
            [": red_pan", "Mia: blue_vase", "Leo: red_crate"],
        ),
        ("The fig is in the red_pan, respectively.", [": red_pan"]),
    ],
)
def test_respectively(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Leo thinks the fig is in the garage.", ["Leo: garage"]),
        ("Leo believes that it is still in the green suitcase.", ["Leo: green_suitcase"]),
        ("Leo thinks it's in an old toy chest, because he left.", ["Leo: old_toy_chest"]),
        ("Mia thinks Leo thinks the fig is in white_drawer.", ["Mia Leo: white_drawer"]),
        ("From Leo's perspective, the fig is in the garage and stays.", ["Leo: garage"]),
        ("Leo thinks it is in the blue crate now.", ["Leo: blue_crate"]),
        ("Leo knows that the fig is not in the garage.", ["Leo: not garage"]),
        ("Does Leo think the fig is in the garage?", []),
        ("The fig is in the garage.", []),
        ("Leo thinks the fig is in danger.", []),
        ("Leo thinks the fig is in safe hands.", []),
        ("Leo thinks the fig is in the room.", []),
        ("Leo thinks the fig is in the right place.", []),
        ("Leo thinks the fig is in the correct original location.", []),
        ("Leo thinks the fig is in the green vase or the garage.", ["Leo: green_vase"]),
        ("Leo thinks the fig is in the possession of Mia.", []),
        ("Leo thinks the fig is in the very big round old barrel.", []),
        ("Leo thinks the fig is in the garage of Mia.", []),
        ("Leo thinks the fig is in the garage that Mia saw.", []),
        ("Leo thinks the pen is in the garage.", []),
        ("Leo thinks he is in the garage.", []),
        ("Leo thinks that Mia is in the garage.", []),
        ("Leo knows that Mia put the fig in the garage.", []),
        ("Leo thinks it is in the red_pan, which is in the garage.", ["Leo: red_pan"]),
        ("Leo thinks the fig is in the", []),
    ],
)
def test_a_place_that_is_made_up(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    "text",
    ["Leo thinks the fig is in the garage.", "Leo thinks that the fig is in the green_pan."],
)
def test_what_is_believed_of_a_place_that_is_not_there_is_false(text: str) -> None:
    (claim,) = told().claims(text, "fig")
    assert not told().holds(claim)


def test_options_are_places_too() -> None:
    """Read wherever a place of the story is; nothing is in them."""
    story = told().with_places(["green_pan", "red_crate", "Leo", "fig", "attic", "no"])
    assert story.vocabulary.options == {"green_pan"}
    claims = story.claims("So Leo's last known location of it is the green pan.", "fig")
    assert [(c.holders, c.place, story.holds(c)) for c in claims] == [
        (("Leo",), "green_pan", False)
    ]
    assert told().claims("So Leo's last known location of it is the green pan.", "fig") == []
    (crate,) = story.claims("Leo thinks it is in the crate.", "fig")
    assert story.holds(crate)
    assert told().with_places(["red_crate"]) == told()


def test_what_was_seen_then_is_no_belief() -> None:
    assert read("Leo thinks the fig was in the red_pan when he saw it.") == []
    assert read("Leo thinks the fig was in the red_pan when he left.") == ["Leo: red_pan"]
    assert read("Leo thinks the fig is in the red_pan when he sees it.") == ["Leo: red_pan"]


def test_who_is_meant() -> None:
    assert read("From Mia's perspective, Leo thinks it is in the red_pan.") == ["Mia Leo: red_pan"]
    assert read("Leo moved it, so it thinks the fig is in the red_pan.") == ["Leo: red_pan"]
    last = "Mia thinks Leo thinks it is in the last place she knew of, which is the red_pan."
    assert read(last) == ["Mia Leo: red_pan"]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"Mia, upon hearing Leo's claim, would believe that {PAN}.", ["Mia: red_pan"]),
        (
            f"Leo, being aware of the fig's new location, thinks Mia thinks {PAN}.",
            ["Leo Mia: red_pan"],
        ),
        ("The last known location of the fig for Leo is the red_pan.", ["Leo: red_pan"]),
        ("It would be thought of as being in the red_pan by Mia.", []),
        ("The fig is found in the red_pan.", [": red_pan"]),
        ("Leo found the fig in the red_pan.", []),
        (f"Leo ((who left) before Mia) thinks {PAN}.", ["Leo: red_pan"]),
        (f"Leo (he left) thinks {PAN}.", ["Leo: red_pan"]),
        (f"1. {TRUE}.", ["Leo: red_crate"]),
        (
            f"Since Mia left its location, and Zoe knows where it is, Leo thinks Mia thinks {PAN}.",
            ["Leo Mia: red_pan"],
        ),
    ],
)
def test_long_sentences(text: str, claims: list[str]) -> None:
    assert read(text) == claims


@pytest.mark.parametrize(
    "text",
    [
        "Mia's last position: Mia was in the red_pan.",
        "Mia is in the red_pan.",
        "It would be thought of as being in the red_pan by Mia.",
        "The last place that Mia saw it in was the red_pan.",
    ],
)
def test_where_people_are_or_saw_it_is_no_claim_of_any_moment(text: str) -> None:
    assert read_claims(text, NAMES, "fig") == []
