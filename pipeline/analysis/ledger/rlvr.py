"""Claims of Study 2: arXiv 2507.15788, first version, and ACL Findings 2026 (2061)."""

from __future__ import annotations

from pipeline.analysis.ledger.claim import PaperClaim
from pipeline.analysis.ledger.evidence import OTHERS, TRAINED, Who
from pipeline.analysis.ledger.measures import (
    gain,
    late,
    lead_of_orders,
    lead_of_topics,
)
from pipeline.analysis.ledger.predicates import (
    MARGIN,
    Test,
    comes_and_goes,
    every,
    falls,
    follows_beliefs,
    no_two,
    not_,
    rises,
    same,
    some,
)

V1, ACL = "arXiv 2507.15788v1", "ACL Findings 2026 (2061)"
ORDERS = f"{V1}, ablation of orders"

MODEL = "qwen25-7b"
SETS = ("hi", "fan", "exp", "hi-fan", "hi-exp", "fan-exp", "hi-fan-exp")
OWN = {"hi": "hi_tom", "fan": "fantom_yes_no", "exp": "explore_tom"}
"""What each data set trains."""

FAR = ("fantom_list", "opentom")
"""Never trained on, by any set."""

NEEDS = "base model and REINFORCE++ at 7B on the paper's sets"


def rl(data: str) -> Who:
    """The model, trained as the paper did."""
    return Who(MODEL, data, "reinforce_plus_plus")


def _foreign(data: str) -> tuple[str, ...]:
    """The topics that a set does not train."""
    return (*(topic for part, topic in OWN.items() if part not in data.split("-")), *FAR)


def _in_distribution() -> tuple[PaperClaim, ...]:
    published = {"hi": 35, "fan": 65, "exp": 22}
    return tuple(
        PaperClaim(
            f"rlvr/gain-{data}",
            f"{V1}: +{points} points",
            f"training on {OWN[data]} alone raises the columns that it trains",
            f"{NEEDS}: {data}",
            rises(gain(rl(data), TRAINED)),
        )
        for data, points in published.items()
    )


def _transfer() -> tuple[PaperClaim, ...]:
    return (
        PaperClaim(
            "rlvr/opentom-flat",
            f"{V1}: 56.9 to 61.8 against 59.2",
            "OpenToM stays where it was, within 5 points, whatever was trained",
            f"{NEEDS}, all seven, asked opentom",
            every(same(gain(rl(data), "opentom")) for data in SETS),
        ),
        PaperClaim(
            "rlvr/list-flat",
            f"{V1}: 45.9 at best against 43",
            "FANToM's lists do not rise by 5 points, whatever was trained",
            f"{NEEDS}, all seven, asked fantom_list",
            every(not_(rises(gain(rl(data), "fantom_list"), by=MARGIN)) for data in SETS),
        ),
        PaperClaim(
            "rlvr/format-collapse",
            f"{V1}: +65 points in yes/no questions",
            "training on FANToM's yes/no questions helps these more than its lists",
            f"{NEEDS}: fan, asked fantom_yes_no and fantom_list",
            rises(lead_of_topics(rl("fan"), "fantom_yes_no", "fantom_list")),
        ),
        PaperClaim(
            "rlvr/all-do-not-carry",
            f"{V1}, abstract",
            "training on all three sets does not raise OpenToM",
            f"{NEEDS}: hi-fan-exp, asked opentom",
            not_(rises(gain(rl("hi-fan-exp"), "opentom"))),
        ),
        PaperClaim(
            "rlvr/inside-not-outside",
            f"{V1}, abstract",
            "each single set helps the columns that it trains more than all others",
            f"{NEEDS}: hi, fan, exp",
            every(rises(lead_of_topics(rl(data), TRAINED, OTHERS)) for data in OWN),
        ),
        PaperClaim(
            "rlvr/negative-transfer",
            f"{V1}, abstract: no change, or degradation",
            "some set lowers something that it does not train",
            f"{NEEDS}, all seven",
            _some_falls(),
        ),
        PaperClaim(
            "rlvr/narrow",
            f"{V1}, abstract",
            "no training on one set raises both of the other sets' benchmarks",
            f"{NEEDS}: hi, fan, exp",
            every(
                no_two(rises(gain(rl(data), topic)) for topic in _foreign(data)[:2]) for data in OWN
            ),
        ),
        PaperClaim(
            "rlvr/prolonged",
            f"{V1}, abstract: prolonged training",
            "late in training on HiToM and FANToM, trained columns rise and others do not",
            "REINFORCE++ at 7B on hi-fan, asked or probed while it trains",
            every(
                [
                    rises(late(rl("hi-fan"), TRAINED), least=0.0),
                    not_(rises(late(rl("hi-fan"), OTHERS))),
                ]
            ),
        ),
    )


def _some_falls() -> Test:
    pairs = [(data, topic) for data in SETS for topic in _foreign(data)]
    return some(falls(gain(rl(data), topic), of=len(pairs)) for data, topic in pairs)


def _orders() -> tuple[PaperClaim, ...]:
    needs = "REINFORCE++ at 7B on some orders, asked others"
    every_order = "orders-1-2-3"
    return (
        PaperClaim(
            "rlvr/base-by-order",
            f"{V1}: 65.8 at order 1, 34.2 at order 4",
            "before training, 7B is worse at order 4 of Hi-ToM than at order 1",
            "the base model at 7B, asked orders 1 and 4 of hi_tom",
            rises(lead_of_orders(Who(MODEL), "hi_tom", 1, 4)),
        ),
        PaperClaim(
            "rlvr/inverted",
            f"{V1}: order 4 above the trained order 1",
            "trained on orders 1 to 3, 7B is better at order 4 than at order 1",
            "REINFORCE++ at 7B on hi, asked orders 1 and 4",
            rises(lead_of_orders(rl("hi"), "hi_tom", 4, 1)),
        ),
        PaperClaim(
            "rlvr/order-123-to-4",
            f"{ORDERS}: 34.2 to 94.2",
            "trained on orders 1 to 3, 7B rises at order 4 by more than 20 points",
            needs,
            rises(gain(rl(every_order), "hi_tom", 4), by=0.2),
        ),
        PaperClaim(
            "rlvr/order-4-to-1",
            f"{ORDERS}: 65.8 to 35.0",
            "trained on order 4, 7B falls at order 1",
            needs,
            falls(gain(rl("order-4"), "hi_tom", 1)),
        ),
        PaperClaim(
            "rlvr/order-2-to-1",
            f"{ORDERS}: 65.8 to 41.7",
            "trained on order 2, 7B falls at order 1",
            needs,
            falls(gain(rl("order-2"), "hi_tom", 1)),
        ),
        PaperClaim(
            "rlvr/order-2-up-not-down",
            f"{ORDERS}: 76.7 at order 3, 41.7 at order 1",
            "trained on order 2, 7B is better at order 3 than at order 1",
            needs,
            rises(lead_of_orders(rl("order-2"), "hi_tom", 3, 1)),
        ),
    )


def _later() -> tuple[PaperClaim, ...]:
    return (
        PaperClaim(
            "rlvr/comes-and-goes",
            f"{ACL}, abstract: gains occur unpredictably across the run",
            "with some set, a gain on columns that are not trained comes and goes along the run",
            "REINFORCE++ at 7B on the paper's sets, asked or probed while it trains",
            some(comes_and_goes(rl(data), OTHERS, of=len(SETS)) for data in SETS),
        ),
        PaperClaim(
            "rlvr/gains-not-shared",
            f"{ACL}, abstract: gains do not generalize across benchmarks",
            "no set raises both OpenToM and FANToM's lists",
            f"{NEEDS}, all seven, asked opentom and fantom_list",
            every(no_two(rises(gain(rl(data), topic)) for topic in FAR) for data in SETS),
        ),
        PaperClaim(
            "rlvr/narrow-overfitting",
            f"{ACL}, abstract: narrow overfitting",
            "trained on HiToM, the answers of 7B to it do not follow beliefs",
            "the verdict on REINFORCE++ at 7B on hi and hi_tom",
            not_(follows_beliefs(rl("hi"), "hi_tom")),
        ),
    )


CLAIMS = (*_in_distribution(), *_transfer(), *_orders(), *_later())
