"""The audit on small sets whose figures are known, on odd input, and its statistics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pipeline.audit.figures import draw_all
from pipeline.audit.records import Audit
from pipeline.audit.sets import set_audit
from pipeline.base.errors import UserError
from pipeline.rules.listed import baselines, majority_answers
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example

FULL = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nAnn exited the hall.\n"
    "Bob moved the hat to the jar.\nBob exited the hall.\nCleo moved the hat to the tin.\n"
    "Cleo exited the hall."
)
BRIEF = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nAnn left.\n"
    "Bob moved it to the jar.\nBob left.\nCleo moved it to the tin.\nCleo left."
)


def example(story: str = FULL, answer: str = "jar", **fields: object) -> Example:
    """A Hi-ToM example; fields replace its own."""
    made = Example(
        benchmark="hi_tom",
        task="hi_tom",
        story=story,
        question="Where does Cleo think Bob thinks the hat is?",
        answer=answer,
        order=2,
        question_type="order_2",
    )
    return replace(made, id="", story_id="", **fields)  # type: ignore[arg-type]


def accuracy(*examples: Example) -> dict[str, float]:
    return {name: rule.accuracy for name, rule in baselines(read_all(examples)).items()}


@pytest.mark.parametrize("benchmark", ["hi_tom", "hi_tom_style", "hi_tom_style_log"])
@pytest.mark.parametrize("story", [FULL, BRIEF])
def test_rules_answer_in_both_tellings(story: str, benchmark: str) -> None:
    found = accuracy(example(story, benchmark=benchmark))
    assert found["earliest exit"] == found["innermost exit"] == found["first move"] == 1
    assert found["initial"] == found["last"] == found["outermost exit"] == 0


def test_a_story_that_does_not_parse_falls_back_to_the_text_and_is_counted() -> None:
    told = "The hat lay in the jar. Later somebody put it into the tin."
    audit = set_audit([example(), example(told, answer="tin")])
    assert audit.unread == 1
    rules = audit.baselines
    assert rules.coverage["earliest exit"] == 0.5
    assert rules.rules["earliest exit"] == 0.5  # undefined counts as wrong
    assert rules.rules["last mention"] == 0.5
    assert rules.coverage["last mention"] == 1


def test_twins_that_disagree_are_counted_by_order() -> None:
    rows = [example(meta={"label_conflict": conflict}) for conflict in (True, False)]
    assert set_audit(rows).twin_conflicts == {"2": 1}


def test_the_majority_does_not_read_the_answer_in_the_type() -> None:
    heard = [("yes", "True"), ("no", "False"), ("yes", "True"), ("no", "False"), ("yes", "True")]
    asked = [
        Example(
            "explore_tom", "t", "s", str(n), said, "yes_no", question_type=f"<knowledge>-{mark}"
        )
        for n, (said, mark) in enumerate(heard)
    ]
    assert majority_answers(asked) == ["yes"] * 5


@pytest.mark.parametrize(
    "odd",
    [
        {"story": ""},
        {"question": "?"},
        {"answer": ""},
        {"answer": "a|b<script>"},
        {"story": "\x00" * 50, "question": "Where does Cleo think Bob thinks the hat is?"},
        {"story": "Ann moved the hat to the jar."},  # by somebody who is nowhere
        {"order": None, "question_type": ""},
        {"choices": (), "benchmark": ""},
        {"answer_kind": "choice", "choices": ("(a) x",), "answer": "(b) y"},
    ],
)
def test_odd_examples_are_data_not_a_crash(odd: dict[str, object], tmp_path: Path) -> None:
    audit = Audit(columns={"odd": set_audit([example(**odd), example()])}, leakage={})
    audit.write(tmp_path / "audit.json")
    assert Audit.read(tmp_path / "audit.json", "audit") == audit
    draw_all(audit)


def test_nothing_to_audit_is_an_error() -> None:
    with pytest.raises(UserError, match="no examples to audit"):
        set_audit([])


STORIES = some.text("AnBobthe hatred_box.\n ", max_size=80)


@given(some.lists(some.tuples(STORIES, STORIES, STORIES), min_size=1, max_size=6))
def test_any_text_can_be_audited(rows: list[tuple[str, str, str]]) -> None:
    examples = [example(story, answer, question=question) for story, question, answer in rows]
    audit = set_audit(examples)
    assert all(0 <= share <= 1 for share in audit.baselines.rules.values())
    best = audit.baselines.best.accuracy
    assert best == max(audit.baselines.rules.values())
    assert len(audit.shortcut_conflict.ids) == round((1 - best) * len(rows))
