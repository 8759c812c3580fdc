"""The data audit: shortcuts, leaks and contradictions.

A benchmark score means little without the best shortcut rule beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from scipy import special  # type: ignore[import-untyped]

from pipeline.audit.balance import balance
from pipeline.audit.cheats import won_without_answer
from pipeline.audit.contamination import Overlap
from pipeline.audit.lexical import LEXICAL_FLAG, lexical_dependence
from pipeline.audit.records import (
    Baselines,
    Best,
    ColumnAudit,
    Flag,
    LabelConflict,
    Leak,
    Learned,
    Lexical,
    RuleGroup,
    ShortcutConflict,
)
from pipeline.base.errors import UserError
from pipeline.rules.learned import LearnedRule, cross_fitted, cross_fitted_list
from pipeline.rules.listed import MAJORITY, Baseline, asked_type, baselines, chance
from pipeline.rules.reading import Reading, read_all
from pipeline.rules.surface import UNDEFINED, gold_places
from pipeline.rules.wording import cross_fitted_wording, describe
from pipeline.tasks.example import Example, pairs_of

RULE_MARGIN, RULE_P = 0.2, 0.05
"""Margin and p-value by which a flagged rule beats the better of chance and majority.

Source: arXiv 2606.09092, its rule for flagging theory-of-mind data sets.
"""
_SHOWN = 10


def set_audit(
    examples: Sequence[Example], training: Mapping[str, LearnedRule] | None = None
) -> ColumnAudit:
    """Audit a set of examples, with rules learned from training sets, by combination."""
    if not examples:
        raise UserError("there are no examples to audit; loosen the conditions that select them")
    readings = read_all(examples)
    rules = baselines(readings)
    conflicts, lexical = label_conflicts(examples), _lexical(readings)
    duplicates = _duplicates(examples)
    return ColumnAudit(
        rows=len(examples),
        stories=len({example.story_id for example in examples}),
        orders=_counts(str(example.order) for example in examples),
        question_types=_counts(example.question_type for example in examples),
        unread=sum(reading.readable and reading.surface is None for reading in readings),
        duplicates=len(duplicates),
        duplicate_ids=duplicates[:_SHOWN],
        label_conflicts=len(conflicts),
        label_conflict_examples=conflicts[:_SHOWN],
        twin_conflicts=twin_conflicts(examples),
        balance=balance(readings),
        baselines=_baselines(readings, rules),
        learned=learned_baseline(readings),
        learned_from=learned_from(training or {}, examples),
        without_answer=won_without_answer(readings),
        lexical=lexical,
        shortcut_conflict=_shortcut_conflict(examples, rules),
        flags=[
            *_rule_flags(readings, rules),
            *_lexical_flags(lexical),
            *_label_flags(len(conflicts), len(duplicates)),
        ],
    )


def learned_baseline(readings: Sequence[Reading]) -> Learned | None:
    """Learned rules on a set; None where it is too small."""
    asked, gold = gold_places(readings)
    fitted, readable = cross_fitted(asked, gold), cross_fitted_list(asked, gold)
    wording = cross_fitted_wording(asked, describe(asked, readings), gold)
    if fitted is None or readable is None:
        return None
    rights = [
        [said == place != UNDEFINED for said, place in zip(each.answers, gold, strict=True)]
        for each in (fitted, readable, wording)
        if each is not None
    ]
    pairs = pairs_of([reading.example for reading in readings]).values()
    both = [sum(right[one] and right[other] for one, other in pairs) for right in rights]
    return Learned(
        accuracy=sum(rights[0]) / len(gold),
        readable=readable.name,
        readable_accuracy=sum(rights[1]) / len(gold),
        wording=sum(rights[2]) / len(gold) if wording is not None else None,
        pairs=max(both) / len(pairs) if pairs else None,
    )


def learned_from(
    training: Mapping[str, LearnedRule], examples: Sequence[Example]
) -> dict[str, float]:
    asked, gold = gold_places(read_all(examples))
    found = {}
    for name, rule in training.items():
        said = rule.answers(asked)
        found[name] = sum(a == b != UNDEFINED for a, b in zip(said, gold, strict=True)) / len(gold)
    return found


def leakage(overlaps: Mapping[str, Mapping[str, Overlap]]) -> dict[str, dict[str, Leak]]:
    return {
        combination: {column: overlap.record() for column, overlap in columns.items()}
        for combination, columns in overlaps.items()
    }


# --- what contradicts itself --------------------------------------------------------------------


def label_conflicts(examples: Sequence[Example]) -> list[LabelConflict]:
    answers: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for example in examples:
        answers[_item(example)][example.answer].append(example.id)
    return [
        LabelConflict(question=question, answers=dict(given))
        for (_, question), given in answers.items()
        if len(given) > 1
    ]


def twin_conflicts(examples: Sequence[Example]) -> dict[str, int]:
    """Hi-ToM tasks whose twin in the other prompt variant disagrees, by order."""
    return _counts(str(e.order) for e in examples if e.meta.get("label_conflict"))


def _duplicates(examples: Sequence[Example]) -> list[str]:
    seen: set[tuple[str, ...]] = set()
    repeated = []
    for example in examples:
        key = (*_item(example), example.answer)
        if key in seen:
            repeated.append(example.id)
        seen.add(key)
    return repeated


def _item(example: Example) -> tuple[str, str]:
    return " ".join(example.story.split()), " ".join(example.question.split())


# --- what scores without understanding ------------------------------------------------------------


def _best(rules: Mapping[str, Baseline]) -> Baseline:
    return max(rules.values(), key=lambda rule: sum(rule.right))


def _shortcut_conflict(
    examples: Sequence[Example], rules: Mapping[str, Baseline]
) -> ShortcutConflict:
    best = _best(rules)
    wrong = [e.id for e, right in zip(examples, best.right, strict=True) if not right]
    return ShortcutConflict(rule=best.rule, ids=wrong)


def _baselines(readings: Sequence[Reading], rules: Mapping[str, Baseline]) -> Baselines:
    orders = _groups(readings, [str(reading.example.order) for reading in readings])
    types = _groups(readings, [reading.example.question_type for reading in readings])
    return Baselines(
        rules={name: rule.accuracy for name, rule in rules.items()},
        coverage={name: rule.coverage for name, rule in rules.items()},
        with_guess=_with_guess(rules),
        best=_named(_best(rules)),
        chance=_chance(readings),
        majority=rules[MAJORITY].accuracy,
        by_order={order: _group(rules, places) for order, places in orders.items()},
        by_type={kind: _group(rules, places) for kind, places in types.items()},
    )


def _named(rule: Baseline) -> Best:
    return Best(rule=rule.rule, accuracy=rule.accuracy)


def _group(rules: Mapping[str, Baseline], places: Sequence[int]) -> RuleGroup:
    parts = {name: rule.among(places) for name, rule in rules.items()}
    return RuleGroup(
        rows=len(places),
        best=_named(_best(parts)),
        rules={name: part.accuracy for name, part in parts.items()},
        with_guess=_with_guess(parts),
    )


def _with_guess(rules: Mapping[str, Baseline]) -> dict[str, float]:
    """For rules that are sometimes undefined, the accuracy with a blind guess there."""
    return {name: rule.with_guess for name, rule in rules.items() if rule.coverage < 1}


def _groups(readings: Sequence[Reading], keys: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for place, (_, key) in enumerate(zip(readings, keys, strict=True)):
        groups[key].append(place)
    return dict(sorted(groups.items()))


def _chance(readings: Sequence[Reading]) -> float:
    return sum(map(chance, readings)) / len(readings)


def _rule_flags(readings: Sequence[Reading], rules: Mapping[str, Baseline]) -> list[Flag]:
    """The best rule of the set and of each kind of question where it is too good.

    Questions about the world count in the whole set only: there the rule is the answer.
    """
    places = {"all": list(range(len(readings))), **kinds_about_minds(readings)}
    flags = (_rule_flag(where, readings, rules, chosen) for where, chosen in places.items())
    return [flag for flag in flags if flag is not None]


def kinds_about_minds(readings: Sequence[Reading]) -> dict[str, list[int]]:
    """Indices of the readings by kind of question about beliefs; empty if all are of one kind."""
    kinds = _groups(readings, [_question_kind(reading) for reading in readings])
    minds = {k: p for k, p in kinds.items() if readings[p[0]].example.order not in (0, -1)}
    return minds if len(kinds) > 1 else {}


def _rule_flag(
    where: str, readings: Sequence[Reading], rules: Mapping[str, Baseline], places: Sequence[int]
) -> Flag | None:
    parts = {name: rule.among(places) for name, rule in rules.items()}
    best, blind = _best(parts), _chance([readings[place] for place in places])
    floor = max(blind, parts[MAJORITY].accuracy)
    # One-sided binomial test: the chance of at least so many right answers.
    p_value = float(special.bdtrc(sum(best.right) - 1, len(places), floor))
    if best.accuracy - floor < RULE_MARGIN or p_value >= RULE_P:
        return None
    return Flag(kind="rule", where=where, what=best.rule, value=best.accuracy, against=floor)


def _lexical(readings: Sequence[Reading]) -> dict[str, Lexical]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for reading in readings:
        groups[_question_kind(reading)].append(reading.example)
    return {kind: lexical_dependence(group) for kind, group in sorted(groups.items())}


def _question_kind(reading: Reading) -> str:
    """The type of a question, with all else that decides which answers are possible."""
    example = reading.example
    stated = asked_type(example)
    aspect = str(getattr(getattr(reading.surface, "question", None), "aspect", ""))
    order = "" if example.order is None else f"order {example.order}"
    form = "" if example.answer_kind == "span" else example.answer_kind
    kind = "" if stated == f"order_{example.order}" else stated
    return ", ".join(part for part in (example.benchmark, kind, order, form, aspect) if part)


def _lexical_flags(lexical: Mapping[str, Lexical]) -> list[Flag]:
    return [
        Flag(kind="lexical", where=kind, what=found.word, value=found.score, against=LEXICAL_FLAG)
        for kind, found in lexical.items()
        if found.score >= LEXICAL_FLAG
    ]


def _label_flags(conflicts: int, duplicates: int) -> list[Flag]:
    found = (
        Flag(
            kind="conflict",
            where="all",
            what="questions with several answers",
            value=conflicts,
            against=0,
        ),
        Flag(kind="duplicate", where="all", what="repeated rows", value=duplicates, against=0),
    )
    return [flag for flag in found if flag.value]


def _counts(keys: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(keys).items()))
