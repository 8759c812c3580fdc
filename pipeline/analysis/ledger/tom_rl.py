"""Claims of Study 1, arXiv 2504.01698: its first version, its third, and a later note on it."""

from __future__ import annotations

from pipeline.analysis.ledger.claim import PaperClaim
from pipeline.analysis.ledger.evidence import NAMES, Who
from pipeline.analysis.ledger.measures import (
    gain,
    lead,
    lead_of_prompts,
    less,
    longer,
    reflecting,
    rule_lead,
    stating_nothing,
)
from pipeline.analysis.ledger.of_study import GSM8K_PLAIN, prompted
from pipeline.analysis.ledger.predicates import (
    Test,
    as_published,
    asked_alike,
    below,
    every,
    falls,
    is_faithful,
    not_,
    not_behind,
    rises,
    rises_then_falls,
    same,
    some,
    steady,
)

V1, V3 = "arXiv 2504.01698v1", "arXiv 2504.01698v3"
NOTE = "a later note on arXiv 2504.01698, on reasoning collapse"
TABLE, ABSTRACT = f"{V1}, Table 1", f"{V1}, abstract"

DATA = "study-1"
WITH_YES_NO = Who("qwen25-7b", "yes-no", "grpo")
"""7B on Study 1's data drawn anew, half of ExploreToM's questions to be answered by yes or no."""

SMALL = ("qwen25-05b", "qwen25-15b", "qwen25-3b")
LARGE = ("qwen25-7b", "qwen25-7b-1m")
MODELS = (*SMALL, *LARGE)
ASKED_TWICE = ("qwen25-3b", "qwen25-7b")
"""Models that studies ask with two prompts, or train in another way beside the paper's."""

HALVED = 0.5
"""A response has collapsed where it lost this share of its length (docs/verdict.md)."""

STEADY = 0.2
"""A length is stable where it changes by less than this share; the paper gives no number."""


def rl(model: str) -> Who:
    """A model trained as the paper did."""
    return Who(model, DATA, "grpo")


def sft(model: str) -> Who:
    """A model that imitates the gold answers of the same data."""
    return Who(model, DATA, "sft")


def _every_size(topic: str) -> str:
    return f"base models and GRPO on Study 1's data, five sizes, asked {topic}"


def _rises(name: str, source: str, says: str, topic: str, order: int | None = None) -> PaperClaim:
    asked = topic if order is None else f"{topic}, order {order}"
    tests = every(rises(gain(rl(model), topic, order)) for model in MODELS)
    return PaperClaim(f"tom-rl/{name}", source, says, _every_size(asked), tests)


def _shorter(model: str, topic: str = "hi_tom") -> PaperClaim:
    return PaperClaim(
        f"tom-rl/collapse-{model.removeprefix('qwen25-')}",
        f"{V1}, on response lengths: models of 3B and below",
        f"after RL the responses of {NAMES[model]} are less than half as long",
        f"responses of {NAMES[model]} to {topic} before and after GRPO",
        falls(longer(rl(model), topic), by=HALVED),
    )


def _accuracy() -> tuple[PaperClaim, ...]:
    return (
        _rises("hi-tom", TABLE, "RL raises Hi-ToM accuracy at every size", "hi_tom"),
        _rises("order-4-set", TABLE, "RL raises the fourth order, at every size", "hi_tom_order4"),
        _rises("order-4", ABSTRACT, "RL reaches an order that it did not train", "hi_tom", 4),
        _rises("tomi", TABLE, "RL on Hi-ToM and ExploreToM raises ToMi", "tomi"),
        _rises("explore-tom", TABLE, "RL raises ExploreToM at every size", "explore_tom"),
        _rises("infilled", TABLE, "RL carries over to retold stories", "explore_tom_infilled"),
        PaperClaim(
            "tom-rl/gsm8k",
            f"{V1}, Appendix Table 3: 47.99 to 45.49 at 0.5B, 92.04 to 91.58 at 7B",
            "RL does not impair GSM8K: equal within 5 points at every size",
            _every_size("gsm8k"),
            every(same(gain(rl(model), "gsm8k")) for model in MODELS),
        ),
        PaperClaim(
            "tom-rl/gpt-4o",
            f"{V1}, abstract and Table 1: 84.50 against 69.00",
            "after RL, 7B-1M is ahead of GPT-4o on Hi-ToM",
            "GRPO at 7B-1M and GPT-4o, asked hi_tom",
            rises(lead(rl("qwen25-7b-1m"), Who("gpt-4o"), "hi_tom")),
        ),
        PaperClaim(
            "tom-rl/deepseek-v3",
            f"{V1}, abstract and Table 1: 84.50 against 70.17",
            "after RL, 7B-1M is ahead of DeepSeek-v3 on Hi-ToM",
            "GRPO at 7B-1M and DeepSeek-v3, asked hi_tom",
            rises(lead(rl("qwen25-7b-1m"), Who("deepseek-v3"), "hi_tom")),
        ),
    )


def _length() -> tuple[PaperClaim, ...]:
    return (
        *map(_shorter, SMALL),
        PaperClaim(
            "tom-rl/shrinks-by-88",
            f"{V1}, on response lengths: 88.4 % at 1.5B",
            "RL shortens the responses of 1.5B by 88.4 %",
            "responses of 1.5B to hi_tom before and after GRPO",
            as_published(longer(rl("qwen25-15b"), "hi_tom"), -0.884),
        ),
        PaperClaim(
            "tom-rl/stable-7b",
            f"{V1}, on response lengths",
            "7B keeps the mean length of its responses within a fifth",
            "responses of 7B to hi_tom before and after GRPO, asked with one prompt",
            _keeps_length(rl("qwen25-7b")),
        ),
        PaperClaim(
            "tom-rl/stable-7b-1m",
            f"{V1}, on response lengths",
            "7B-1M keeps the mean length of its responses within a fifth",
            "responses of 7B-1M to hi_tom before and after GRPO, asked with one prompt",
            _keeps_length(rl("qwen25-7b-1m")),
        ),
        PaperClaim(
            "tom-rl/rises-then-falls",
            f"{V1}, on response lengths: turns at step 300 of 800",
            "while 7B is trained its responses grow until step 300 and shrink from there",
            "the training curve of GRPO at 7B",
            rises_then_falls(rl("qwen25-7b"), "length_mean", turn=300 / 800),
        ),
        PaperClaim(
            "tom-rl/steady-7b-1m",
            f"{V1}, on response lengths",
            "while 7B-1M is trained the length of its responses stays within a fifth",
            "the training curve of GRPO at 7B-1M",
            steady(rl("qwen25-7b-1m"), "length_mean", STEADY),
        ),
        PaperClaim(
            "tom-rl/by-scale",
            f"{V3}, abstract",
            "RL shortens the responses of 3B more than those of 7B",
            "responses of 3B and 7B to hi_tom before and after GRPO",
            rises(less(*(longer(rl(model), "hi_tom") for model in ("qwen25-7b", "qwen25-3b")))),
        ),
    )


def _keeps_length(who: Who) -> Test:
    return asked_alike(same(longer(who, "hi_tom"), STEADY), who)


def _states_less(model: str) -> Test:
    before, after = (stating_nothing(who, "hi_tom") for who in (Who(model), rl(model)))
    return asked_alike(rises(less(after, before)), rl(model))


def _reasoning() -> tuple[PaperClaim, ...]:
    return (
        PaperClaim(
            "tom-rl/no-aha",
            f"{V1}: no aha moment",
            "after RL, fewer than 5 % of the responses of 7B models go back over their thoughts",
            "responses of both 7B models to hi_tom after GRPO",
            every(below(reflecting(rl(model), "hi_tom"), 0.05) for model in LARGE),
        ),
        PaperClaim(
            "tom-rl/belief-tracking",
            f"{V3}, abstract: interpretable belief tracking at 7B",
            "after RL, the reasoning of both 7B models is faithful",
            "verdicts on both 7B models and hi_tom",
            every(is_faithful(rl(model), "hi_tom") for model in LARGE),
        ),
        PaperClaim(
            "tom-rl/accurate-and-short",
            f"{V3}, abstract: high accuracy by drastically shortened responses at 3B and below",
            "at 3B and below, accuracy on Hi-ToM rises while responses lose half their length",
            "responses of 0.5B, 1.5B and 3B to hi_tom before and after GRPO",
            every(
                every(
                    [
                        rises(gain(rl(model), "hi_tom")),
                        falls(longer(rl(model), "hi_tom"), by=HALVED),
                    ]
                )
                for model in SMALL
            ),
        ),
        PaperClaim(
            "tom-rl/less-meaning",
            f"{V3}, abstract: less meaningful responses at 3B and below",
            "at 3B and below, more responses state no more than the answer after RL than before",
            "responses of 0.5B, 1.5B and 3B to hi_tom before and after GRPO, asked with one prompt",
            every(map(_states_less, SMALL)),
        ),
        PaperClaim(
            "tom-rl/transfer-despite-collapse",
            f"{V3}, abstract: generalization at 3B and below",
            "at 3B and below, ToMi rises though it was not trained",
            "base models and GRPO at 0.5B, 1.5B and 3B, asked tomi",
            every(rises(gain(rl(model), "tomi")) for model in SMALL),
        ),
        PaperClaim(
            "tom-rl/no-reasoning-needed",
            f"{V3}, abstract: benchmarks may be solvable without explicit reasoning",
            "a rule that learns nothing is better on Hi-ToM than 7B-1M after RL",
            "responses of 7B-1M to hi_tom after GRPO",
            rises(rule_lead("hi_tom", rl("qwen25-7b-1m")), least=0.0),
        ),
    )


def _prompts_and_data() -> tuple[PaperClaim, ...]:
    assumed, plain = prompted("tom-rl"), prompted("rlvr")
    boxed_or_not = (lead_of_prompts(Who(m), "gsm8k", GSM8K_PLAIN) for m in ASKED_TWICE)
    return (
        PaperClaim(
            "tom-rl/assumptions",
            f"{V1}, on prompts",
            "the two assumptions in the prompt do not help the base models 3B and 7B on Hi-ToM",
            "3B and 7B asked with the assumptions and with tags alone",
            every(
                not_(rises(lead(Who(m, "", assumed), Who(m, "", plain), "hi_tom")))
                for m in ASKED_TWICE
            ),
        ),
        PaperClaim(
            "tom-rl/prompt-moves-gsm8k",
            f"{V1}, on GSM8K",
            "another prompt moves GSM8K by more than 5 points at 3B or 7B",
            "3B and 7B asked gsm8k plainly and for steps and a box",
            some(not_(same(each)) for each in boxed_or_not),
        ),
        PaperClaim(
            "tom-rl/yes-no-impairs",
            f"{V1}, on training data",
            "with yes/no questions in its data, 7B learns Hi-ToM less well",
            "GRPO at 7B on Study 1's data drawn anew: places alone, and half of ExploreToM yes/no",
            rises(lead(Who("qwen25-7b", "places", "grpo"), WITH_YES_NO, "hi_tom")),
        ),
    )


def _imitation() -> tuple[PaperClaim, ...]:
    needs = "GRPO and supervised training on Study 1's data"
    topics = {"hi-tom": "hi_tom", "tomi": "tomi", "infilled": "explore_tom_infilled"}
    matches = (
        PaperClaim(
            f"tom-rl/sft-{name}",
            f"{V3}, abstract: SFT often matches or exceeds RL",
            f"supervised training is as good as RL on {topic}, within 5 points, at 3B and 7B",
            f"{needs}, 3B and 7B, asked {topic}",
            every(not_behind(lead(sft(m), rl(m), topic)) for m in ASKED_TWICE),
        )
        for name, topic in topics.items()
    )
    return (
        *matches,
        PaperClaim(
            "tom-rl/sft-generalises",
            f"{V3}, abstract: SFT is generalizable",
            "supervised training on Hi-ToM and ExploreToM raises ToMi at 3B and 7B",
            "base models and supervised training on Study 1's data, asked tomi",
            every(rises(gain(sft(m), "tomi")) for m in ASKED_TWICE),
        ),
    )


def _note() -> tuple[PaperClaim, ...]:
    return (
        PaperClaim(
            "collapse-note/no-tracking",
            NOTE,
            "at 3B and below, accuracy on Hi-ToM rises and reasoning is not faithful",
            "0.5B, 1.5B and 3B on hi_tom before and after GRPO, with verdicts",
            every(
                every(
                    [
                        rises(gain(rl(m), "hi_tom")),
                        not_(is_faithful(rl(m), "hi_tom")),
                    ]
                )
                for m in SMALL
            ),
        ),
        PaperClaim(
            "collapse-note/hidden-by-scores",
            f"{NOTE}: visible only in the traces",
            "after RL, 3B is within 5 points of 7B on Hi-ToM and lost more of its length",
            "responses of 3B and 7B to hi_tom before and after GRPO",
            every(
                [
                    same(lead(rl("qwen25-7b"), rl("qwen25-3b"), "hi_tom")),
                    rises(less(*(longer(rl(m), "hi_tom") for m in ("qwen25-7b", "qwen25-3b")))),
                ]
            ),
        ),
    )


CLAIMS = (
    *_accuracy(),
    *_length(),
    *_reasoning(),
    *_prompts_and_data(),
    *_imitation(),
    *_note(),
)
