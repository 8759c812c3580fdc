"""Algorithms: what each needs, and its own settings.

What an algorithm computes from a batch is :func:`pipeline.train.algorithms.estimate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from pipeline.config.section import Fraction, Rate, Section, one_of

Imitated = Literal["answers", "traces", "rule"]
"""What supervised training imitates: gold answers, true reasoning before them, a rule's answers."""

Aggregation = Literal[
    "token-mean",
    "token-sum",
    "seq-mean-token-sum",
    "seq-mean-token-sum-norm",
    "seq-mean-token-mean",
]
"""How token losses become one number."""


@dataclass(frozen=True)
class CriticSettings:
    """How the critic of an algorithm learns.

    Attributes:
        learning_rate: AdamW; as the policy's if None.
        value_clip: Clip range of the critic's change.
    """

    learning_rate: float | None
    value_clip: float


class AlgorithmBase(Section):
    """What all algorithms have.

    Attributes:
        samples: Whether it learns from completions of the policy's own.
        reference: Whether it is held near a reference model.
        compares: Whether it compares the completions of a prompt, of which there must be two then.
        weighs: Whether its loss weighs completions by advantages; else it makes them likelier.
        estimator: Name of verl's advantage estimator, or of the one that the job adds to them; None
            where there is none.
    """

    name: str
    samples: ClassVar[bool] = True
    reference: ClassVar[bool] = True
    compares: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    estimator: ClassVar[str | None] = None

    @property
    def critic(self) -> CriticSettings | None:
        """How its critic learns; None where it has none."""
        return None

    @classmethod
    def own_settings(cls) -> tuple[str, ...]:
        """The names of its own settings."""
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
        value_learning_rate: AdamW of the critic; as the policy's if absent.
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
        """How its critic learns."""
        return CriticSettings(self.value_learning_rate, self.value_clip)


class Sft(AlgorithmBase):
    """Imitation of given responses, one for each prompt, without any rollout.

    Attributes:
        imitates: The gold ``answers`` alone; the ``traces`` of true beliefs that lead to them; or
            the answers of the ``rule`` of the earliest exit, right or wrong.
    """

    name: Literal["sft"] = "sft"
    imitates: Imitated = "answers"
    samples = False
    weighs = False
    reference = False


class Rft(AlgorithmBase):
    """Rejection sampling: of the policy's own completions of a prompt it imitates the right ones.

    Yuan et al. 2023, arXiv 2308.01825, where they are drawn from the model that training starts
    from; here from the policy as it is, which is called online RFT (Shao et al. 2024, arXiv
    2402.03300, section 5.2). Those that are alike count once.
    """

    name: Literal["rft"] = "rft"
    weighs = False
    reference = False
    estimator = "rft"


Algorithm = Annotated[Grpo | ReinforcePlusPlus | Ppo | Sft | Rft, Field(discriminator="name")]

ALGORITHMS: dict[str, type[AlgorithmBase]] = {
    kind.model_fields["name"].default: kind for kind in get_args(get_args(Algorithm)[0])
}
"""Algorithms by name."""

AlgorithmName = Annotated[str, one_of(ALGORITHMS)]


def with_defaults(name: AlgorithmName) -> Algorithm:
    """An algorithm with its default settings."""
    found: Algorithm = TypeAdapter(Algorithm).validate_python({"name": name})
    return found


def _named(content: object) -> object:
    """Give every entry of a mapping from names to settings its name."""
    if not isinstance(content, dict):
        return content
    return {
        name: {"name": name, **(own or {})} if isinstance(own, dict | None) else own
        for name, own in content.items()
    }


AlgorithmSettings = Annotated[dict[AlgorithmName, Algorithm], BeforeValidator(_named)]
"""Settings of algorithms by name, as a study writes them."""
