"""The conventions under which a story is read, one named option each, and a preset per benchmark.

Sources: Hi-ToM (He et al. 2023, ``tasks.py`` and ``world.py`` of ying-hui-he/Hi-ToM_dataset and the
numbered assumptions of its prompt note), ToMi (Le et al. 2019, ``stringify.py`` and ``actions.py``
of facebookresearch/ToMi), ExploreToM (Sclar et al. 2024, ``belief_tracker.py`` of
facebookresearch/ExploreToM).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """How observation, talk and a benchmark's own oddities change beliefs.

    Attributes:
        refresh_on_entry: Whoever enters a room silently learns the true place of every object to be
            seen in it, together with everybody already there (all three benchmarks).
        trust_by_exit_order: A listener who has left the scene believes a claim if its speaker left
            after them, one who took no part believes every claim, and one who is inside none
            (Hi-ToM, assumption 3 of the prompt note; what a scene is: ``pipeline.tom.scene``). If
            off, claims change nothing but what the speaker thinks of the listener.
        trust_of_those_inside: A listener who has left also believes a speaker who is still inside.
            In Hi-ToM all leave before they speak, so that neither its note nor its generator
            decides this. If off, only those who did leave after the listener are believed.
        all_trusted: Every listener believes every claim (a mind that never doubts; no benchmark).
        containers_hide: What is in a container is not seen by those who enter; they keep their old
            belief about it (ExploreToM). If off, containers are open (Hi-ToM, ToMi).
        states_show: Whoever sees an object sees the state it was left in (ExploreToM, where each
            state has such a flag that its text does not tell). If off, only the change is seen.
        secret_witnesses: Somebody who peeks learns of the action, and knows that those present do;
            nobody knows of the peeker (ExploreToM). If off, peeking has no effect.
        inattention: Somebody distracted misses the action, but is thought to have seen it
            (ExploreToM). If off, everybody present sees everything.
        quirk_third_agent: Upstream's ToMi builds the sentences of the third agent last, so an
            entrance of a third agent into the object's room, wherever it stands in the story, sets
            what mover and bystander think of each other to the final place.
        quirk_mover_exit_protects: The third agent has no such effect if the mover has left
            (today's ToMi generator; not the one that made the released archive).
        quirk_return: In the released ToMi archive the bystander's own return to the room, after
            the mover has left it, has the same effect.
        quirk_distracted_second_order: Upstream's ExploreToM gives everybody present, also the
            distracted, the second-order beliefs about a move into a container.
    """

    refresh_on_entry: bool = True
    trust_by_exit_order: bool = True
    trust_of_those_inside: bool = True
    all_trusted: bool = False
    containers_hide: bool = False
    states_show: bool = True
    secret_witnesses: bool = True
    inattention: bool = True
    quirk_third_agent: bool = False
    quirk_mover_exit_protects: bool = True
    quirk_return: bool = False
    quirk_distracted_second_order: bool = False


HI_TOM = Rules()
"""The rules of Hi-ToM's generator."""

HI_TOM_LITERAL = Rules(trust_of_those_inside=False)
"""The same with "left after them" taken literally; on no generated question does it matter."""

TOMI_PLAIN = Rules()
"""ToMi as a person reads it: open containers, mutual knowledge of those in the room."""

TOMI_UPSTREAM = Rules(quirk_third_agent=True)
"""ToMi as today's generator labels it (the copy that ToM-RL evaluates on)."""

TOMI_RELEASED = Rules(quirk_third_agent=True, quirk_mover_exit_protects=False, quirk_return=True)
"""ToMi as the older generator labelled the released archive."""

EXPLORE_TOM_PLAIN = Rules(containers_hide=True)
"""ExploreToM as its paper describes it."""

EXPLORE_TOM = Rules(containers_hide=True, quirk_distracted_second_order=True)
"""ExploreToM as its belief tracker labels it."""
