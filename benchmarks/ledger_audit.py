"""Evidence from the published data alone: what rules that learn nothing score on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from pipeline.analysis.ledger.evidence import Rule
from pipeline.audit.sets import kinds_about_minds
from pipeline.rules.listed import MAJORITY, Baseline, baselines, chance
from pipeline.rules.reading import Reading, read_all
from pipeline.tasks import registry

TOPICS = ("hi_tom", "tomi", "explore_tom", "fantom_yes_no", "opentom")
"""Tasks that claims on data speak of, by the name of the topic."""


def audited_rules(raw: Path) -> dict[str, Rule]:
    """What rules score on published sets; those that are not there are left out.

    Args:
        raw: The folder with a folder for each source.
    """
    return {topic: _rule(raw, topic) for topic in TOPICS if _is_there(raw, topic)}


def _is_there(raw: Path, topic: str) -> bool:
    return all((raw / source).is_dir() for source in registry.get(topic).sources)


def _rule(raw: Path, topic: str) -> Rule:
    """The best rule on a task, and on each kind of its questions."""
    readings = read_all(registry.get(topic).examples(raw))
    rules = baselines(readings)
    whole = _on(range(len(readings)), readings, rules)
    kinds = (_on(places, readings, rules) for places in kinds_about_minds(readings).values())
    return replace(whole, kinds=tuple(kinds))


def _on(places: Sequence[int], readings: Sequence[Reading], rules: Mapping[str, Baseline]) -> Rule:
    """The best rule on some questions, and the better one of chance and the majority."""
    parts = {name: rule.among(places) for name, rule in rules.items()}
    best = max(part.accuracy for part in parts.values())
    guess = fmean(chance(readings[place]) for place in places)
    return Rule(best, max(guess, parts[MAJORITY].accuracy), len(places))
