"""Building datasets from parts of registered tasks, checked for leaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

from pipeline.base.errors import UserError
from pipeline.config.data import Part
from pipeline.config.params import DatasetEntry
from pipeline.data.contrast import contrasting, rule_is_right
from pipeline.data.folds import Folds
from pipeline.data.hard import hard_ones
from pipeline.data.other_names import under_other_names
from pipeline.data.sources import SOURCES
from pipeline.data.together import draw, whole_pairs
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.registry import Task

Stamp = tuple[tuple[str, int, int], ...]


def select(raw: Path, part: Part, seed: int) -> list[Example]:
    """The examples of a part, in upstream's order.

    Counterfactual pairs stay whole: where the conditions fit one member only, both are left out.

    Raises:
        UserError: For too few examples, or a ``limit`` that splits a pair.
    """
    examples = _selected(raw, part, seed)
    return under_other_names(examples) if part.renamed else examples


def _selected(raw: Path, part: Part, seed: int) -> list[Example]:
    if part.hard:
        conditions = part.model_dump(include={"task", "orders", "where", "fold"})
        pool = Part.model_validate(conditions)
        examples = list(_hard_ones(raw, pool.model_dump_json(), seed, _stamp(raw)))
    else:
        examples = _fitting(raw, part)
    random = Random(f"{seed}:select:{part.task}")
    if part.rule is not None:
        examples = contrasting(examples, part.rule, part.limit, random, part.hard)
    if not examples or (part.limit is not None and len(examples) < part.limit):
        asked = part.model_dump(exclude_defaults=True)
        raise UserError(
            f"task {part.task}: {part.limit or 'some'} examples asked for, {len(examples)} fit "
            f"{asked}; lower the limit or loosen the conditions"
        )
    if part.limit is None or part.limit >= len(examples):
        return examples
    if part.limit % 2 and "pair" in examples[0].meta:
        raise UserError(
            f"task {part.task}: limit: found {part.limit}; allowed: an even number, because its "
            "rows come in pairs"
        )
    return draw(examples, part.limit, random)


def _fitting(raw: Path, part: Part) -> list[Example]:
    """The examples that fit a part's conditions, pairs whole, before filtering by rules."""
    task = registry.get(part.task)
    everything = _examples_of(raw, task)
    if not everything:
        source = task.sources[0]
        raise UserError(
            f"task {part.task}: {raw / source} holds no rows of it; give that source some in the "
            f"study, or make it again with: dvc repro --single-item --force acquire@{source}"
        )
    examples = [example for example in everything if _wanted(example, part)]
    if part.fold is not None:
        folds = Folds.of(_examples_of(raw, registry.get(task.folds_like or task.name)))
        examples = [e for e in examples if folds.fold_of(e.story_id) == part.fold]
    return whole_pairs(examples)


@lru_cache(maxsize=4)  # the columns where a rule is right and where it is wrong share a pool
def _hard_ones(raw: Path, pool: str, seed: int, stamp: Stamp) -> tuple[Example, ...]:
    """The hard examples of a part (as JSON)."""
    part = Part.model_validate_json(pool)
    examples = _fitting(raw, part)
    kinds = [(example.order, rule_is_right(example)) for example in examples]
    return tuple(hard_ones(examples, kinds, Random(f"{seed}:hard:{part.task}")))


def _examples_of(raw: Path, task: Task) -> tuple[Example, ...]:
    """A task's examples; several parts of a study take rows of the same one."""
    return _loaded(raw, task.name, _stamp(raw))


def _stamp(raw: Path) -> Stamp:
    files = sorted(raw.glob("*/*"))
    return tuple((str(f), (stat := f.stat()).st_mtime_ns, stat.st_size) for f in files)


@lru_cache(maxsize=4)
def _loaded(raw: Path, name: str, stamp: Stamp) -> tuple[Example, ...]:
    return tuple(registry.get(name).examples(raw))


def _wanted(example: Example, part: Part) -> bool:
    return (part.orders is None or example.order in part.orders) and all(
        _field(example, name) == value for name, value in part.where.items()
    )


def _field(example: Example, name: str) -> object:
    return example.meta[name] if name in example.meta else getattr(example, name, None)


def select_parts(raw: Path, parts: Iterable[Part], seed: int) -> list[Example]:
    return [example for part in parts for example in select(raw, part, seed)]


def select_written(
    raw: Path, parts: Sequence[Part], written: Sequence[str]
) -> list[Example] | None:
    """The examples of a set that was written before, without drawing them again.

    None where the ids ``written`` do not match the parts.
    """
    fitting = {example.id: example for part in parts for example in _fitting(raw, part)}
    asked = sum(len(_fitting(raw, part)) if part.limit is None else part.limit for part in parts)
    exact = all(part.limit is not None or not (part.rule or part.hard) for part in parts)
    if (exact and len(written) != asked) or any(name not in fitting for name in written):
        return None
    return [fitting[name] for name in written]


def check_stories_apart(entry: DatasetEntry, sets: dict[str, list[Example]]) -> dict[str, int]:
    """Count stories in more than one set by pair of sets, such as ``train/validation``.

    Raises:
        UserError: If a story is shared and the study does not say ``published``.
    """
    stories = {name: {e.story_id for e in examples} for name, examples in sets.items()}
    names = list(stories)
    shared = {
        f"{one}/{other}": len(stories[one] & stories[other])
        for index, one in enumerate(names)
        for other in names[index + 1 :]
    }
    leaks = {pair: count for pair, count in shared.items() if count}
    if leaks and entry.split == "by-story":
        found = ", ".join(f"{count} in {pair}" for pair, count in leaks.items())
        raise UserError(
            f"stories stand on both sides of a split: {found}. The study says split: by-story; "
            "choose parts that share no story, or say split: published to keep the papers' splits"
        )
    return shared


def check_licences(entry: DatasetEntry) -> dict[str, str]:
    """The licence of every upstream source trained on.

    Raises:
        UserError: If a source is non-commercial or evaluation-only and the study gives no
            ``licence_note`` that says why it may be used here.
    """
    licences = {}
    for part in entry.train:
        for name in registry.get(part.task).sources:
            if name not in SOURCES:
                continue
            source = SOURCES[name]
            terms = " / ".join(source.licences)
            limits = [
                text
                for flag, text in (
                    (source.non_commercial, "non-commercial"),
                    (source.evaluation_only, "evaluation only"),
                )
                if flag
            ]
            if limits and entry.licence_note is None:
                raise UserError(
                    f"training task {part.task} uses source {name} ({terms}), which is "
                    f"{' and '.join(limits)}. Say why it may be trained on in dataset.licence_note"
                )
            licences[name] = ", ".join([terms, *limits])
    return licences
