"""Prompt programs reach the rates that theory gives, on models of known error rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import comb
from random import Random
from statistics import fmean

import pytest

from pipeline.config import programs as config
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.data.imitation import demonstrated, gold_trace
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.evaluate.programs import Program, best, few_shot, recursion, sim_tom, vote
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.evaluate.verifiers import by_beliefs, learned
from pipeline.tasks.example import Example

RIGHT, GOOD, SAMPLES, WITHIN = 0.6, 0.8, 30, 0.02
SOURCE = HiTomSource(kind="hi_tom_style", agents=3, structure="free")


def drawn(purpose: str, count: int) -> list[Example]:
    """Questions of orders 1 and 2 about stories in which there are three places."""
    found = [
        Example(
            "hi_tom_style",
            "hi_tom_style",
            row["story"],
            row["question"],
            row["answer"],
            choices=tuple(row["choices"]),
            order=row["order"],
        )
        for rows in stories(SOURCE, purpose, 4 * count)
        for row in rows
        if row["order"] in (1, 2)
    ]
    return found[:count]


EXAMPLES = drawn("test", 200)
BY_ID = {example.id: example for example in EXAMPLES}
TRACES = {example.id: gold_trace(example) or "" for example in EXAMPLES}
Respond = Callable[[Example, Prompt, Random], str]


class Stub:
    """A model that says what a function says, in ten tokens, to a hundred."""

    name = "stub"

    def __init__(self, respond: Respond, examples: Sequence[Example] = ()) -> None:
        self.respond, self.libraries = respond, {"stub": "1"}
        self.known = {**BY_ID, **{example.id: example for example in examples}}

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, report: Callable[[int], None]
    ) -> list[Response]:
        report(len(prompts))
        return [
            Response(
                self.respond(self.known[p.question], p, Random(f"{p.key}{p.digest}")),
                10,
                "stop",
                prompt_tokens=100,
            )
            for p in prompts
        ]


def said(place: str, thought: str = "") -> str:
    return f" {thought}</think><answer> {place}</answer>"


def others(example: Example) -> list[str]:
    """Two wrong answers."""
    assert example.choices is not None
    return [each for each in example.choices if each != example.answer][:2]


def guess(example: Example, prompt: Prompt, random: Random) -> str:
    """Right with a known rate, and reasoning as true as the answer is."""
    true = TRACES[example.id]
    if random.random() < RIGHT:
        return said(example.answer, true)
    wrong = random.choice(others(example))
    return said(wrong, true.replace(example.answer, wrong))


Tokens = set[tuple[int, int]]


def rate(program: Program, respond: Respond, order: int | None = None) -> tuple[float, Tokens]:
    """The share of right answers, and how many tokens were read and written for them."""
    asked = [each for each in EXAMPLES if order in (None, each.order)]
    asking = Asking("compact", Sampling(64, temperature=1), samples=SAMPLES, program=program)
    (graded,) = evaluate(Stub(respond), [Asked({"all": asked}, asking)], seed=7)
    right = [each.grade.correct for each in graded]
    said = [each.response for each in graded]
    return fmean(right), {(each.prompt_tokens, each.completion_tokens) for each in said}


def voted(of: int) -> float:
    """How often the right answer is the most frequent one, ties divided."""
    found = 0.0
    for right, one in product(range(of + 1), repeat=2):
        other = of - right - one
        if other < 0 or right < max(one, other):
            continue
        ways = comb(of, right) * comb(of - right, one)
        wrong = (1 - RIGHT) / 2
        tied = 1 + (one == right) + (other == right)
        found += ways * RIGHT**right * wrong ** (one + other) / tied
    return found


@pytest.mark.parametrize("of", [2, 5])
def test_a_vote_is_right_as_often_as_a_multinomial_plurality(of: int) -> None:
    found, tokens = rate(vote(config.Vote(kind="vote", of=of)), guess)
    assert found == pytest.approx(voted(of), abs=WITHIN)
    assert tokens == {(100, 10 * of)}


def test_the_best_by_the_belief_engine_is_right_where_any_is() -> None:
    program = best(config.Best(kind="best", of=3), lambda: by_beliefs)
    assert rate(program, guess)[0] == pytest.approx(1 - (1 - RIGHT) ** 3, abs=WITHIN)


def test_a_verifier_that_sees_nothing_leaves_a_vote() -> None:
    program = best(config.Best(kind="best", of=5), lambda: by_beliefs)

    def silent(example: Example, prompt: Prompt, random: Random) -> str:
        return said(guess(example, prompt, random).rpartition("<answer> ")[2].partition("<")[0])

    assert rate(program, silent)[0] == pytest.approx(voted(5), abs=WITHIN)


def test_a_learned_verifier_knows_words_that_go_with_right_answers_and_no_beliefs() -> None:
    shown = drawn("train", 60)

    def telling(example: Example, prompt: Prompt, random: Random) -> str:
        right = random.random() < RIGHT
        place = example.answer if right else random.choice(others(example))
        return said(place, "Surely so." if right else "Perhaps so.")

    asking = Asking("compact", Sampling(64, temperature=1), samples=3)
    knows = learned(Stub(telling, shown), shown, asking, seed=1)
    found, _ = rate(best(config.Best(kind="best", of=3), lambda: knows), telling)
    assert found == pytest.approx(1 - (1 - RIGHT) ** 3, abs=WITHIN)
    blind, _ = rate(best(config.Best(kind="best", of=3), lambda: by_beliefs), telling)
    assert blind == pytest.approx(voted(3), abs=WITHIN)


def seeing(example: Example, prompt: Prompt, random: Random) -> str:
    """Takes the right perspective with a known rate, and from there is right with another."""
    asked = prompt.messages[-1]["content"]
    if "does" in asked and "know about?" in asked:
        agent = asked.partition("does ")[2].partition(" know about?")[0]
        story = asked.partition("\n\n")[0]
        before = story if story.startswith("SEEN") else "SEEN"
        good = story != "LOST" and random.random() < GOOD
        return f"{before} by {agent}" if good else "LOST"
    story, _, question = asked.partition("\n")
    chain = story.removeprefix("SEEN by ").split(" by ") if story.startswith("SEEN") else []
    really = question.endswith("really?")
    right = chain and all(agent in example.question for agent in chain)
    right = right and len(chain) == (example.order if really else 1)
    return said(example.answer if right and random.random() < RIGHT else others(example)[0])


@pytest.mark.parametrize("order", [1, 2])
def test_perspectives_multiply_their_rates(order: int) -> None:
    found, tokens = rate(sim_tom, seeing, order)
    assert found == pytest.approx(GOOD * RIGHT, abs=WITHIN)
    assert tokens == {(200, 20)}
    found, tokens = rate(recursion, seeing, order)
    assert found == pytest.approx(GOOD**order * RIGHT, abs=WITHIN)
    assert tokens == {(100 * (order + 1), 10 * (order + 1))}


def test_shots_are_earlier_turns_with_their_gold_answers() -> None:
    shots = demonstrated(drawn("train", 3))

    def learns(example: Example, prompt: Prompt, random: Random) -> str:
        roles = [each["role"] for each in prompt.messages]
        assert roles == ["user", "assistant"] * 3 + ["user"]
        for shot, turn in zip(shots, prompt.messages[1::2], strict=True):
            assert turn["content"].endswith(f"</think><answer> {shot.answer}</answer>")
            assert (gold_trace(shot) or "") in turn["content"]
        assert example.question in prompt.messages[-1]["content"]
        return guess(example, prompt, random)

    found, tokens = rate(few_shot(shots, "compact"), learns)
    assert found == pytest.approx(RIGHT, abs=WITHIN)
    assert tokens == {(100, 10)}
