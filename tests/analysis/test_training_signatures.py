"""What training did that it should not: each signature where it is, and not where it is not."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from pipeline.analysis.grades import SAMPLES_RIGHT, TOKENS
from pipeline.analysis.results import Results, TrainedResult
from pipeline.analysis.signatures import cell_signatures
from pipeline.analysis.verdicts import verdict_findings
from pipeline.data.card import SetCard
from pipeline.data.origin import Portion
from pipeline.formats.records import Figures
from tests.analysis.made import grades, place_questions, signed
from tests.analysis.test_findings import study

TRAINED, OTHER = "hi_tom_orders_0_2", "hi_tom_order_3"
QUESTIONS = 400


def answers(column: str, right: int, tokens: int = 0) -> pd.DataFrame:
    """So many right answers, each about a story of its own and so many tokens long."""
    lengths = [tokens + place % 3 for place in range(QUESTIONS)] if tokens else []
    shares = [float(place < right) for place in range(QUESTIONS)]
    return pd.concat([grades(column, shares), grades(column, lengths, TOKENS)])


def made(
    inside: int = 200, outside: int = 200, tokens: int = 0, curve: list[Figures] | None = None
) -> Results:
    """A study whose base model is right on half of 400 questions, in 60 tokens if counted."""
    results = study(order_3=0.3, lengths=[20.0] * 20)
    cells = {}
    for key, cell in results.cells.items():
        if isinstance(cell, TrainedResult):
            after = [answers(TRAINED, inside, tokens), answers(OTHER, outside, tokens)]
            cell = replace(cell, curve=cell.curve if curve is None else curve)
        else:
            after = [answers(column, 200, tokens and 60) for column in (TRAINED, OTHER)]
        cells[key] = replace(cell, grades=pd.concat(after))
    return replace(results, cells=cells)


def named(results: Results) -> dict[str, str]:
    return {s.name: f"{s.what} {s.effect()}" for s in cell_signatures(results) if s.present}


FLAT = "in-distribution up, out-of-distribution flat"


@pytest.mark.parametrize(
    ("inside", "outside", "present"),
    [(320, 200, True), (320, 300, False), (200, 200, False), (320, 100, False)],
)
def test_up_where_trained_and_flat_elsewhere(inside: int, outside: int, present: bool) -> None:
    found = named(made(inside, outside))
    assert (FLAT in found) == present
    if present:
        assert (
            "change where trained +30.0%, elsewhere +0.0%; difference +30.0 points" in found[FLAT]
        )


def with_forms(results: Results, *forms: str) -> Results:
    """Let the two columns ask for answers of these forms."""
    columns = dict(results.origins.columns)
    for name, form in zip((TRAINED, OTHER), forms, strict=True):
        portions = [
            Portion(**{**portion.model_dump(), "asked": f"belief, {form}"})
            for portion in columns[name].portions
        ]
        columns[name] = columns[name].model_copy(update={"portions": portions})
    training = place_questions(0, 1, 2).model_copy(update={"portions": columns[TRAINED].portions})
    origins = results.origins.model_copy(
        update={"columns": columns, "training": dict.fromkeys(results.params.dataset, training)}
    )
    return replace(results, origins=origins)


@pytest.mark.parametrize(
    ("outside", "forms", "present"),
    [
        (200, ("yes_no", "names"), True),
        (320, ("yes_no", "names"), False),
        (200, ("span", "names"), False),
    ],
)
def test_yes_and_no_rise_and_lists_do_not(
    outside: int, forms: tuple[str, str], present: bool
) -> None:
    found = named(with_forms(made(320, outside), *forms))
    assert ("format collapse" in found) == present


def test_responses_that_lost_most_of_their_tokens() -> None:
    assert "response collapse" not in named(made(tokens=50)) | named(made())
    found = named(made(tokens=12))["response collapse"]
    assert found.startswith("mean tokens of responses 61 -> 13; ratio 0.21 (0.2")


@pytest.mark.parametrize(
    ("before", "after", "present"),
    [
        ([0.25, 0.0], [1.0, 0.0], True),  # the same half is solved, now always
        ([0.25, 0.0], [0.75, 0.75], False),  # more is solved
        ([], [1.0, 0.0], False),  # the base model was asked once
    ],
)
def test_found_more_often_and_not_more_solved(
    before: list[float], after: list[float], present: bool
) -> None:
    def sampled(shares: list[float]) -> pd.DataFrame:
        samples = grades(TRAINED, shares * 200, SAMPLES_RIGHT)
        return pd.concat([answers(TRAINED, 200), samples])

    results = made()
    cells = {
        key: replace(
            cell,
            grades=sampled(after if isinstance(cell, TrainedResult) else before),
        )
        for key, cell in results.cells.items()
    }
    found = named(replace(results, cells=cells))
    assert ("mean@k up, pass@k flat" in found) == present
    if before == [0.25, 0.0] and present:
        assert (
            found["mean@k up, pass@k flat"]
            == "change of mean@k +37.5%, of pass@k +0.0%; difference +37.5 points (+33.8 to +41.2)"
        )


def validated(results: Results, rows: int) -> Results:
    card = results.cards["hi"]
    sets = {**card.sets, "validation": SetCard.model_construct(rows=rows)}
    return replace(results, cards={"hi": card.model_copy(update={"sets": sets})})


@pytest.mark.parametrize(
    ("last", "present"),
    [([0.5, 0.8, 0.4, 0.7, 0.5], True), ([0.5, 0.52, 0.49, 0.5, 0.51], False)],
)
def test_checkpoints_that_differ_by_more_than_chance(last: list[float], present: bool) -> None:
    curve: list[Figures] = [
        {"step": step, "validation_accuracy": found}
        for step, found in enumerate([0.3, 0.35, 0.4, 0.45, 0.5, *last])
    ]
    found = named(validated(made(curve=curve), 100))
    assert ("checkpoint noise" in found) == present
    assert "checkpoint noise" not in named(validated(made(curve=curve[3:]), 100))


@pytest.mark.parametrize(
    ("figure", "signature"),
    [("entropy", "entropy collapse"), ("distinct_share", "diversity collapse")],
)
def test_entropy_or_diversity_that_is_lost(figure: str, signature: str) -> None:
    curve: list[Figures] = [
        {"step": step, figure: 1.0 - 0.8 * step / 40, "validation_accuracy": 0.5}
        for step in range(41)
    ]
    assert signature in named(made(curve=curve))
    assert signature not in named(made(curve=[curve[0], *curve[-15:]]))


def test_signatures_are_told_as_sentences() -> None:
    results, signatures = signed(made(320, 200))
    said = list(verdict_findings(results.trained(), signatures))
    assert any(sentence.startswith(f"nano-hi: {FLAT}: change where trained") for sentence in said)
