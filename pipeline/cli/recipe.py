"""What a study does, line by line; settings that its algorithms do not use are left out."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.config.algorithms import Algorithm, Sft
from pipeline.config.arms import Arm, Start
from pipeline.config.data import Part
from pipeline.config.expand import expand
from pipeline.config.models import ApiModel, RecordedModel
from pipeline.config.reward import PublishedReward, Settings, own_settings
from pipeline.config.study import Study
from pipeline.config.training import Train
from pipeline.formats.plural import counted

Line = tuple[str, str]


def recipe(study: Study) -> list[Line]:
    """(subject, what the study says of it), in the order of the pipeline."""
    found = (_cells, _data, _training, _optimisation, _evaluation)
    return [line for lines in found for line in lines(study) if line[1]]


def _cells(study: Study) -> Iterator[Line]:
    grid = study.grid
    yield "models", ", ".join(study.base.models[key].title for key in grid.models)
    yield "evaluated only", ", ".join(_evaluated_only(study, key) for key in grid.evaluate_only)
    yield "combinations", ", ".join(grid.combinations)
    yield "algorithms", "; ".join(_algorithm(study.algorithm(name)) for name in grid.algorithms)
    for name, arm in grid.arms.items():
        yield f"arm {name}", _arm(arm)
    differ = "of everything" if grid.repeated == "everything" else ""
    yield "seeds", f"{', '.join(map(str, grid.seeds))} {differ}".strip()
    yield "cells", ", ".join(expand(study).cells)


def _evaluated_only(study: Study, key: str) -> str:
    model = study.base.models[key]
    if isinstance(model, RecordedModel):
        return f"{model.title} (recorded answers)"
    return f"{model.title} (behind an API)" if isinstance(model, ApiModel) else model.title


_IMITATED = {
    "answers": "the gold answers",
    "traces": "gold traces",
    "rule": "the answers of the rule of the earliest exit",
}


def _algorithm(algorithm: Algorithm) -> str:
    if isinstance(algorithm, Sft):
        return f"{algorithm.name} (imitates {_IMITATED[algorithm.imitates]}, one per prompt)"
    own = [f"{n} {_value(getattr(algorithm, n))}" for n in algorithm.own_settings()]
    return f"{algorithm.name} ({', '.join(own)})" if own else algorithm.name


def _arm(arm: Arm) -> str:
    length = {"steps": arm.steps, "epochs": arm.epochs}
    own = {
        "prompts per step": arm.prompts_per_step,
        "rollouts": arm.rollouts,
        "temperature": arm.temperature,
        "learning rate": arm.learning_rate,
        **length,
        "validated every": arm.validate_every,
        "saved every": arm.save_every,
    }
    said = [f"{name} {value:g}" for name, value in own.items() if value is not None]
    if arm.learning_rate_schedule is not None:
        said.append(f"{arm.learning_rate_schedule} learning rate")
    if arm.checkpoint is not None:
        said.append(f"its {arm.checkpoint} checkpoint")
    paid = [] if arm.starts_from is None else [f"starts from {_start(arm.starts_from)}"]
    if arm.combinations is not None:
        paid.append(f"on {', '.join(arm.combinations)}")
    if arm.reward:
        paid.append(f"reward {arm.reward.preset}")
    if arm.think is not None:
        paid.append("thinks first" if arm.think else "an empty thought is pre-filled")
    if arm.lora:
        paid.append(f"LoRA of rank {arm.lora.rank}")
    return "; ".join([_algorithm(arm.algorithm), *paid, *said])


def _start(start: Start) -> str:
    return start.arm if start.combination is None else f"{start.arm} on {start.combination}"


def _value(value: object) -> str:
    return str(value).lower() if value is not None else "as the policy's"


def _data(study: Study) -> Iterator[Line]:
    data = study.dataset
    for key in study.grid.combinations:
        combination = data.combinations[key]
        yield f"data {key}, train", "; ".join(map(_part, combination.train))
        yield f"data {key}, validation", "; ".join(map(_part, combination.validation))
    yield "split", data.split
    yield "training prompt", data.prompt
    if data.probe:
        columns, rows = ", ".join(data.probe.columns), counted(data.probe.limit, "row")
        yield "probe", f"{columns}: at most {rows} each, before training and after every epoch"


def _part(part: Part) -> str:
    orders = f" orders {', '.join(map(str, part.orders))}" if part.orders is not None else ""
    fields = "".join(f", {name} {str(value).lower()}" for name, value in part.where.items())
    fold = f", {part.fold} fold" if part.fold else ""
    rule = {"right": "right", "wrong": "wrong", "half": "right on half", None: ""}[part.rule]
    ruled = f", rule {rule}" if rule else ""
    return f"{part.limit or 'all'} of {part.task}{orders}{fields}{fold}{ruled}"


def _training(study: Study) -> Iterator[Line]:
    train = study.train
    if _samples(study):
        own = "".join(f", {name} {value:g}" for name, value in own_settings(train.reward).items())
        yield "reward", f"{train.reward.preset}{own}, {_match(train.reward)}"
    yield "batch", _batch(study)
    length = counted(train.steps, "step") if train.steps else _epochs(train.epochs or 0)
    yield (
        "length",
        f"{length}, validation every {train.validate_every}, checkpoints every {train.save_every}",
    )
    best = train.checkpoint == "best"
    yield "evaluated checkpoint", "best on validation" if best else "last"
    yield "backend", f"{train.backend}, forward pass in {train.precision}"


def _match(reward: Settings) -> str:
    """Which answers a reward pays."""
    if isinstance(reward, PublishedReward):
        return f"pays the published rule: {reward.published}"
    return "pays strict matches"


def _samples(study: Study) -> bool:
    """Whether any algorithm of the study learns from completions of its own."""
    return any(arm.algorithm.samples for arm in study.arms.values())


def _batch(study: Study) -> str:
    train = study.train
    prompts = counted(train.prompts_per_step, "prompt")
    updates = f"{counted(train.updates_per_batch, 'update')} per step"
    if not _samples(study):
        return f"{prompts}, {updates}"
    responses = counted(train.prompts_per_step * train.rollouts, "response")
    return f"{prompts} x {counted(train.rollouts, 'rollout')} = {responses}, {updates}"


def _epochs(epochs: float) -> str:
    return "1 epoch" if epochs == 1 else f"{epochs:g} epochs"


def _optimisation(study: Study) -> Iterator[Line]:
    train = study.train
    rate, norm = train.learning_rate, train.gradient_clip
    yield "optimiser", f"AdamW, learning rate {rate:g} constant, gradient clip {norm:g}"
    yield "LoRA", f"rank {train.lora.rank}, alpha {train.lora.alpha}" if train.lora else ""
    yield "loss", f"{train.aggregation} over tokens and responses"
    if not _samples(study):
        return
    yield "clip range", _clip_range(train)
    yield "KL", _kl(train)
    entropy = train.entropy_coefficient
    yield "entropy bonus", f"coefficient {entropy:g}" if entropy else "none"
    yield (
        "sampling",
        f"temperature {train.temperature:g}, top_p {train.top_p:g}, prompt at most "
        f"{train.max_prompt_tokens} tokens, response at most {train.max_new_tokens}",
    )


def _clip_range(train: Train) -> str:
    high = train.clip_range_high
    text = f"{train.clip_range:g}"
    text += f" below, {high:g} above" if high is not None else ""
    return text + (f", dual clip {train.dual_clip:g}" if train.dual_clip else "")


def _kl(train: Train) -> str:
    if not train.kl_coefficient:
        return "no penalty"
    place = "off the reward of each token" if train.kl_in_reward else "as a loss term"
    return f"{train.kl_kind}, coefficient {train.kl_coefficient:g}, {place}"


def _evaluation(study: Study) -> Iterator[Line]:
    evaluate = study.evaluate
    greedy = evaluate.temperature == 0
    nucleus = f"temperature {evaluate.temperature:g}, top_p {evaluate.top_p:g}"
    yield (
        "evaluation",
        f"engine {evaluate.engine}, {'greedy' if greedy else nucleus}, response at most "
        f"{evaluate.max_new_tokens} tokens",
    )
    other = evaluate.base_prompt
    base = f"; of base and API models: {other}" if other and other != evaluate.prompt else ""
    yield "evaluation prompt", evaluate.prompt + base
    yield "tasks", ", ".join(study.suite.tasks)
    for check in study.suite.side_checks.values():
        rows = f"{check.limit} rows of " if check.limit else ""
        yield (
            "side-check",
            f"{rows}{check.task}, prompt {check.prompt}, response at most {check.max_new_tokens} "
            "tokens",
        )
