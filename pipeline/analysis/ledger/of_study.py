"""Evidence from the results of a study."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.analysis.along import of_cell
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
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.samples import Recorded
from pipeline.analysis.seeds import groups
from pipeline.analysis.settings import asks_pairs
from pipeline.base.plugins import CONTROLS
from pipeline.config.params import Params, TrainedCell
from pipeline.evaluate.statistics import Estimate
from pipeline.judge.items import Item
from pipeline.judge.records import TaskVerdict
from pipeline.train.kept_rollouts import table_of

_TOPICS = (
    *("hi_tom", "hi_tom_order4", "tomi", "explore_tom", "explore_tom_infilled"),
    *("fantom_yes_no", "fantom_list", "gsm8k"),
)
_LIKE = {"explore_tom_sample": "explore_tom", "hi_tom_style_pairs": "pairs"}
GSM8K_PLAIN = "gsm8k, plainly asked"
"""A topic: GSM8K without the words that ask for steps and a box."""


def evidence_of(results: Results, recorded: Recorded | None = None) -> Evidence:
    """What a study says for claims.

    Args:
        results: Its results.
        recorded: What its cells answered, for what is read off responses.
    """
    columns = columns_by_topic(results.params)
    asked = {
        key: _asked(results, result, columns, recorded)
        for key, result in results.cells.items()
        if result.was_run
    }
    runs: dict[Who, Sequence[Run]] = {
        who: [Run(asked[key], asked[key])] for who, key in untrained(results.params) if key in asked
    }
    several = set()
    for group in groups(results):
        who = trained(results.params, group.cells[0].cell)
        if who in runs:
            several.add(who)
        runs[who] = [Run(asked[results.base_of(r).key], asked[r.key]) for r in group.cells]
    absent = {r.cell.model: why for r in results.cells.values() if (why := _why_absent(r))}
    return Evidence(runs, _rules(results, columns), frozenset(several), absent)


def _why_absent(result: CellResult) -> str | None:
    return result.missing.text() if result.missing is not None else result.absent


def topic_of(task: str) -> str | None:
    """The topic that a task is about; None of those that no claim speaks of."""
    if task.startswith("opentom_"):
        return "opentom"
    return task if task in _TOPICS else _LIKE.get(task)


def columns_by_topic(params: Params) -> dict[str, list[str]]:
    """The columns of each topic."""
    found: dict[str, list[str]] = {}
    for name, column in params.suite.columns.items():
        topic = topic_of(column.task)
        if topic == "gsm8k" and getattr(column, "prompt", None) == "compact":
            topic = GSM8K_PLAIN
        if topic is not None:
            found.setdefault(topic, []).append(name)
    return found


def untrained(params: Params) -> Iterator[tuple[Who, str]]:
    """Yield which models are not trained, with the key of what each answered.

    A base model that is asked with two prompts is there by itself, and once for each prompt.
    """
    crossed = params.crossed()
    for key, cell in params.cells.items():
        if cell.kind in ("base", "api") and not cell.evaluate.programs:
            yield Who(cell.model), key
            for asked in (key, crossed[key]) if key in crossed else ():
                yield Who(cell.model, "", prompted(params.cells[asked].evaluate.prompt)), asked


def prompted(prompt: str) -> str:
    """How a model is asked: with a prompt."""
    return f"with the prompt {prompt}"


def trained(params: Params, cell: TrainedCell) -> Who:
    """Which models the cells of a group are.

    What a reward or a control makes of an algorithm is another way than the algorithm.
    """
    tasks = {part.task for part in params.dataset[cell.combination].train}
    data = "study-1" if "tom_rl_train" in tasks else cell.combination
    imitates = getattr(cell.algorithm, "imitates", "answers")
    unusual = (
        f" of {imitates}" if imitates != "answers" else "",
        "" if cell.train.think else " without thinking",
        f" for {cell.train.reward.preset}" if cell.train.reward.preset in CONTROLS else "",
        *(f" after {c.algorithm.name} on {c.combination}" for c in params.chain(cell)[-2::-1]),
    )
    return Who(cell.model, data, cell.algorithm.name + "".join(unusual))


def _asked(
    results: Results,
    result: CellResult,
    columns: Mapping[str, Sequence[str]],
    recorded: Recorded | None,
) -> AskedModel:
    tasks = results.params.suite.tasks
    suite = [name for name, column in tasks.items() if not asks_pairs(column)]
    inside = [name for name in suite if results.is_trained(name, result.cell)]
    topics = {**columns, TRAINED: inside, OTHERS: [name for name in suite if name not in inside]}
    judged = {
        topic: judged_of(verdict)
        for task, verdict in result.verdicts.items()
        if (topic := topic_of(task)) is not None
    }
    return AskedModel(
        grades=result.grades,
        topics=topics,
        orders=dict(_orders(result)),
        judged=judged,
        said=_said(result, columns, recorded),
        curve=result.curve if isinstance(result, TrainedResult) else (),
        rollouts=result.rollouts if isinstance(result, TrainedResult) else table_of(),
        along=of_cell(results, result) if isinstance(result, TrainedResult) else {},
        prompt=result.cell.evaluate.prompt,
    )


def _orders(result: CellResult) -> Iterator[tuple[tuple[str, int], Estimate]]:
    """Yield accuracy by column and order, each question counting as a story of its own."""
    for column, scores in result.tasks.items():
        for order, share in scores.by_order.items():
            if re.fullmatch(r"\d+", order):
                ends = (share.accuracy, *share.interval)
                yield (column, int(order)), Estimate(*ends, share.count, share.count)


def _said(
    result: CellResult, columns: Mapping[str, Sequence[str]], recorded: Recorded | None
) -> dict[str, list[Item]]:
    """The responses to Hi-ToM; no claim reads others."""
    items = {} if recorded is None else recorded.items.get(result.key, {})
    found = [item for column in columns.get("hi_tom", ()) for item in items.get(column, ())]
    return {"hi_tom": found} if found else {}


def judged_of(found: TaskVerdict) -> TopicVerdict:
    """What claims read of a verdict; nothing else here looks into one."""
    reasoning = found.evidence.get("reasoning", {})
    beyond = found.listed[0].get("where_wrong") if found.listed else None
    true, silent, unsound = (
        _share(reasoning.get(name)) for name in ("true", "silent", "wrong_trace")
    )
    sound = None if unsound is None else _others(unsound)
    return TopicVerdict(found.answers, found.reasoning, _share(beyond), true, silent, sound)


def _others(found: Estimate) -> Estimate:
    return replace(found, value=1 - found.value, low=1 - found.high, high=1 - found.low)


def _share(found: dict[str, Any] | None) -> Estimate | None:
    """A share as verdicts record it."""
    if not found or "low" not in found:
        return None
    return Estimate(**{name: found[name] for name in ("value", "low", "high", "count", "clusters")})


def _rules(results: Results, columns: Mapping[str, Sequence[str]]) -> dict[str, Rule]:
    """The best rule on the columns of each topic together, and the blind guess."""
    found = {}
    for topic, names in columns.items():
        audited = [results.audit.columns[name] for name in names if name in results.audit.columns]
        rows = sum(each.rows for each in audited)
        if not rows:
            continue
        everywhere = set.intersection(*(set(each.baselines.rules) for each in audited))
        scores = [
            sum(each.baselines.rules[rule] * each.rows for each in audited) / rows
            for rule in everywhere
        ]
        guess = (max(e.baselines.chance, e.baselines.majority) * e.rows for e in audited)
        if scores:
            found[topic] = Rule(max(scores), sum(guess) / rows, rows)
    return found
