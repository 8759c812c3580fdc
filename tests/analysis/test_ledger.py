"""The ledger: every claim called rightly on results that support it and that contradict it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.ledger_audit import audited_rules
from benchmarks.ledger_recorded import recorded_evidence
from benchmarks.made_study import write_results
from pipeline.analysis.collect import collect
from pipeline.analysis.ledger.claim import PaperClaim
from pipeline.analysis.ledger.claims import claims
from pipeline.analysis.ledger.decisions import detectable, equal_within
from pipeline.analysis.ledger.evidence import (
    OTHERS,
    TRAINED,
    AskedModel,
    Evidence,
    Rule,
    Run,
    TopicVerdict,
    Who,
)
from pipeline.analysis.ledger.ledger import entries, ledger, ledger_summary, re_runs_a_paper
from pipeline.analysis.ledger.measures import Measure, gain, rule_gain, states_no_more
from pipeline.analysis.ledger.of_study import (
    GSM8K_PLAIN,
    columns_by_topic,
    evidence_of,
    prompted,
    trained,
    untrained,
)
from pipeline.analysis.ledger.predicates import OTHER_PROMPT, as_published, rises, same
from pipeline.analysis.report import write_report
from pipeline.analysis.samples import Recorded
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.config.study_files import find_study
from pipeline.evaluate.statistics import Estimate, change
from pipeline.rules.listed import baselines, chosen_elsewhere
from pipeline.rules.reading import read_all
from pipeline.tasks.registry import get
from tests.analysis.made_evidence import (
    along,
    answers,
    asked,
    asked_along,
    both,
    curved,
    evidence,
    items,
    lengths,
    levels,
    rollouts,
    sampling,
    saying,
    share_of,
    shifted,
    verdicts,
)
from tests.conftest import PROJECT, TINY

SMALL = ("qwen25-05b", "qwen25-15b", "qwen25-3b")
LARGE = ("qwen25-7b", "qwen25-7b-1m")
MODELS = (*SMALL, *LARGE)
SETS = ("hi", "fan", "exp", "hi-fan", "hi-exp", "fan-exp", "hi-fan-exp")
WITH_YES_NO = Who("qwen25-7b", "yes-no", "grpo")


def rl(model: str) -> Who:
    return Who(model, "study-1", "grpo")


def sft(model: str) -> Who:
    return Who(model, "study-1", "sft")


def rlvr(data: str) -> Who:
    return Who("qwen25-7b", data, "reinforce_plus_plus")


def thinking(model: str, data: str = "balanced") -> Who:
    return Who(model, data, "grpo")


def imitating(model: str) -> Who:
    return Who(model, "balanced", "sft")


CLAIMS = claims()
Sides = tuple[Evidence, Evidence]
BOTH_SIZES = ("qwen25-3b", "qwen25-7b")
B7, M7 = rl("qwen25-7b"), rl("qwen25-7b-1m")
ALL, LITTLE, LARGER = ([rl(m) for m in names] for names in (MODELS, SMALL, LARGE))
SEVEN = [rlvr(data) for data in SETS]


def rising(whos: list[Who], *topics: str, order: int | None = None) -> Sides:
    return shifted(whos, 0.3, *topics, order=order), shifted(whos, 0.0, *topics, order=order)


def one_ahead(topic: str, pairs: Mapping[Who, Who], order: int | None = None) -> Sides:
    """The first of each pair ahead of the second, and behind it."""

    def of(first: float, second: float) -> Evidence:
        scores: dict[Who, float | Mapping[int, float]] = {}
        for one, other in pairs.items():
            scores |= {one: first, other: second} if order is None else {}
            scores |= {} if order is None else {one: {order: first}, other: {order: second}}
        return levels(topic, scores)

    return of(0.8, 0.5), of(0.5, 0.8)


def at_orders(who: Who, better: int, worse: int) -> Sides:
    found = ({better: a, worse: b} for a, b in ((0.8, 0.4), (0.4, 0.8)))
    high, low = (levels("hi_tom", {who: each}) for each in found)
    return high, low


def shrinking(model: str, to: int = 20, against: int = 100) -> Sides:
    return lengths({rl(model): to}), lengths({rl(model): against})


def judged(reasoning: str, answers: str = "beliefs", silent: float = 0.1) -> TopicVerdict:
    sound = share_of(0.8 if reasoning == "faithful" else 0.3)
    shares = (share_of(0.6), share_of(0.8), share_of(silent), sound)
    return TopicVerdict(answers, reasoning, *shares)


def speaking(before: str, after: str) -> Evidence:
    return saying({**{Who(m): before for m in SMALL}, **dict.fromkeys(LITTLE, after)})


def with_rule(best: float, topic: str = "hi_tom") -> Evidence:
    return evidence({M7: asked({topic: 0.8})}, {topic: Rule(best, 0.2, 600)})


def asked_twice(topic: str, other: str, high: float, low: float) -> Evidence:
    """Models that are better at one topic than at the same questions in another."""
    return evidence({Who(m): asked({topic: high, other: low}) for m in BOTH_SIZES})


def apart(inside: str, outside: str, whos: list[Who]) -> Sides:
    """One topic rises and the other does not, and the other way round."""
    ends = ((0.8, 0.4), (0.4, 0.8))
    found = [
        evidence(
            {
                **{Who(w.model): asked({inside: 0.4, outside: 0.4}) for w in whos},
                **{w: asked({inside: a, outside: b}) for w in whos},
            }
        )
        for a, b in ends
    ]
    return found[0], found[1]


WORDY = asked({"hi_tom": 0.5}, 999)
FOREIGN = ("hi_tom", "fantom_yes_no", "explore_tom", "fantom_list", "opentom")
TENT = [*range(100, 175), *range(175, 50, -1)]
WAVE, STAYS = {OTHERS: [0.4, 0.7, 0.45, 0.4]}, {OTHERS: [0.4, 0.6, 0.7, 0.7]}
CLIMB = [0.4, 0.5, 0.6, 0.8]
GOOD, BAD, ABSENT = judged("faithful"), judged("unfaithful"), judged("absent")
ASSUMED = {Who(m, "", prompted("tom-rl")): Who(m, "", prompted("rlvr")) for m in BOTH_SIZES}
SFT = [sft(m) for m in BOTH_SIZES]
BARE = "Cleo thinks Bob thinks the hat is in the red_box.</think><answer>red_box</answer>"
THOUGHT = f"Cleo thinks the hat is in the blue_jar. {BARE}"
OVER_SFT = {thinking(m): imitating(m) for m in BOTH_SIZES}
OVER_BLUNT = {
    thinking(m, "study-1"): Who(m, "study-1", "grpo without thinking") for m in BOTH_SIZES
}


def alike(pairs: Mapping[Who, Who], topic: str) -> Evidence:
    return levels(topic, dict.fromkeys((*pairs, *pairs.values()), 0.5))


@cache
def cases() -> dict[str, Sides]:
    """Results that support a claim and that contradict it, by claim; a gigabyte of them."""
    return of_study_1() | of_its_note() | of_study_2() | of_shortcuts()


def of_study_1() -> dict[str, Sides]:
    return {
        "tom-rl/hi-tom": rising(ALL, "hi_tom"),
        "tom-rl/order-4-set": rising(ALL, "hi_tom_order4"),
        "tom-rl/order-4": rising(ALL, "hi_tom", order=4),
        "tom-rl/tomi": rising(ALL, "tomi"),
        "tom-rl/explore-tom": rising(ALL, "explore_tom"),
        "tom-rl/infilled": rising(ALL, "explore_tom_infilled"),
        "tom-rl/gsm8k": (shifted(ALL, 0.0, "gsm8k"), shifted(ALL, -0.2, "gsm8k")),
        "tom-rl/gpt-4o": one_ahead("hi_tom", {M7: Who("gpt-4o")}),
        "tom-rl/deepseek-v3": one_ahead("hi_tom", {M7: Who("deepseek-v3")}),
        "tom-rl/collapse-05b": shrinking("qwen25-05b"),
        "tom-rl/collapse-15b": shrinking("qwen25-15b"),
        "tom-rl/collapse-3b": shrinking("qwen25-3b"),
        "tom-rl/shrinks-by-88": (
            evidence({Who("qwen25-15b"): WORDY, rl("qwen25-15b"): asked({"hi_tom": 0.5}, 115)}),
            lengths({rl("qwen25-15b"): 50}),
        ),
        "tom-rl/stable-7b": shrinking("qwen25-7b", 98, 30),
        "tom-rl/stable-7b-1m": shrinking("qwen25-7b-1m", 98, 30),
        "tom-rl/rises-then-falls": (
            curved(B7, "length_mean", TENT),
            curved(B7, "length_mean", [300 - each for each in TENT]),
        ),
        "tom-rl/steady-7b-1m": (
            curved(M7, "length_mean", [100] * 200),
            curved(M7, "length_mean", [*range(300, 100, -1)]),
        ),
        "tom-rl/by-scale": (
            lengths({B7: 90, rl("qwen25-3b"): 20}),
            lengths({B7: 20, rl("qwen25-3b"): 90}),
        ),
        "tom-rl/no-aha": (
            saying(dict.fromkeys(LARGER, "So it is.")),
            saying(dict.fromkeys(LARGER, "Wait, let me verify.")),
        ),
        "tom-rl/reflection-fades": (
            sampling(LARGER, first="Wait, the hat moved."),
            sampling(LARGER, last="Hmm, let me verify."),
        ),
        "tom-rl/longer-is-better": (
            sampling(ALL, longer=1.3),
            sampling(ALL, longer=0.8),
        ),
        "tom-rl/belief-tracking": (
            verdicts(dict.fromkeys(LARGER, GOOD)),
            verdicts(dict.fromkeys(LARGER, BAD)),
        ),
        "tom-rl/accurate-and-short": (
            shifted(LITTLE, 0.3, "hi_tom", words=(100, 20)),
            shifted(LITTLE, 0.3, "hi_tom"),
        ),
        "tom-rl/less-meaning": (speaking(THOUGHT, BARE), speaking(BARE, THOUGHT)),
        "tom-rl/transfer-despite-collapse": rising(LITTLE, "tomi"),
        "tom-rl/no-reasoning-needed": (
            saying({M7: "<answer>blue_jar</answer>"}),
            saying({M7: "<answer>GOLD</answer>"}, *("red_box", "blue_jar") * 100),
        ),
        "tom-rl/assumptions": (alike(ASSUMED, "hi_tom"), one_ahead("hi_tom", ASSUMED)[0]),
        "tom-rl/prompt-moves-gsm8k": (
            asked_twice("gsm8k", GSM8K_PLAIN, 0.8, 0.5),
            asked_twice("gsm8k", GSM8K_PLAIN, 0.5, 0.5),
        ),
        "tom-rl/yes-no-impairs": one_ahead(
            "hi_tom", {Who("qwen25-7b", "places", "grpo"): WITH_YES_NO}
        ),
        "tom-rl/sft-hi-tom": one_ahead("hi_tom", {sft(m): rl(m) for m in BOTH_SIZES}),
        "tom-rl/sft-tomi": one_ahead("tomi", {sft(m): rl(m) for m in BOTH_SIZES}),
        "tom-rl/sft-infilled": one_ahead(
            "explore_tom_infilled", {sft(m): rl(m) for m in BOTH_SIZES}
        ),
        "tom-rl/sft-generalises": rising(SFT, "tomi"),
    }


def of_its_note() -> dict[str, Sides]:
    return {
        "collapse-note/no-tracking": (
            verdicts(dict.fromkeys(LITTLE, ABSENT)),
            verdicts(dict.fromkeys(LITTLE, GOOD)),
        ),
        "collapse-note/hidden-by-scores": (
            lengths({B7: 90, rl("qwen25-3b"): 20}),
            both(
                evidence({B7: asked({"hi_tom": 0.9})}),
                lengths({B7: 90, rl("qwen25-3b"): 20}),
            ),
        ),
    }


def of_study_2() -> dict[str, Sides]:
    return {
        "rlvr/gain-hi": rising([rlvr("hi")], TRAINED),
        "rlvr/gain-fan": rising([rlvr("fan")], TRAINED),
        "rlvr/gain-exp": rising([rlvr("exp")], TRAINED),
        "rlvr/opentom-flat": rising(SEVEN, "opentom")[::-1],
        "rlvr/list-flat": rising(SEVEN, "fantom_list")[::-1],
        "rlvr/format-collapse": apart("fantom_yes_no", "fantom_list", [rlvr("fan")]),
        "rlvr/all-do-not-carry": rising([rlvr("hi-fan-exp")], "opentom")[::-1],
        "rlvr/inside-not-outside": apart(TRAINED, OTHERS, [rlvr(d) for d in ("hi", "fan", "exp")]),
        "rlvr/negative-transfer": (shifted(SEVEN, -0.2, *FOREIGN), shifted(SEVEN, 0.0, *FOREIGN)),
        "rlvr/narrow": rising([rlvr(d) for d in ("hi", "fan", "exp")], *FOREIGN)[::-1],
        "rlvr/prolonged": (
            along({rlvr("hi-fan"): {TRAINED: CLIMB, OTHERS: [0.4] * 4}}),
            along({rlvr("hi-fan"): {TRAINED: CLIMB, OTHERS: CLIMB}}),
        ),
        "rlvr/base-by-order": at_orders(Who("qwen25-7b"), 1, 4),
        "rlvr/inverted": at_orders(rlvr("hi"), 4, 1),
        "rlvr/order-123-to-4": rising([rlvr("orders-1-2-3")], "hi_tom", order=4),
        "rlvr/order-4-to-1": (
            shifted([rlvr("order-4")], -0.3, "hi_tom", order=1),
            shifted([rlvr("order-4")], 0.3, "hi_tom", order=1),
        ),
        "rlvr/order-2-to-1": (
            shifted([rlvr("order-2")], -0.3, "hi_tom", order=1),
            shifted([rlvr("order-2")], 0.3, "hi_tom", order=1),
        ),
        "rlvr/order-2-up-not-down": at_orders(rlvr("order-2"), 3, 1),
        "rlvr/comes-and-goes": (
            along(dict.fromkeys(SEVEN, WAVE)),
            along(dict.fromkeys(SEVEN, STAYS)),
        ),
        "rlvr/gains-not-shared": rising(SEVEN, "fantom_list", "opentom")[::-1],
        "rlvr/narrow-overfitting": (
            verdicts({rlvr("hi"): judged("faithful", "rule")}),
            verdicts({rlvr("hi"): judged("faithful", "beliefs")}),
        ),
    }


def of_shortcuts() -> dict[str, Sides]:
    return {
        "shortcuts/hi-tom": (with_rule(0.9), with_rule(0.25)),
        "shortcuts/tomi": (with_rule(0.9, "tomi"), with_rule(0.25, "tomi")),
        "shortcuts/explore-tom": (with_rule(0.9, "explore_tom"), with_rule(0.25, "explore_tom")),
        "shortcuts/fantom": (with_rule(0.9, "fantom_yes_no"), with_rule(0.25, "fantom_yes_no")),
        "shortcuts/opentom-clean": (with_rule(0.25, "opentom"), with_rule(0.9, "opentom")),
        "shortcuts/rl-over-sft": one_ahead(TRAINED, OVER_SFT),
        "shortcuts/rl-over-sft-higher-order": one_ahead("hi_tom", OVER_SFT, order=4),
        "shortcuts/lead-grows-with-order": (
            levels(
                "hi_tom",
                {
                    w: {1: 0.6, 4: 0.8 if w in OVER_SFT else 0.4}
                    for w in (*OVER_SFT, *OVER_SFT.values())
                },
            ),
            levels("hi_tom", {w: {1: 0.01, 4: 0.01} for w in (*OVER_SFT, *OVER_SFT.values())}),
        ),
        "shortcuts/rl-generalises-better": one_ahead(OTHERS, OVER_SFT),
        "shortcuts/counterfactuals": one_ahead("pairs", OVER_SFT),
        "shortcuts/sensitivity": one_ahead("pairs", OVER_SFT),
        "shortcuts/thinking": one_ahead(TRAINED, OVER_BLUNT),
        "shortcuts/thinking-elsewhere": one_ahead(OTHERS, OVER_BLUNT),
    }


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_called_rightly_on_what_supports_and_contradicts_it(claim: PaperClaim) -> None:
    supporting, contradicting = (claim.decided(each) for each in cases()[claim.id])
    assert (supporting.word, contradicting.word) == ("supported", "contradicted")
    assert supporting.effects and contradicting.effects
    nothing = claim.decided(Evidence({}))
    assert nothing.word == "not run" and nothing.why.startswith("no ") and not nothing.effects


def test_every_claim_is_there_once_with_its_source() -> None:
    names = [claim.id for claim in CLAIMS]
    assert len(names) == len(set(names)) == len(cases()) >= 40
    for claim in CLAIMS:
        assert re.search(r"arXiv \d{4}\.\d{5}|ACL Findings 2026", claim.source), claim.id
        assert claim.says and claim.needs


# --- how small an effect would have shown ---------------------------------------------------------


def test_undecided_names_what_would_have_shown() -> None:
    who = rlvr("order-4")
    (found,) = (c for c in CLAIMS if c.id == "rlvr/order-4-to-1")
    entry = found.decided(shifted([who], -0.02, "hi_tom", order=1))
    assert entry.word == "undecided"
    (effect,) = entry.effects
    assert f"with probability 0.8 this much data shows {100 * effect.detectable:.1f}" in entry.why
    bigger = found.decided(shifted([who], -1.1 * effect.detectable, "hi_tom", order=1))
    assert bigger.word == "supported"


def _given(found: Estimate, _: Evidence) -> Estimate:
    return found


def test_reasoning_that_may_be_faithful_is_undecided() -> None:
    (claim,) = (claim for claim in CLAIMS if claim.id == "tom-rl/belief-tracking")
    unsure = judged("unfaithful")._replace(sound=share_of(0.52, 60))
    entry = claim.decided(verdicts(dict.fromkeys(LARGER, unsure)))
    assert entry.word == "undecided" and "with probability 0.8" in entry.why


@pytest.mark.parametrize("equal", [False, True])
def test_what_is_called_detectable_shows_in_four_of_five(equal: bool) -> None:
    random = np.random.default_rng(0)
    steps = random.choice([-1.0, 0.0, 1.0], size=(600, 200), p=[0.2, 0.6, 0.2])
    first = change([0.0] * 200, list(steps[0]), range(200))
    size = equal_within(first) if equal else detectable(first)
    words = []
    for drawn in steps + (0.0 if equal else size):
        found = change([0.0] * 200, list(drawn), range(200))
        measure = Measure("made", partial(_given, found))
        test = same(measure, margin=size) if equal else rises(measure)
        words.append(test(Evidence({})).word)
    assert 0.72 < words.count("supported") / len(words) < 0.88


def test_a_stable_length_takes_one_prompt_for_both() -> None:
    (claim,) = (claim for claim in CLAIMS if claim.id == "tom-rl/stable-7b")
    alike = lengths({B7: 98})
    ((run,),) = (alike.runs[B7],)
    other = replace(alike, runs={B7: [run._replace(asked=replace(run.asked, prompt="tags"))]})
    assert [claim.decided(each).word for each in (alike, other)] == ["supported", "undecided"]
    assert OTHER_PROMPT in claim.decided(other).why


def test_an_interval_that_misses_a_published_value_does_not_support_it() -> None:
    near = Measure("made", lambda _: Estimate(-0.912, -0.922, -0.900, 600, 120), "% of length")
    words = [as_published(near, value)(Evidence({})).word for value in (-0.912, -0.884, -0.7)]
    assert words == ["supported", "undecided", "contradicted"]


@pytest.mark.parametrize(
    ("said", "no_more"),
    [
        ("", True),
        ("Bob left first.", True),
        ("Cleo thinks Bob thinks the hat is in the red_box.", True),
        ("Bob thinks the hat is in the red_box.", True),
        ("Bob thinks the hat is in the blue_jar.", False),
        ("Bob thinks the hat is in the red_box. Cleo thinks so: the hat is in the tin_0.", False),
    ],
)
def test_an_answer_said_again_is_no_belief(said: str, no_more: bool) -> None:
    (item,) = items(f"{said}</think><answer>red_box</answer>", ["red_box"])
    assert states_no_more(item) is no_more


def test_the_best_rule_is_chosen_on_other_stories() -> None:
    """Rules that are right on nothing but chance gain nothing by being many."""
    random = np.random.default_rng(0)
    places = ("red_box", "blue_jar")
    best, chosen = [], []
    for drawn in random.integers(0, 2, (20, 50)):
        readings = read_all([item.example for item in items("", [places[n] for n in drawn])])
        best.append(max(rule.accuracy for rule in baselines(readings).values()))
        chosen.append(np.mean(chosen_elsewhere(readings)))
    assert np.mean(best) > 0.53 and np.mean(chosen) < 0.51
    always = read_all([item.example for item in items("", ["red_box"] * 50)])
    assert all(chosen_elsewhere(always)) and not any(chosen_elsewhere(always[:1]))


# --- from studies ---------------------------------------------------------------------------------


def phantom(params: Params) -> Evidence:
    """Evidence with all that a study could measure, by the names that it gives to it."""
    columns = columns_by_topic(params)
    tasks = list(params.suite.tasks)
    topics = {**columns, TRAINED: tasks, OTHERS: tasks}
    cells = {who: params.cells[key] for who, key in untrained(params)}
    cells |= {trained(params, c): c for c in params.cells.values() if isinstance(c, TrainedCell)}
    orders = {
        (name, order): share_of(0.5)
        for name, column in params.suite.columns.items()
        for order in column.orders or get(column.task).orders
    }
    curve = [{"step": step, "length_mean": 100.0} for step in range(200)]
    keeps = any(isinstance(cell, TrainedCell) and cell.keeps for cell in cells.values())
    asked_model = AskedModel(
        grades=pd.concat([f for name in params.suite.columns for f in answers(name, 0.5)]),
        topics=topics,
        orders=orders,
        judged=dict.fromkeys(columns, judged("unfaithful")),
        said={"hi_tom": items("<answer>red_box</answer>")} if "hi_tom" in columns else {},
        curve=curve,
        along=dict.fromkeys(tasks, asked_along([0.5] * 4)) if keeps else {},
        rollouts=rollouts("Wait.", "So.", 1.1),
    )
    rules = dict.fromkeys(columns, Rule(0.5, 0.2, 600))
    runs = {who: [_asked_as(params, cell, asked_model)] for who, cell in cells.items()}
    return Evidence(runs, rules)


def _asked_as(params: Params, cell: Cell, model: AskedModel) -> Run:
    """A model and its base model, each with its prompt."""
    base = params.cells[f"{cell.model}-base"]
    return Run(*(replace(model, prompt=each.evaluate.prompt) for each in (base, cell)))


@pytest.fixture(scope="module")
def re_runs() -> list[Evidence]:
    """What each study that has a ledger could measure."""
    studies = (find_study(PROJECT, path.stem) for path in (PROJECT / "studies").glob("*.yaml"))
    return [phantom(expand(study)) for study in studies if re_runs_a_paper(study.paper)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_can_be_decided_by_some_study(
    claim: PaperClaim, re_runs: list[Evidence]
) -> None:
    """The names that a claim asks for are names that a study gives."""
    found = [claim.decided(each) for each in re_runs]
    decided = [each for each in found if each.word != "not run"]
    assert decided, {each.why for each in found}
    assert not all(OTHER_PROMPT in each.why for each in decided)


def accuracy(key: str, cell: Cell, column: str) -> float:
    """Training helps by thirty points wherever it is not OpenToM, lists of FANToM, or sums."""
    still = column.startswith("opentom") or column in ("fantom_list", "gsm8k")
    return 0.5 if cell.combination is None or still else 0.8


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "tom-rl",
            {
                "tom-rl/hi-tom": "supported",
                "tom-rl/tomi": "supported",
                "tom-rl/no-aha": "not run",
                "tom-rl/sft-tomi": "not run",
                "rlvr/gain-fan": "not run",
            },
        ),
        (
            "rlvr",
            {
                "rlvr/gain-fan": "supported",
                "rlvr/format-collapse": "supported",
                "rlvr/opentom-flat": "supported",
                "rlvr/narrow": "contradicted",
                "rlvr/order-2-to-1": "not run",
                "tom-rl/hi-tom": "not run",
            },
        ),
        (
            "think-or-not",
            {
                "shortcuts/thinking": "undecided",
                "shortcuts/rl-over-sft": "not run",
                "tom-rl/sft-generalises": "supported",
                "tom-rl/sft-tomi": "undecided",
            },
        ),
    ],
)
def test_studies_that_re_run_a_paper_have_a_ledger(
    name: str, words: dict[str, str], tmp_path: Path
) -> None:
    params = expand(find_study(PROJECT, name))
    write_results(params, tmp_path, accuracy)
    found = {each.id: each.word for each in ledger(collect(params, tmp_path))}
    assert len(found) == len(CLAIMS)
    assert {key: found[key] for key in words} == words


@pytest.mark.parametrize("path", sorted((PROJECT / "studies").glob("*.yaml")), ids=lambda p: p.stem)
def test_which_studies_re_run_a_paper(path: Path) -> None:
    named = {"tom-rl", "rlvr", "order-ablation", "grid", "sft-or-rl", "think-or-not"}
    named |= {"prompt-or-training", "next-assumptions", "next-yes-no"}
    assert re_runs_a_paper(find_study(PROJECT, path.stem).paper) == (path.stem in named)


def test_a_partial_study_says_what_is_missing(tmp_path: Path) -> None:
    params = expand(find_study(PROJECT, "tom-rl"))
    write_results(params, tmp_path, accuracy)
    (tmp_path / "runs/tom-rl/qwen25-3b-hi-exp/judge/verdicts.json").unlink()
    found = evidence_of(collect(params, tmp_path, {"qwen25-3b-hi-exp": "no memory"}))
    (claim,) = (claim for claim in CLAIMS if claim.id == "tom-rl/hi-tom")
    entry = claim.decided(found)
    assert entry.word == "not run"
    assert entry.why == "no results of 3B after grpo on study-1 (failed: no memory)"


def test_the_report_shows_the_ledger_of_such_a_study_alone(tmp_path: Path) -> None:
    for root, name in ((PROJECT, "order-ablation"), (TINY, "mini")):
        params, target = expand(find_study(root, name)), tmp_path / name
        write_results(params, target)
        write_report(collect(params, target), Recorded({}, {}), target / "report")
        page = (target / "report" / "index.html").read_text()
        lines = (target / "report" / "report.md").read_text()
        written = json.loads((target / "report" / "results.json").read_text())["ledger"]
        assert len(written) == (0 if name == "mini" else len(CLAIMS))
        assert ('id="ledger"' in page) == ("## Claims" in lines) == bool(written)
        assert (f"of {len(CLAIMS)} claims of the papers: " in page) == bool(written)


# --- from the answers that the authors of Study 1 recorded ----------------------------------------


@pytest.mark.nightly  # what is stored of them is held to the page every time
def test_what_the_recorded_answers_decide_is_in_the_docs() -> None:
    folder = Path(os.environ.get("TOMRL_DATA_MIRROR") or "/nowhere") / "recorded"
    if not folder.is_dir():
        pytest.skip("TOMRL_DATA_MIRROR names no folder with the recorded responses")
    found = recorded_evidence(folder)
    everything = entries(replace(found, rules={**audited_rules(folder.parent), **found.rules}))
    decided = [each for each in everything if each.word != "not run"]
    text = (PROJECT / "docs" / "field.md").read_text(encoding="utf-8")
    _, _, text = text.partition("### What recorded answers and the data decide")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    shown = [tuple(cell.strip() for cell in row.strip("| ").split(" | ")) for row in rows]
    assert shown == [(f"`{each.id}`", each.says, each.word, each.why) for each in decided]
    assert ledger_summary(everything).capitalize() in " ".join(text.split())


def test_a_gain_is_taken_question_by_question() -> None:
    found = gain(rlvr("hi"), "opentom").of(shifted([rlvr("hi")], 0.3, "opentom"))
    assert found.value == pytest.approx(0.3) and found.low > 0.25


def test_a_rule_on_one_kind_of_questions_counts_and_all_kinds_are_allowed_for() -> None:
    whole, kind = Rule(0.6, 0.5, 400), Rule(0.9, 0.5, 100)
    measure = rule_gain("tomi")
    alone = measure.of(evidence({}, {"tomi": kind}))
    found = measure.of(evidence({}, {"tomi": replace(whole, kinds=(kind, whole))}))
    assert found.value == alone.value == pytest.approx(0.4)
    assert found.high - found.low > alone.high - alone.low


ROW = {"name": "a", "source": "b", "says": "c", "needs": "d"}


@pytest.mark.parametrize(
    ("decide", "said"),
    [
        ("{rise: {gain: [m, hi_tom]}}", "claim a: found 'rise'; allowed: as_published, asked"),
        ("{rises: {gained: [m, hi_tom]}}", "claim a: found 'gained'; allowed: gain, late, lead"),
        ("{rises: {gain: [m]}}", "claim a: gain: missing a required argument: 'topic'; it takes"),
        ("{rises: {gain: [m, hi_tom, first]}}", "claim a: found 'first'; allowed: int or NoneType"),
        ("{rises: {gain: [m, hi_tom]}, over: 1.0}", "claim a: rises: got an unexpected keyword"),
        ("rises", "claim a: found 'rises'; allowed: as_published"),
    ],
)
def test_a_row_that_is_no_claim_is_refused(tmp_path: Path, decide: str, said: str) -> None:
    row = "".join(f", {name}: {value}" for name, value in ROW.items())
    path = tmp_path / "claims.yaml"
    path.write_text(f"claims: [{{decide: {decide}{row}}}]")
    with pytest.raises(UserError, match=re.escape(said)):
        claims(path)
    path.write_text(f"claims: [{{{row.removeprefix(', ')}}}]")
    with pytest.raises(UserError, match="claim a: found name, needs, says, source; needed: decide"):
        claims.__wrapped__(path)


def test_one_test_stands_for_several(tmp_path: Path) -> None:
    row = "".join(f", {name}: {value}" for name, value in ROW.items())
    path = tmp_path / "claims.yaml"
    test, names = '{rises: {gain: ["{m}/study-1/grpo", hi_tom]}}', "[qwen25-3b, qwen25-7b]"
    path.write_text(f"claims: [{{decide: {{every: {test}, for: {{m: {names}}}}}{row}}}]")
    (claim,) = claims(path)
    why = claim.decided(Evidence({})).why
    assert why == "no results of 3B after grpo on study-1, 7B after grpo on study-1"
    path.write_text(f"claims: [{{decide: {{every: {test}, for: {{n: {names}}}}}{row}}}]")
    with pytest.raises(UserError, match="claim a: every: for says nothing of 'm'"):
        claims.__wrapped__(path)
