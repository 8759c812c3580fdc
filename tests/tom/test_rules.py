"""Each rule of the belief engine, learned from one small story."""

from __future__ import annotations

from dataclasses import replace

from pipeline.tom.belief import beliefs
from pipeline.tom.observation import ROOM, TOPIC, Chain
from pipeline.tom.rules import (
    EXPLORE_TOM,
    EXPLORE_TOM_PLAIN,
    HI_TOM,
    TOMI_PLAIN,
    TOMI_RELEASED,
    TOMI_UPSTREAM,
    Rules,
)
from pipeline.tom.story import (
    WAITING_ROOM,
    Aside,
    Carry,
    Change,
    Claim,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Remark,
    Report,
    Stay,
)

TOGETHER: tuple[Event, ...] = (Enter(("Ann", "Bob", "Cleo"), "hall"), Place("hat", "box", "hall"))


def believes(*events: Event, chain: Chain = (), rules: Rules = HI_TOM) -> str | None:
    """Where the chain thinks the hat is."""
    return beliefs(events, rules).of(chain, "hat")


def test_the_empty_chain_is_the_world() -> None:
    assert believes(*TOGETHER, Move("Ann", "hat", "jar")) == "jar"


def test_observation_those_present_see_a_move_and_those_who_left_do_not() -> None:
    story = (*TOGETHER, Exit("Bob", "hall"), Move("Ann", "hat", "jar"))
    assert believes(*story, chain=("Cleo",)) == "jar"
    assert believes(*story, chain=("Bob",)) == "box"


def test_observation_is_common_knowledge_to_any_depth() -> None:
    story = (*TOGETHER, Exit("Bob", "hall"), Move("Ann", "hat", "jar"))
    assert believes(*story, chain=("Ann", "Cleo", "Ann", "Cleo", "Ann")) == "jar"
    assert believes(*story, chain=("Ann", "Cleo", "Bob", "Ann")) == "box"  # Bob breaks it


def test_no_belief_before_the_first_observation() -> None:
    assert believes(*TOGETHER, Enter(("Dan",), "attic"), chain=("Dan",)) is None


def test_staying_and_remarks_change_nothing() -> None:
    story = (*TOGETHER, Stay("Ann", "hall"), Remark("Bob saw a cat."))
    assert beliefs(story).observations == beliefs(TOGETHER).observations


def test_silent_refresh_on_re_entry() -> None:
    story = (*TOGETHER, Exit("Bob", "hall"), Move("Ann", "hat", "jar"), Enter(("Bob",), "hall"))
    assert believes(*story, chain=("Bob",)) == "jar"
    assert believes(*story, chain=("Ann", "Bob")) == "jar"  # Ann sees Bob come in
    assert believes(*story, chain=("Bob",), rules=Rules(refresh_on_entry=False)) == "box"


def test_the_waiting_room_shows_nothing() -> None:
    left = (Exit("Bob", "hall"), Move("Ann", "hat", "jar"), Exit("Ann", "hall"))
    story = (*TOGETHER, *left, Enter(("Ann", "Bob"), WAITING_ROOM))
    assert believes(*story, chain=("Bob",)) == "box"


SCENE = (*TOGETHER, Exit("Ann", "hall"), Move("Bob", "hat", "jar"), Exit("Bob", "hall"))


def test_public_claim_the_speaker_thinks_everybody_believes_it() -> None:
    story = (*SCENE, Claim("Ann", None, "hat", "tin"))
    assert believes(*story, chain=("Ann", "Bob")) == "tin"
    assert believes(*story, chain=("Ann", "Cleo")) == "tin"
    assert believes(*story, chain=("Ann",)) == "box"  # its own belief stays
    assert believes(*story) == "jar"  # and so does the world


def test_private_claim_reaches_its_listener_only() -> None:
    story = (*SCENE, Claim("Bob", "Ann", "hat", "tin"))
    assert believes(*story, chain=("Ann",)) == "tin"
    assert believes(*story, chain=("Ann", "Bob")) == "tin"
    assert believes(*story, chain=("Cleo",)) == "jar"
    assert believes(*story, chain=("Bob", "Cleo")) == "jar"


def test_trust_by_exit_order_who_left_first_believes_who_left_later() -> None:
    later_speaks = (*SCENE, Claim("Bob", "Ann", "hat", "tin"))
    earlier_speaks = (*SCENE, Claim("Ann", "Bob", "hat", "tin"))
    assert believes(*later_speaks, chain=("Ann",)) == "tin"
    assert believes(*earlier_speaks, chain=("Bob",)) == "jar"


def test_trust_outsiders_believe_anyone() -> None:
    story = (Enter(("Dan",), "attic"), Exit("Dan", "attic"), *SCENE)
    assert believes(*story, Claim("Ann", "Dan", "hat", "tin"), chain=("Dan",)) == "tin"


def test_trust_can_be_switched_off() -> None:
    rules = Rules(trust_by_exit_order=False)
    story = (*SCENE, Claim("Bob", "Ann", "hat", "tin"))
    assert believes(*story, chain=("Ann",), rules=rules) == "box"
    assert believes(*story, chain=("Bob", "Ann"), rules=rules) == "tin"


def test_claims_do_not_reach_longer_chains() -> None:
    story = (*SCENE, Claim("Bob", None, "hat", "tin"))
    assert believes(*story, chain=("Cleo", "Ann", "Bob")) == "box"


# ToMi: Ann moves, Bob is the other main agent, Cleo comes third.
MISSED: tuple[Event, ...] = (
    Enter(("Ann",), "hall"),
    Enter(("Bob",), "hall"),
    Place("hat", "box", "hall"),
    Exit("Bob", "hall"),
    Move("Ann", "hat", "jar"),
)


def test_quirk_third_agent_sets_what_the_two_think_of_each_other() -> None:
    story = (Enter(("Cleo",), "hall"), *MISSED)
    for chain in (("Ann", "Bob"), ("Bob", "Ann")):
        assert believes(*story, chain=chain, rules=TOMI_PLAIN) == "box"
        assert believes(*story, chain=chain, rules=TOMI_UPSTREAM) == "jar"
    assert believes(*story, chain=("Bob",), rules=TOMI_UPSTREAM) == "box"


def test_quirk_needs_a_third_agent_in_the_room() -> None:
    story = (Enter(("Cleo",), "attic"), *MISSED)
    assert believes(*story, chain=("Ann", "Bob"), rules=TOMI_UPSTREAM) == "box"


def test_quirk_the_exit_of_the_mover_protects_today_but_not_in_the_release() -> None:
    story = (Enter(("Cleo",), "hall"), *MISSED, Exit("Ann", "hall"))
    assert believes(*story, chain=("Ann", "Bob"), rules=TOMI_UPSTREAM) == "box"
    assert believes(*story, chain=("Ann", "Bob"), rules=TOMI_RELEASED) == "jar"


def test_quirk_return_after_the_mover_left_counts_in_the_release() -> None:
    story = (*MISSED, Exit("Ann", "hall"), Enter(("Bob",), "hall"))
    assert believes(*story, chain=("Ann", "Bob"), rules=TOMI_UPSTREAM) == "box"
    assert believes(*story, chain=("Ann", "Bob"), rules=TOMI_RELEASED) == "jar"


# ExploreToM
BOXED: tuple[Event, ...] = (
    Enter(("Ann",), "hall"),
    Enter(("Bob",), "hall"),
    Move("Ann", "hat", "box"),
)


def test_containers_hide_what_is_in_them() -> None:
    story = (*BOXED, Exit("Bob", "hall"), Move("Ann", "hat", "jar"), Enter(("Bob",), "hall"))
    assert believes(*story, chain=("Bob",), rules=EXPLORE_TOM) == "box"
    known = beliefs(story, EXPLORE_TOM)
    assert known.of(("Bob",), "jar", ROOM) == "hall"  # the container itself is seen
    assert believes(*story, chain=("Bob",), rules=HI_TOM) == "jar"


def test_secret_witness_learns_and_nobody_knows() -> None:
    peeked = Aside(Move("Ann", "hat", "jar"), peeking=("Cleo",))
    story = (*BOXED, Enter(("Cleo",), "attic"), peeked)
    assert believes(*story, chain=("Cleo",), rules=EXPLORE_TOM) == "jar"
    assert believes(*story, chain=("Cleo", "Bob"), rules=EXPLORE_TOM) == "jar"
    assert believes(*story, chain=("Bob", "Cleo"), rules=EXPLORE_TOM) is None
    blind = replace(EXPLORE_TOM, secret_witnesses=False)
    assert believes(*story, chain=("Cleo",), rules=blind) is None


def test_distraction_misses_the_action_and_nobody_knows() -> None:
    story = (*BOXED, Aside(Move("Ann", "hat", "jar"), distracted=("Bob",)))
    assert believes(*story, chain=("Bob",), rules=EXPLORE_TOM) == "box"
    assert believes(*story, chain=("Ann", "Bob"), rules=EXPLORE_TOM) == "jar"
    attentive = replace(EXPLORE_TOM, inattention=False)
    assert believes(*story, chain=("Bob",), rules=attentive) == "jar"


def test_quirk_the_distracted_gets_second_order_beliefs_about_moves() -> None:
    story = (*BOXED, Aside(Move("Ann", "hat", "jar"), distracted=("Bob",)))
    assert believes(*story, chain=("Bob", "Ann"), rules=EXPLORE_TOM_PLAIN) == "box"
    assert believes(*story, chain=("Bob", "Ann"), rules=EXPLORE_TOM) == "jar"


def test_public_talk_on_a_topic_is_heard_by_the_room() -> None:
    known = beliefs((*BOXED, Enter(("Cleo",), "attic"), Discuss("Ann", None, "rent")), EXPLORE_TOM)
    assert known.of(("Bob",), "rent", TOPIC)
    assert known.of(("Bob", "Ann"), "rent", TOPIC)
    assert not known.of(("Cleo",), "rent", TOPIC)


def test_private_talk_needs_no_room() -> None:
    known = beliefs((*BOXED, Discuss("Cleo", "Ann", "rent")), EXPLORE_TOM)
    assert known.of(("Ann", "Cleo"), "rent", TOPIC)
    assert not known.of(("Bob",), "rent", TOPIC)


def test_talk_on_places_is_believed() -> None:
    moved = (*BOXED, Exit("Bob", "hall"), Move("Ann", "hat", "jar"))
    story = (*moved, Report("Ann", "Bob", "hat", "container", "jar"))
    assert believes(*story, chain=("Bob",), rules=EXPLORE_TOM) == "jar"
    assert believes(*story, chain=("Ann", "Bob"), rules=EXPLORE_TOM) == "jar"


def test_room_moves_take_the_object_out_of_its_container() -> None:
    story = (*BOXED, Enter(("Cleo",), "attic"), Carry("Ann", "hat", "attic", "box"))
    known = beliefs(story, EXPLORE_TOM)
    assert known.of((), "hat", ROOM) == "attic"
    assert known.of((), "hat") is None  # in no container
    assert known.of(("Cleo",), "hat", ROOM) == "attic"  # saw it arrive
    assert known.of(("Bob",), "hat", ROOM) is None  # saw it leave: it is gone
    assert known.of(("Bob",), "box", ROOM) is None  # the box stayed; Bob never looked at it


def test_states_are_seen_by_those_who_come_later_unless_they_do_not_show() -> None:
    story = (Enter(("Ann",), "hall"), Change("Ann", "hat", "dyed the hat"), Enter(("Bob",), "hall"))
    assert beliefs(story, EXPLORE_TOM).of(("Bob",), "hat", "dyed the hat")
    hidden = replace(EXPLORE_TOM, states_show=False)
    assert not beliefs(story, hidden).of(("Bob",), "hat", "dyed the hat")
    unseen = (story[0], Change("Ann", "hat", "dyed the hat", visible=False), story[2])
    assert not beliefs(unseen, EXPLORE_TOM).of(("Bob",), "hat", "dyed the hat")


def test_visibility_who_knew_it_in_the_open_does_not_know_where_it_was_put() -> None:
    story = (
        Enter(("Ann",), "hall"),
        Enter(("Bob",), "hall"),
        Change("Ann", "hat", "dyed the hat"),
        Exit("Bob", "hall"),
        Move("Ann", "hat", "box"),
        Enter(("Bob",), "hall"),
    )
    known = beliefs(story, EXPLORE_TOM)
    assert known.of(("Bob",), "hat", ROOM) is None
    assert known.of(("Ann", "Bob"), "hat", ROOM) is None
    assert known.of(("Ann",), "hat", ROOM) == "hall"


def test_history_and_until_look_back() -> None:
    known = beliefs((*TOGETHER, Move("Ann", "hat", "jar"), Move("Bob", "hat", "tin")))
    assert [o.value for o in known.history((), "hat")] == ["box", "jar", "tin"]
    assert known.until(2).of(("Cleo",), "hat") == "jar"
