"""Claims of From Shortcuts to Reasoning, arXiv 2606.09092."""

from __future__ import annotations

from pipeline.analysis.ledger.claim import PaperClaim
from pipeline.analysis.ledger.evidence import OTHERS, TRAINED, Who
from pipeline.analysis.ledger.measures import lead, less, pairs_lead, rule_gain
from pipeline.analysis.ledger.predicates import every, not_, rises
from pipeline.evaluate.records import PAIR_ACCURACY, SENSITIVITY

PAPER = "arXiv 2606.09092"
FLAGGED = 0.2
"""By how much a rule must exceed the better one of chance and majority."""

MODELS = ("qwen25-3b", "qwen25-7b")
DATA = "balanced"
"""This project's data without a shortcut: its questions are chosen against learned rules."""


def thinking(model: str, data: str = DATA) -> Who:
    """RL with reasoning before the answer."""
    return Who(model, data, "grpo")


def imitating(model: str) -> Who:
    """Supervised training on the gold answers of the same data."""
    return Who(model, DATA, "sft")


def _audits() -> tuple[PaperClaim, ...]:
    flagged = {
        "hi-tom": ("hi_tom", "95 % by rules"),
        "tomi": ("tomi", "flagged"),
        "explore-tom": ("explore_tom", "flagged"),
        "fantom": ("fantom_yes_no", "flagged"),
    }
    clean = PaperClaim(
        "shortcuts/opentom-clean",
        f"{PAPER}, audit: OpenToM is clean",
        "no rule exceeds a blind guess on OpenToM, or on a kind of its questions, by 20 points",
        "an audit of opentom",
        not_(rises(rule_gain("opentom"), by=FLAGGED)),
    )
    return (
        *(
            PaperClaim(
                f"shortcuts/{name}",
                f"{PAPER}, audit: {said}",
                f"a rule that learns nothing exceeds a blind guess on {topic}, or on a kind of its "
                "questions, by 20 points",
                f"an audit of {topic}",
                rises(rule_gain(topic), by=FLAGGED),
            )
            for name, (topic, said) in flagged.items()
        ),
        clean,
    )


def _training() -> tuple[PaperClaim, ...]:
    needs = "GRPO and supervised training at 3B and 7B on data without a shortcut"
    blunt = "grpo without thinking"
    return (
        PaperClaim(
            "shortcuts/rl-over-sft",
            f"{PAPER}, abstract: +6 points",
            "RL with reasoning is ahead of supervised training on what both train",
            needs,
            every(rises(lead(thinking(m), imitating(m), TRAINED)) for m in MODELS),
        ),
        PaperClaim(
            "shortcuts/rl-over-sft-higher-order",
            f"{PAPER}, abstract: +10 points on higher orders",
            "RL with reasoning is ahead of supervised training at order 4 of Hi-ToM",
            f"{needs}, asked order 4 of hi_tom",
            every(rises(lead(thinking(m), imitating(m), "hi_tom", 4)) for m in MODELS),
        ),
        PaperClaim(
            "shortcuts/lead-grows-with-order",
            f"{PAPER}, abstract: +10 points on higher orders, +6 over all",
            "the lead of RL over supervised training is larger at order 4 than at order 1",
            f"{needs}, asked orders 1 and 4 of hi_tom",
            every(
                rises(less(*(lead(thinking(m), imitating(m), "hi_tom", o) for o in (4, 1))))
                for m in MODELS
            ),
        ),
        PaperClaim(
            "shortcuts/rl-generalises-better",
            f"{PAPER}: 71.0 against 63.5 across sets",
            "RL with reasoning is ahead of supervised training on what neither trains",
            needs,
            every(rises(lead(thinking(m), imitating(m), OTHERS)) for m in MODELS),
        ),
        PaperClaim(
            "shortcuts/counterfactuals",
            f"{PAPER}: drops of 7.9 against 17.1 points",
            "RL with reasoning answers both of a counterfactual pair more often than supervised "
            "training",
            f"{needs}, asked pairs",
            every(rises(pairs_lead(thinking(m), imitating(m), PAIR_ACCURACY)) for m in MODELS),
        ),
        PaperClaim(
            "shortcuts/sensitivity",
            f"{PAPER}, abstract: more robust to counterfactuals",
            "RL with reasoning notices a changed event more often than supervised training",
            f"{needs}, asked pairs",
            every(rises(pairs_lead(thinking(m), imitating(m), SENSITIVITY)) for m in MODELS),
        ),
        PaperClaim(
            "shortcuts/thinking",
            f"{PAPER}, abstract: +7 points",
            "RL with reasoning is ahead of RL without it on what both train",
            "GRPO at 3B and 7B with reasoning and without, on Study 1's data",
            every(
                rises(lead(thinking(m, "study-1"), Who(m, "study-1", blunt), TRAINED))
                for m in MODELS
            ),
        ),
        PaperClaim(
            "shortcuts/thinking-elsewhere",
            f"{PAPER}, abstract: +7 points on average",
            "RL with reasoning is ahead of RL without it on what neither trains",
            "GRPO at 3B and 7B with reasoning and without, on Study 1's data",
            every(
                rises(lead(thinking(m, "study-1"), Who(m, "study-1", blunt), OTHERS))
                for m in MODELS
            ),
        ),
    )


CLAIMS = (*_audits(), *_training())
