"""Settings of algorithms; :mod:`pipeline.train.algorithms` computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from pipeline.config.section import Fraction, Rate, Section, one_of

Imitated = Literal["answers", "traces", "edited", "sight", "rule"]
"""Targets of supervised training: gold answers, reasoning before them (true, or of a lesser mind),
or the answers of a rule."""

Aggregation = Literal[
    "token-mean",
    "token-sum",
    "seq-mean-token-sum",
    "seq-mean-token-sum-norm",
    "seq-mean-token-mean",
]
"""Reduction of token losses to one number."""


@dataclass(frozen=True)
class CriticSettings:
    """Settings of the critic; ``learning_rate`` (AdamW) is the policy's if None."""

    learning_rate: float | None
    value_clip: float


class AlgorithmBase(Section):
    """Properties of an algorithm.

    Attributes:
        samples: Learns from the policy's own completions.
        reference: Has a KL penalty against a reference model.
        compares: Compares the completions of a prompt, so it needs at least two.
        weighs: Weighs completions by advantages; else it maximises their likelihood.
        estimator: Name of verl's advantage estimator, or of the one that the job registers.
    """

    name: str
    samples: ClassVar[bool] = True
    reference: ClassVar[bool] = True
    compares: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    estimator: ClassVar[str | None] = None

    @property
    def critic(self) -> CriticSettings | None:
        return None

    @classmethod
    def own_settings(cls) -> tuple[str, ...]:
        return tuple(name for name in cls.model_fields if name != "name")

    @model_validator(mode="before")
    @classmethod
    def _only_its_own(cls, content: object) -> object:
        named = content if isinstance(content, dict) else {}
        if foreign := [name for name in named if name not in cls.model_fields]:
            raise ValueError(
                f"{named.get('name')} has no setting {', '.join(map(repr, foreign))}; its own "
                f"settings: {', '.join(cls.own_settings()) or 'none'}"
            )
        return content


class Grpo(AlgorithmBase):
    """GRPO (Shao et al. 2024, arXiv 2402.03300).

    Attributes:
        normalise_by_std: Divide by the standard deviation of the group; without it Dr. GRPO (Liu et
            al. 2025, arXiv 2503.20783).
    """

    name: Literal["grpo"] = "grpo"
    normalise_by_std: bool = True
    compares = True
    estimator = "grpo"


class ReinforcePlusPlus(AlgorithmBase):
    """REINFORCE++ (Hu 2025, arXiv 2501.03262)."""

    name: Literal["reinforce_plus_plus"] = "reinforce_plus_plus"
    estimator = "reinforce_plus_plus"


class Ppo(AlgorithmBase):
    """PPO (Schulman et al. 2017, arXiv 1707.06347).

    Attributes:
        value_learning_rate: AdamW of the critic; the policy's if absent.
        value_clip: Clip range of the critic's change.
        discount: Gamma of the advantages.
        gae_decay: Lambda of the advantages.
    """

    name: Literal["ppo"] = "ppo"
    value_learning_rate: Rate | None = None
    value_clip: float = Field(default=0.5, gt=0)
    discount: Fraction = 1.0
    gae_decay: Fraction = 1.0
    estimator = "gae"

    @property
    def critic(self) -> CriticSettings:
        return CriticSettings(self.value_learning_rate, self.value_clip)


class Sft(AlgorithmBase):
    """Imitation of given responses, one for each prompt, without any rollout.

    Attributes:
        imitates: Gold ``answers``; ``traces`` of true beliefs before them; traces of which half of
            the tracks are ``edited``, to be gone on with; tracks and answers of a mind that goes by
            ``sight`` and hears no claim; or the answers of the earliest-exit ``rule``. The last two
            are right or wrong.
    """

    name: Literal["sft"] = "sft"
    imitates: Imitated = "answers"
    samples = False
    weighs = False
    reference = False


class Rft(AlgorithmBase):
    """Rejection-sampling fine-tuning on the right ones of the policy's own completions.

    Yuan et al. 2023, arXiv 2308.01825; here online RFT, drawn from the current policy (Shao et al.
    2024, arXiv 2402.03300, section 5.2). Duplicates count once.
    """

    name: Literal["rft"] = "rft"
    weighs = False
    reference = False
    estimator = "rft"


Algorithm = Annotated[Grpo | ReinforcePlusPlus | Ppo | Sft | Rft, Field(discriminator="name")]

ALGORITHMS: dict[str, type[AlgorithmBase]] = {
    kind.model_fields["name"].default: kind for kind in get_args(get_args(Algorithm)[0])
}
"""By name."""

AlgorithmName = Annotated[str, one_of(ALGORITHMS)]


def with_defaults(name: AlgorithmName) -> Algorithm:
    found: Algorithm = TypeAdapter(Algorithm).validate_python({"name": name})
    return found


def _named(content: object) -> object:
    """Copy the keys of a mapping into its entries as ``name``."""
    if not isinstance(content, dict):
        return content
    return {
        name: {"name": name, **(own or {})} if isinstance(own, dict | None) else own
        for name, own in content.items()
    }


AlgorithmSettings = Annotated[dict[AlgorithmName, Algorithm], BeforeValidator(_named)]
"""By name, as a study writes them."""
