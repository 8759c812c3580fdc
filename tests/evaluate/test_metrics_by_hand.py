"""What is counted of answers, on a few questions told by hand, and what is written of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.measured import both_right, measured, moved
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.options import Scored
from pipeline.evaluate.runner import (
    Asked,
    Asking,
    Graded,
    evaluate,
    prompts_of,
    write_grades,
    write_responses,
)
from pipeline.evaluate.statistics import share
from pipeline.tasks.example import Example, pairs_of
from pipeline.tasks.grading import Grade


def question(number: int, story: str = "s", answer: str = "box", **fields: object) -> Example:
    made = Example("hi_tom", "hi_tom", story, f"{number}?", answer, id=f"{number + 1:x}" * 16)
    return replace(made, **fields)  # type: ignore[arg-type]


def answered(said: str, tokens: int = 1, reason: str = "stop", sample: int = 0) -> Graded:
    """An answer that says how it is graded: right, strictly, in form, too late."""
    grade = Grade("r" in said, "s" in said, "f" in said, said, "l" in said)
    first = Graded(Response(f"so {said}", tokens, reason), grade, f"digest {said}")
    return replace(first, sample=sample) if sample else first


def test_all_figures_are_of_the_first_answers_and_samples_of_all() -> None:
    examples = [
        question(0, "one", order=1, question_type="a"),
        question(1, "one", order=1, question_type="b"),
        question(2, "two", order=10, question_type="a"),
        question(3, "two", order=None, question_type="a"),
        question(4, "three", order=2, question_type="b"),
    ]
    graded = [
        *(answered("rsf", 10), answered("rsf", 99, "length", 1)),
        *(answered("rf", 20), answered("", 99, "length", 1)),
        *(answered("", 60, "length"), answered("rs", 99, "length", 1)),
        *(answered("lf", 0, "prompt_too_long"), answered("f", 99, "length", 1)),
        *(answered("", 20, "length"), answered("rf", 99, "length", 1)),
    ]
    found = task_metrics(examples, graded, samples=2)
    stories = ["one", "one", "two", "two", "three"]
    first = share([True, True, False, False, False], stories)
    assert (found.count, found.correct, found.accuracy, found.strict_accuracy) == (5, 2, 0.4, 0.2)
    assert found.interval == (first.low, first.high) and found.format_rate == pytest.approx(0.6)
    assert (found.length_mean, found.length_median) == (22, 20)
    assert (found.unfinished, found.prompts_too_long, found.too_late) == (2, 1, 1)
    assert (found.unread, found.no_answer) == (2, 0.4)
    counts = {order: (each.count, each.correct) for order, each in found.by_order.items()}
    assert list(counts.items()) == [("1", (2, 2)), ("10", (1, 0)), ("2", (1, 0)), ("None", (1, 0))]
    kinds = {
        kind: (each.count, each.strict_accuracy) for kind, each in found.by_question_type.items()
    }
    assert kinds == {"a": (3, 1 / 3), "b": (2, 0)}
    assert found.pairs is None and found.samples is not None
    every = share([g.grade.correct for g in graded], [s for s in stories for _ in range(2)])
    mean, most = found.samples.mean, found.samples.majority
    assert (mean.count, mean.correct, mean.strict_accuracy) == (10, 5, 0.3)
    assert mean.interval == (every.low, every.high)
    # Of two answers that differ the first stands; where one says nothing, the other.
    assert (most.count, most.correct, most.strict_accuracy) == (5, 4, 0.4)
    assert found.samples.count == 2 and found.samples.pass_at == {"2": 0.8}
    assert task_metrics(examples, graded[::2]).samples is None
    assert task_metrics(examples[:1], graded[:1]).accuracy == 1


PAIRS = [
    question(0, "b", "box", meta={"pair": "x"}),
    question(1, "a", "bin", meta={"pair": "x"}),
    question(2, "b", "box", meta={"pair": "y"}),
    question(3, "c", "box", meta={"pair": "y"}),
    question(4, "d", "box", meta={"pair": "alone"}),
    question(5, "d", "box"),
    *(question(6 + n, "e", "box", meta={"pair": "three"}) for n in range(3)),
    question(9, "f", "box", meta={"pair": "z"}),
    question(10, "g", "jar", meta={"pair": "z"}),
]


def test_pairs_have_two_members() -> None:
    assert pairs_of(PAIRS) == {"x": (0, 1), "y": (2, 3), "z": (9, 10)}
    right = both_right(PAIRS, [place in (0, 1, 2, 10) for place in range(11)])
    assert right.values == {"x": True, "y": False, "z": False}
    assert right.stories == {
        name: min(PAIRS[one].story_id, PAIRS[other].story_id)
        for name, (one, other) in pairs_of(PAIRS).items()
    }
    said: list[str | None] = [None] * 11
    for one, other, changes in (
        ("box", "bin", True),
        ("Box.", "box", False),
        ("box", "", False),
        (None, "box", False),
        (None, None, False),
    ):
        said[9], said[10] = one, other
        assert moved(PAIRS, said).values == {"x": False, "z": changes}


def test_what_there_is_of_a_column() -> None:
    def grades(*said: str) -> list[Grade]:
        return [answered(each).grade for each in said]

    plain = measured(PAIRS[5:6], [grades("r")])
    assert plain == {} == measured([], [])
    single = measured(PAIRS[:4], [grades("r"), grades("rx"), grades("r"), grades("f")])
    assert {name: dict(each.values) for name, each in single.items()} == {
        "pair accuracy": {"x": True, "y": False},
        "intervention sensitivity": {"x": True},
    }
    two = PAIRS[4:6]
    several = measured(two, [grades("r", "", "f", "f"), grades("", "f", "rf", "f")])
    ids = [example.id for example in two]
    assert {name: dict(each.values) for name, each in several.items()} == {
        "mean@4": dict(zip(ids, (0.25, 0.25), strict=True)),
        "pass@4": dict(zip(ids, (1, 1), strict=True)),
        "majority@4": dict(zip(ids, (False, False), strict=True)),
    }
    assert {each.stories[ids[1]] for each in several.values()} == {two[1].story_id}
    assert list(measured(two[:1], [grades("r", "f")])) == ["mean@2", "pass@2", "majority@2"]


def test_questions_without_answers_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        task_metrics(PAIRS[4:6], [answered("r")])
    with pytest.raises(ValueError, match="shorter"):
        measured(PAIRS[4:6], [[answered("r").grade, answered("f").grade]])


class Engine:
    """Answers each prompt with what it asks and the number of the sample."""

    name = "engine"

    def complete(self, prompts: list[Prompt], sampling: Sampling, report: object) -> list[Response]:
        said = [f"</think><answer>{p.question[0]} {p.sample}</answer>" for p in prompts]
        return [Response(text, 1, "stop") for text in said]


def test_samples_stand_side_by_side_each_with_a_stream_of_its_own() -> None:
    examples = [question(0), question(1)]
    asking = Asking("compact", Sampling(8), samples=3)
    (graded,) = evaluate(Engine(), [Asked({"c": examples}, asking)], seed=7)  # type: ignore[arg-type]
    told = [(each.grade.extracted, each.sample) for each in graded]
    assert told == [(f"{name} {n}", n) for name in "12" for n in range(3)]
    keys = [prompt.key for prompt in prompts_of(examples, asking, seed=7)]
    streams = [(7, int(name * 12, 16)) for name in "12"]
    assert keys == [(*key, *([n] if n else [])) for key in streams for n in range(3)]
    assert [prompt.digest for prompt in prompts_of(examples, asking, seed=7)] == [
        each.prompt_digest for each in graded
    ]


@pytest.mark.parametrize("samples", [1, 2])
def test_what_is_written_of_answers(tmp_path: Path, samples: int) -> None:
    example = question(0, "story")
    graded = [answered("rs f", 5), answered("l", 6, "length", 1)][:samples]
    examples, columns = [example] * samples, ["column"] * samples
    write_responses(tmp_path / "r", examples, graded, columns, {"model": "m", "seed": 3})
    write_grades(tmp_path / "g", examples, graded, columns)
    assert not any(name.startswith("__") for name in pq.read_schema(tmp_path / "g").names)
    about = {"id": example.id, "task": "column"}
    number: list[dict[str, int]] = [{}] if samples == 1 else [{"sample": 0}, {"sample": 1}]
    said = [
        {
            "prompt_digest": "digest rs f",
            "response": "so rs f",
            "prompt_tokens": 0,
            "completion_tokens": 5,
        },
        {
            "prompt_digest": "digest l",
            "response": "so l",
            "prompt_tokens": 0,
            "completion_tokens": 6,
        },
    ]
    ended = [{"finish_reason": reason, "model": "m", "seed": 3} for reason in ("stop", "length")]
    assert pd.read_parquet(tmp_path / "r").to_dict("records") == [
        {**about, **number[n], **said[n], **ended[n]} for n in range(samples)
    ]
    grades = [
        {"correct": True, "strict": True, "format_ok": True, "extracted": "rs f", "tokens": 5},
        {"correct": False, "strict": False, "format_ok": False, "extracted": "l", "tokens": 6},
    ]
    assert pd.read_parquet(tmp_path / "g").to_dict("records") == [
        {**about, **number[n], "story": example.story_id, **grades[n], "words": 3 - n}
        for n in range(samples)
    ]


def test_what_is_known_of_options_is_written_and_nothing_where_none_is(tmp_path: Path) -> None:
    scored = Scored(("in a box", "a"), logprobs=(-3.0, -2.0), answer="a")  # by length the other
    graded = [replace(answered("r"), scored=scored), answered("r")]
    write_grades(tmp_path / "g", [question(0), question(1)], graded, ["column"] * 2)
    written = pd.read_parquet(tmp_path / "g")
    assert written["options"].tolist() == [True, None]
    assert written["options by length"].tolist() == [False, None]
