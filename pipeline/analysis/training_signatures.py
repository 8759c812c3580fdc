"""What training did that it should not: each signature from what a study keeps of its cells.

A detector whose data is not there is not called: those of changes need single answers, mean@k
beside pass@k several samples of each question, format collapse a trained yes/no column and a list
column of one generator, checkpoint noise and the collapses of entropy and diversity a training that
is long enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipeline.analysis.grades import CORRECT, SAMPLES_RIGHT, TOKENS, Paired, contrast, side_by_side
from pipeline.analysis.results import Results, TrainedResult
from pipeline.evaluate.statistics import LEVEL, Estimate, ratio
from pipeline.judge.signatures import (
    Signature,
    checkpoint_noise,
    diversity_collapse,
    entropy_collapse,
    fall,
    flat_outside,
    format_collapse,
    narrowed,
    shrunk_responses,
)

_LAST = 5
"""Validations whose spread is looked at; so many more must lie before them."""

_STEPS = 20
"""Steps of training from which a tenth can be compared with another."""

_BINARY, _LISTS = "yes_no", "names"


def training_signatures(results: Results, result: TrainedResult) -> list[Signature]:
    """The signatures that were looked for in what training a cell changed."""
    return [
        *_falls(results, result),
        *_flat(results, result),
        *_formats(results, result),
        *_lengths(results, result),
        *_samples(results, result),
        *_checkpoints(results, result),
        *_diversity(result),
    ]


def _falls(results: Results, result: TrainedResult) -> Iterator[Signature]:
    """Forgetting: the side-check fell. Negative transfer: a column not trained fell, corrected."""
    for column in results.params.suite.columns:
        changed = results.changes.get((result.key, column, CORRECT))
        if changed is None:
            continue
        if column not in results.params.suite.tasks:
            yield fall("forgetting", changed.estimate, f"change of {column}")
        elif not results.is_trained(column, result.cell):
            found = fall("negative transfer", changed.estimate, f"change of {column}")
            yield replace(found, present=found.present and changed.p_value < 1 - LEVEL)


def _flat(results: Results, result: TrainedResult) -> Iterator[Signature]:
    columns = results.params.suite.tasks
    inside = [name for name in columns if results.is_trained(name, result.cell)]
    outside = [name for name in columns if name not in inside]
    trained, other = (_change(results, result, names) for names in (inside, outside))
    if trained is not None and other is not None:
        yield flat_outside(trained, other)


def _formats(results: Results, result: TrainedResult) -> Iterator[Signature]:
    """Compare the trained yes/no columns of each generator with its list columns."""
    kinds = {name: _forms(results, name) for name in results.params.suite.tasks}
    for generator in dict.fromkeys(generator for generator, _ in kinds.values()):
        own = {name: form for name, (of, form) in kinds.items() if of == generator}
        binary = [
            name
            for name, form in own.items()
            if form == _BINARY and results.is_trained(name, result.cell)
        ]
        lists = [name for name, form in own.items() if form == _LISTS]
        first, then = (_change(results, result, names) for names in (binary, lists))
        if first is not None and then is not None:
            yield format_collapse(first, then)


def _forms(results: Results, column: str) -> tuple[str, str]:
    """What wrote a column's stories, and the form of its answers where all have one."""
    portions = results.origins.columns[column].portions
    generators = {portion.generator for portion in portions}
    forms = {portion.asked.rpartition(", ")[2] for portion in portions}
    return ", ".join(sorted(generators)), forms.pop() if len(forms) == 1 else ""


def _lengths(results: Results, result: TrainedResult) -> Iterator[Signature]:
    before, after, stories = _beside_base(results, result, TOKENS)
    if sum(before):
        yield shrunk_responses(before, after, ratio(before, after, stories))


def _samples(results: Results, result: TrainedResult) -> Iterator[Signature]:
    before, after, stories = _beside_base(results, result, SAMPLES_RIGHT)
    if before:
        yield narrowed(before, after, stories)


def _checkpoints(results: Results, result: TrainedResult) -> Iterator[Signature]:
    curve = [r["validation_accuracy"] for r in result.curve if "validation_accuracy" in r]
    validation = results.cards[result.cell.combination].sets.get("validation")
    if len(curve) >= 2 * _LAST and validation is not None and validation.rows:
        found = checkpoint_noise(curve[-_LAST:], validation.rows)
        if found is not None:
            yield found


def _diversity(result: TrainedResult) -> Iterator[Signature]:
    detectors = {"entropy": entropy_collapse, "distinct_share": diversity_collapse}
    for name, detect in detectors.items():
        curve = [row[name] for row in result.curve if name in row]
        if len(curve) >= _STEPS:
            tenth = max(5, len(curve) // 10)
            yield detect(curve[:tenth], curve[-tenth:])


def _change(results: Results, result: TrainedResult, columns: Sequence[str]) -> Estimate | None:
    """The change on the questions of columns together; None without any."""
    if not columns:
        return None
    found = contrast(results.paired(results.base_of(result), result), columns)
    return found if found.count else None


def _beside_base(results: Results, result: TrainedResult, figure: str) -> Paired:
    both = results.paired(results.base_of(result), result)
    return side_by_side(both, results.params.suite.tasks, figure)
