"""The answer to a study's question: what each training has models do, in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pipeline.analysis.looks import training_name
from pipeline.analysis.results import Results, Row
from pipeline.analysis.seeds import repeated
from pipeline.analysis.verdicts import CellVerdict
from pipeline.evaluate.statistics import LEVEL
from pipeline.formats.plural import counted
from pipeline.rules.words import what_it_does

MOST_TOLD = 4
"""Trained cells that get a sentence each; of more, their verdicts are counted."""

ONE_RUN = "This is one run: another processor or seed may end otherwise."
_NONE = "no evidence of beliefs"


def answer(results: Results, verdicts: Sequence[CellVerdict]) -> list[str]:
    """What training has models do: a sentence for each cell and task, or one that counts them.

    What is told of single runs says so. Nothing where no trained cell has a verdict.
    """
    trained = {each.key: training_name(each.cell) for each in results.trained()}
    of_trained = [each for each in verdicts if each.cell in trained]
    if not of_trained:
        return []
    if len(of_trained) > MOST_TOLD:
        return list(counts([(e.answers, e.by) for e in of_trained], "trained models"))
    several = len({each.task for each in of_trained}) > 1
    rows = results.rows()
    told = [_sentence(each, trained[each.cell], rows, several) for each in of_trained]
    return told if repeated(results) else [*told, ONE_RUN]


def _sentence(found: CellVerdict, training: str, rows: Sequence[Row], several: bool) -> str:
    about = f", asked {found.task}" if several else ""
    gain = _gain([row for row in rows if row.cell == found.cell])
    against = f", although {gain}" if gain and found.answers != "beliefs" else ""
    said = does(found.answers, found.by, found.explained)
    return f"Trained on {training}{about}, {found.model} {said}{against}."


def does(answers: str, by: str | None, explained: float) -> str:
    """What a model does, as the rest of a sentence, by what its verdict says."""
    if answers == "beliefs":
        return "answers by what the agents of the story believe"
    share = f"{explained:.0%} of its answers"
    if answers == "mixture":
        return f"mixes {by} ({share}); {_NONE}"
    if by:
        does = what_it_does(by) or f"answers by the rule “{by}”"
        return f"{does} ({share}); {_NONE}"
    if answers == "unexplained":
        return f"gives answers that no rule or mind that was tried explains; {_NONE}"
    if answers == "by heart":
        return f"knows some story structures by heart and guesses elsewhere; {_NONE}"
    if answers == "unread":
        return "gives responses in which too few answers are read for a verdict"
    return f"gives answers that fit no verdict: the best rule or mind predicts {share}; {_NONE}"


def _gain(rows: Sequence[Row]) -> str:
    """The largest rise that holds among all changes of the table; empty if none does."""
    held = [
        row
        for row in rows
        if not row.side_check
        and row.change is not None
        and row.change > 0
        and row.table_p_value is not None
        and row.table_p_value < 1 - LEVEL
    ]
    if not held:
        return ""
    best = max(held, key=lambda row: row.change or 0)
    return f"accuracy on {best.task} rises by {100 * (best.change or 0):.1f} points"


def counts(found: Sequence[tuple[str, str | None]], whom: str) -> Iterator[str]:
    """Yield how many verdicts say what, the most common first.

    Args:
        found: What the answers follow, and the rule or mind that is named.
        whom: Whose verdicts they are.
    """
    kinds = Counter(answers for answers, _ in found)
    beliefs = kinds.pop("beliefs", 0)
    yield (
        f"{beliefs or 'None'} of {counted(len(found), 'verdict')} on {whom} "
        f"{'finds' if beliefs < 2 else 'find'} beliefs."
    )
    others = ", ".join(
        f"{number} {kind}{_most_named(found, kind)}" for kind, number in kinds.most_common()
    )
    if others:
        yield f"The others: {others}."


def _most_named(found: Sequence[tuple[str, str | None]], kind: str) -> str:
    """Which mind or rule is named most often among the verdicts of a kind."""
    named = Counter(by for answers, by in found if answers == kind and by)
    if not named:
        return ""
    (name, number), *_ = named.most_common(1)
    return f" (most often {name}: {number})"
