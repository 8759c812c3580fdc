"""Prompt programs: several calls of a model for one answer, on any engine.

A program is a generator: it yields the prompts that it wants completed, is sent their responses,
and returns the response that is graded. Programs of many questions run side by side, so that an
engine is put all that they ask at a time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pipeline.config import programs as config
from pipeline.data.messages import Messages
from pipeline.data.prompt import is_prefilled
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Engine, Prompt, Response
from pipeline.model.chat import PREFILL
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.language import language_of
from pipeline.tom.question import WhereQuestion


@dataclass(frozen=True, slots=True)
class Question:
    """What a program answers.

    Attributes:
        example: The question.
        prompt: What is shown where no program is asked for.
        make: The messages of any question.
        sampling: How tokens are chosen where no program says otherwise.
        read: The answer in a response, if any.
    """

    example: Example
    prompt: Prompt
    make: Callable[[Example], Messages]
    sampling: Sampling
    read: Callable[[Response], str | None]

    def asked(self, example: Example) -> Prompt:
        return replace(self.prompt, messages=self.make(example))

    def drawn(self, count: int, temperature: float) -> list[Prompt]:
        """The same prompt, to be answered several times."""
        sampling = replace(self.sampling, temperature=temperature)
        keys = [self.prompt.key, *((*self.prompt.key, number) for number in range(1, count))]
        return [replace(self.prompt, key=key, sampling=sampling) for key in keys]


Steps = Generator[list[Prompt], list[Response], Response]
Program = Callable[[Question], Steps]
Verifier = Callable[[Example, Sequence[str]], Sequence[float]]
"""How good the reasoning of each response to a question is; more is better."""


def plain(question: Question) -> Steps:
    """The prompt alone."""
    (response,) = yield [question.prompt]
    return response


def few_shot(shots: Sequence[Example], prompt: str) -> Program:
    """Questions with true reasoning and gold answers go before, as earlier turns of the chat.

    Args:
        shots: The questions, as :func:`pipeline.data.imitation.demonstrated` gives them.
        prompt: Name of the prompt style.
    """

    said = [{"role": "assistant", "content": _answered(shot, prompt)} for shot in shots]

    def run(question: Question) -> Steps:
        asked = map(question.make, shots)
        before = [turn for put, own in zip(asked, said, strict=True) for turn in (*put, own)]
        own = question.prompt.messages
        system = [each for each in own if each["role"] == "system"]
        turns = [each for each in (*before, *own) if each["role"] != "system"]
        (response,) = yield [replace(question.prompt, messages=[*system, *turns])]
        return response

    return run


def _answered(shot: Example, prompt: str) -> str:
    response: str = shot.meta["imitated"]["traces"]
    if is_prefilled(prompt):
        return f"{PREFILL}{response}"
    thought = response.partition(THINK_END)[0].strip()
    return json.dumps({"thinking": thought, "answer": shot.answer})


def sim_tom(question: Question) -> Steps:
    """First what the outermost agent knows of the story; the question, about that alone."""
    chain = _chain(question.example)
    story = question.example.story
    if chain:
        story = yield from _perspective(question, story, chain[0])
    (response,) = yield [question.asked(replace(question.example, story=story))]
    return response


def recursion(question: Question) -> Steps:
    """Agent by agent, what each knows of what the one before knows; where it is in the last."""
    example = question.example
    chain, story = _chain(example), example.story
    for agent in chain:
        story = yield from _perspective(question, story, agent)
    asked = replace(example, story=story)
    if chain:
        asked = replace(asked, question=f"Where is the {_where(example).object} really?")  # type: ignore[union-attr]
    (response,) = yield [question.asked(asked)]
    return response


def _perspective(
    question: Question, story: str, agent: str
) -> Generator[list[Prompt], list[Response], str]:
    """The sentences of a story that an agent knows about, as the model says."""
    text = (
        f"{story}\n\nWhich of these sentences does {agent} know about? {agent} knows what happens "
        f"where and while {agent} is there, and what {agent} is told. Repeat these sentences in "
        "their order, and write nothing else."
    )
    messages: Messages = [{"role": "user", "content": text}]
    (response,) = yield [replace(question.prompt, messages=messages, begun="")]
    return response.text.rpartition(THINK_END)[2].strip()


def _where(example: Example) -> WhereQuestion | None:
    language = language_of(example.benchmark)
    return language.place_asked(example.question) if language else None


def _chain(example: Example) -> tuple[str, ...]:
    """The agents asked about, outermost first; none of a question that the engine cannot read."""
    asked = _where(example)
    return asked.chain if asked else ()


def vote(program: config.Vote) -> Program:
    """The most frequent answer, the earliest of equally frequent ones."""

    def run(question: Question) -> Steps:
        responses = yield question.drawn(program.of, program.temperature)
        return _most_frequent(question, responses)

    return run


def best(program: config.Best, verifier: Callable[[], Verifier]) -> Program:
    """Of the responses whose reasoning is the best, the most frequent answer.

    Args:
        program: How many are drawn.
        verifier: Says how good reasoning is; asked for once there is something to verify.
    """

    def run(question: Question) -> Steps:
        responses = yield question.drawn(program.of, program.temperature)
        verify = verifier()
        scores = verify(question.example, [each.text for each in responses])
        most = max(scores)
        kept = [each for each, score in zip(responses, scores, strict=True) if score == most]
        return _most_frequent(question, kept)

    return run


def _most_frequent(question: Question, responses: Sequence[Response]) -> Response:
    answers = [question.read(each) for each in responses]
    counted = Counter(answer for answer in answers if answer is not None)
    return (
        responses[answers.index(max(counted, key=lambda a: counted[a]))]
        if counted
        else (responses[0])
    )


def completed(
    engine: Engine,
    runs: Sequence[Steps],
    sampling: Sampling,
    report: Callable[[int], None] = lambda _: None,
) -> list[Response]:
    """The responses that programs end in, in order; each counts the tokens of all its calls.

    What several samples of one call are shown counts once, as it is read once.

    Args:
        engine: What completes their prompts.
        runs: Programs that have not begun.
        sampling: How tokens are chosen where a prompt does not say it.
        report: Hears how many responses are done.
    """
    ended, said, read = dict[int, Response](), Counter[int](), Counter[int]()
    waiting = {place: next(run) for place, run in enumerate(runs)}
    while waiting:
        prompts = [prompt for asked in waiting.values() for prompt in asked]
        share, done = len(waiting) / len(prompts), len(ended)
        responses = iter(
            engine.complete(prompts, sampling, lambda n, d=done, s=share: report(d + int(n * s)))  # type: ignore[misc]
        )
        going = dict[int, list[Prompt]]()
        for place, asked in waiting.items():
            given = list(islice(responses, len(asked)))
            said[place] += sum(each.completion_tokens for each in given)
            read[place] += sum(
                {p.digest: r.prompt_tokens for p, r in zip(asked, given, strict=True)}.values()
            )
            try:
                going[place] = runs[place].send(given)
            except StopIteration as end:
                ended[place] = replace(
                    end.value, completion_tokens=said[place], prompt_tokens=read[place]
                )
        waiting = going
    return [ended[place] for place in range(len(runs))]
