"""Evaluation: intervals, grouping, and an engine that keeps order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config.models import TinySize
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.records import TaskScores
from pipeline.evaluate.runner import Asked, Asking, evaluate, grade_response
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.tasks.example import AnswerKind, Example


def examples(count: int) -> list[Example]:
    return [
        Example("hi_tom_style", "hi_tom_style", f"story {i}", "q", f"box_{i}", order=i % 3)
        for i in range(count)
    ]


class Parrot:
    """An engine that answers from a list."""

    name = "parrot"

    def __init__(self, answers: list[str]) -> None:
        self.answers = answers

    def complete(self, prompts: list[Prompt], sampling: Sampling, report: object) -> list[Response]:
        return [Response(f"</think><answer>{a}</answer>", 3, "stop") for a in self.answers]


class Blunt(Parrot):
    """An engine that answers at once, and keeps what it was shown."""

    def complete(self, prompts: list[Prompt], sampling: Sampling, report: object) -> list[Response]:
        self.shown = prompts
        return [Response(f"<answer>{a}</answer>", 3, "stop") for a in self.answers]


@pytest.mark.parametrize("think", [True, False])
def test_an_empty_thought_is_shown_and_part_of_the_response(think: bool) -> None:
    questions = examples(2)
    engine = Blunt([e.answer for e in questions])
    asking = Asking("compact", Sampling(8), think=think)
    (graded,) = evaluate(engine, [Asked({"c": questions}, asking)], seed=0)  # type: ignore[arg-type]
    assert {p.begun for p in engine.shown} == {"<think>" if think else "<think></think>"}
    assert [g.grade.format_ok for g in graded] == [not think] * 2
    assert [g.response.text.startswith("</think>") for g in graded] == [not think] * 2
    evaluate(engine, [Asked({"c": questions}, replace(asking, prompt="tom-rl-json"))], seed=0)  # type: ignore[arg-type]
    assert {p.begun for p in engine.shown} == {""}


def answered(pairs: list[tuple[str, str, str, str]]) -> TaskScores:
    """The scores of pairs: (gold, answer) of both members."""
    questions = [
        replace(examples(1)[0], story=f"{number} {member}", answer=gold, meta={"pair": str(number)})
        for number, pair in enumerate(pairs)
        for member, gold in (("observed", pair[0]), ("hidden", pair[2]))
    ]
    questions = [replace(e, id=f"{n:016x}") for n, e in enumerate(questions)]
    return answers_of(questions, [said for pair in pairs for said in (pair[1], pair[3])])


def test_pair_accuracy_and_intervention_sensitivity() -> None:
    scores = answered(
        [
            ("box", "box", "bin", "bin"),  # both right
            ("box", "bin", "bin", "Box."),  # both wrong, and yet the answer changes
            ("box", "box", "bin", "Box."),  # the same answer in other letters
            ("box", "box", "bin", ""),  # no answer
            ("box", "box", "box", "box"),  # nothing to change
        ]
    )
    assert scores.pairs is not None and scores.pairs.sensitivity is not None
    assert (scores.pairs.accuracy.correct, scores.pairs.accuracy.count) == (2, 5)
    assert (scores.pairs.sensitivity.correct, scores.pairs.sensitivity.count) == (2, 4)
    assert scores.beside_accuracy() == {"pair accuracy": 0.4, "intervention sensitivity": 0.5}
    assert TaskScores.model_validate_json(scores.model_dump_json()) == scores


def test_lists_of_names_change_with_their_names_only() -> None:
    asked = replace(examples(1)[0], answer_kind="names")
    questions = [
        replace(
            asked, story=story, answer=gold, meta={"pair": "1", "wrong_names": []}, id=story * 16
        )
        for story, gold in (("1", "Ann, Bob"), ("2", "Ann"))
    ]
    for second, changes in (("Bob, Ann", 0), ("Ann", 1)):
        scores = answers_of(questions, ["Ann, Bob", second])
        assert scores.pairs is not None and scores.pairs.sensitivity is not None
        assert scores.pairs.sensitivity.correct == changes


def test_pairs_that_never_differ_have_no_sensitivity() -> None:
    scores = answered([("box", "box", "box", "bin")])
    assert scores.beside_accuracy() == {"pair accuracy": 0.0}


def answers_of(questions: list[Example], answers: list[str]) -> TaskScores:
    engine = Parrot(answers)
    (graded,) = evaluate(engine, [Asked({"c": questions}, Asking("compact", Sampling(8)))], seed=0)  # type: ignore[arg-type]
    return task_metrics(questions, graded)


def test_opentom_has_its_macro_f1() -> None:
    meta = {"kind": "fullness", "suffix": "_so", "original_place": "box", "move_to_place": "bin"}
    questions = [
        replace(
            Example("opentom", "opentom_fullness_so", "s", str(n), gold, "label", order=2),
            meta=meta,
        )
        for n, gold in enumerate(["more full", "less full", "equally full", "more full"])
    ]
    scores = answers_of(questions, ["more full", "less full", "more full", "no idea"])
    # Of the three replies with a class: F1 of more 2/3, of less 1, of equally 0.
    assert scores.own["fullness_so:macro-f1"] == pytest.approx(5 / 9)
    assert scores.own["fullness_so:corrupt"] == 0.25
    assert scores.beside_accuracy() == {
        "fullness_so:macro-f1": scores.own["fullness_so:macro-f1"],
        "multihop_so:macro-f1": scores.own["multihop_so:macro-f1"],
    }


def test_fantom_counts_whole_sets() -> None:
    def question(set_id: str, kind: AnswerKind, answer: str) -> Example:
        about = "tom:belief:inaccessible" if kind == "choice" else "tom:answerability"
        choices = ("(a) x", "(b) y") if kind == "choice" else None
        fields = {"set_id": set_id, "accessibility": "inaccessible", "wrong_names": ["Bob"]}
        return Example(
            *("fantom", "fantom_sets", "s", f"{set_id} {kind}", answer, kind),
            choices=choices,
            order=1,
            question_type=about,
            meta=fields,
        )

    kinds: list[tuple[AnswerKind, str]] = [("choice", "(a) x"), ("names", "Ann"), ("yes_no", "no")]
    questions = [question(name, kind, gold) for name in "12" for kind, gold in kinds]
    scores = answers_of(questions, ["(a)", "Ann", "no", "(a)", "Ann", "yes"])
    assert scores.accuracy == 5 / 6
    assert scores.beside_accuracy() == {"inaccessible:set:ALL": 0.5}


def test_what_is_not_there_is_not_written() -> None:
    single = answered([("box", "box", "bin", "bin")]).model_copy(update={"pairs": None})
    assert not {"pairs", "too_late", "own", "headline"} & set(single.model_dump())


def test_json_prompts_have_their_own_extraction() -> None:
    example = examples(1)[0]
    reply = '{"thinking": "hm", "answer": "box_0"}'
    assert grade_response(reply, example, "tom-rl-json").correct
    assert not grade_response(reply, example, "tom-rl").correct


def test_the_engine_keeps_order_and_refuses_prompts_that_do_not_fit(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(["a b c"], 300)
    save_model(tmp_path, make_model(TinySize(16, 1, 1), tokenizer, context=40, seed=0), tokenizer)
    texts = ["a", "a b c a b c", "b" * 100, "c c"]
    prompts = [Prompt([{"role": "user", "content": t}], (i,)) for i, t in enumerate(texts)]
    counts: list[int] = []
    engine = TransformersEngine(tmp_path, tmp_path / "work", batch=2)
    together = engine.complete(prompts, Sampling(6, temperature=0), counts.append)
    assert together[2] == Response("", 0, "prompt_too_long")
    assert counts[-1] == len(prompts)
    for index in (0, 1, 3):
        alone = engine.complete([prompts[index]], Sampling(6, temperature=0), counts.append)[0]
        assert together[index] == alone
    again = TransformersEngine(tmp_path, tmp_path / "work", batch=2)
    assert again.complete(prompts, Sampling(6, temperature=0), counts.append) == together
    assert "_loaded" not in vars(again), "nothing was generated"
    short = Sampling(4, temperature=0)
    mixed = [replace(prompts[0], sampling=short), *prompts[1:]]
    both = TransformersEngine(tmp_path, tmp_path / "work", batch=2)
    cut, *others = both.complete(mixed, Sampling(6, temperature=0), counts.append)
    assert counts[-1] == len(prompts) and others == together[1:]
    apart = TransformersEngine(tmp_path, tmp_path / "apart", batch=2)
    assert [cut] == apart.complete(prompts[:1], short, counts.append)
