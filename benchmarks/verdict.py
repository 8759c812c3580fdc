"""The exam of the verdict: what it says of responders that are known.

The questions are those of the study ``mini``, so ``tomrl run mini`` comes first. Those who answer
by the engine's minds, by listed rules or by drawn decision lists are of classes that the verdict
looks for. The others (:mod:`benchmarks.outsiders`) know nothing of these: they read the story's
text alone. All of them sit the exam on 100, 400 and all questions.

Run ``python -m benchmarks.verdict [--write]``; exits 1 where, on all
questions, more than 2 % of those who are no believers are called ``beliefs``, or fewer than 80 % of
the believers. What ``--write`` stores in ``docs/results`` is what the tables of ``docs/verdict.md``
show; a test holds the page to it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, get_args

from benchmarks import outsiders
from benchmarks.circumstances import store
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.formats.foreign import markdown_table
from pipeline.judge.answers import AnswerVerdict, judge_answers
from pipeline.judge.decision import Follow
from pipeline.judge.followers import Kind, Questions
from pipeline.judge.items import Item
from pipeline.judge.recorded import read_suite
from pipeline.ops.driver.checkout import find_root
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion
from pipeline.tasks.example import Example

STUDY, LISTS_DRAWN, REPEAT = "mini", 100, 2
MOST_BOLD, FEWEST_BELIEVED = 0.02, 0.8
SIZES = (100, 400, 0)
"""Questions that an exam has; 0 for all."""

DIFFERS = 0.1
MINDS = "minds that lack one faculty, nine answers in ten"
LISTED = "listed rules, nine answers in ten"
LISTS = "decision lists that differ from gold on a tenth or more"
BELIEVERS = outsiders.KINDS[0].name
_SEEN = (
    *("times shown", "times moved", "times claimed", "first from the front", "last from the back"),
    *("mentions", "first mention", "last mention", "place among options", "place from their end"),
)
"""What :mod:`pipeline.rules.surface` says of a candidate after the rules and cues that pick it."""

Respond = Callable[[int, Random], str]
"""From the place of a question to an answer."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """Somebody who sits the exam.

    Attributes:
        kind: What they are.
        expected: The verdicts that are right.
        respond: How they answer.
        named: What the verdict should name; None where nothing has a name.
    """

    kind: str
    expected: tuple[str, ...]
    respond: Respond
    named: str | None = None


@dataclass(frozen=True, slots=True)
class Exam:
    """The questions, and what rules and minds say to them.

    Attributes:
        examples: The questions.
        questions: The same as rules on their surface and minds see them.
        extremes: Of each question, the candidates with most and least of what can be counted.
    """

    examples: tuple[Example, ...]
    questions: Questions
    extremes: tuple[Mapping[str, str | None], ...]

    @classmethod
    def of_study(cls, root: Path, study: str) -> Exam:
        """Read the suite of a study that was run in this checkout."""
        columns = expand(find_study(root, study)).suite.tasks
        folder = root / "data" / study / "suite"
        if not folder.exists():
            raise UserError(f"{folder} is missing; make it with: tomrl run {study}")
        suite = read_suite(folder, columns)
        examples = [example for column in suite.values() for example in column]
        questions = Questions.of(examples)
        return cls(tuple(examples), questions, tuple(map(extremes_of, questions.asked)))

    def asked(self, place: int) -> SurfaceQuestion:
        """A question as rules on its surface see it."""
        return self.questions.asked[place]

    def verdict_on(self, respond: Respond, random: Random, count: int) -> AnswerVerdict:
        """The verdict on what is answered to so many of the questions; 0 for all."""
        places: Sequence[int] = range(len(self.examples))
        if count:
            places = sorted(random.sample(places, count))
        answers = {place: respond(place, random) for place in places}
        items = [
            Item(example, answer, answer, answer == example.answer)
            for example, answer in ((self.examples[p], said) for p, said in answers.items())
        ]
        return judge_answers(items, self.questions.among(places))

    def noisy(self, respond: Respond, share: float) -> Respond:
        """A responder that gives another candidate in a share of its answers."""

        def answer(place: int, random: Random) -> str:
            meant = respond(place, random)
            others = [each for each in self.asked(place).candidates if each != meant]
            return random.choice(others) if others and random.random() < share else meant

        return answer

    def guess(self, place: int, random: Random) -> str:
        """Answer with any candidate."""
        return random.choice(self.asked(place).candidates)

    def saying(self, name: str) -> Respond:
        """The responder that a listed rule or a mind is; it guesses where that is silent."""
        said = next(answers for each, _, answers in self.questions.said if each == name)
        return lambda place, random: said[place] or self.guess(place, random)

    def reading(self, respond: outsiders.Respond) -> Respond:
        """A responder that reads a question's text."""
        return lambda place, random: respond(self.examples[place], random)


def extremes_of(asked: SurfaceQuestion) -> dict[str, str | None]:
    """The candidates with most and least of each count and position; None of no value."""
    found: dict[str, str | None] = {}
    for place, name in enumerate(_SEEN, len(asked.picks)):
        values = dict(zip(asked.candidates, asked.rows[:, place].tolist(), strict=True))
        defined = {each: value for each, value in values.items() if value != UNDEFINED}
        for word, chosen in (("most", max), ("least", min)):
            said = chosen(defined, key=defined.__getitem__) if defined else None
            found[f"{word}: {name}"] = said
    return found


def sittings(exam: Exam) -> Iterator[Sitting]:
    """Yield who sits the exam, in the order of the table."""
    for kind in outsiders.KINDS:
        for respond in kind.responders:
            yield Sitting(kind.name, kind.expected, exam.reading(respond))
    for name, kind_of, _ in exam.questions.said:
        noisy = exam.noisy(exam.saying(name), 0.1)
        if kind_of is Kind.MIND:
            yield Sitting(MINDS, ("simpler mind",), noisy, name)
        elif kind_of is Kind.LISTED:
            yield Sitting(LISTED, ("rule",), noisy, name)
    for respond, differs in decision_lists(exam):
        if differs >= DIFFERS:
            yield Sitting(LISTS, ("rule",), respond)


def decision_lists(exam: Exam) -> Iterator[tuple[Respond, float]]:
    """Yield drawn lists over rules and cues, with the share of questions on which gold differs."""
    for number in range(LISTS_DRAWN):
        drawn = _drawn(exam, Random(f"list:{number}"), counting=number % 4 == 3)
        silent = Random(0)
        said = [drawn(place, silent) for place in range(len(exam.examples))]
        pairs = zip(said, exam.examples, strict=True)
        differs = sum(answer != example.answer for answer, example in pairs) / len(said)
        yield exam.noisy(drawn, (0.0, 0.1, 0.2)[number % 3]), differs


def _drawn(exam: Exam, random: Random, counting: bool) -> Respond:
    names = sorted(exam.asked(0).picks)
    more = sorted(exam.extremes[0]) if counting else []
    picked = random.sample([*names, *more], random.randint(1, 4))
    orders = [random.choice((None, 1, 2)) for _ in picked]
    needed = [random.choice((None, None, random.choice(names))) for _ in picked]

    def answer(place: int, random: Random) -> str:
        picks, order = exam.asked(place).picks, exam.examples[place].order
        extremes = exam.extremes[place]
        for name, only, cue in zip(picked, orders, needed, strict=True):
            fits = only in (None, order) and (cue is None or picks[cue] is not None)
            said = picks[name] if name in picks else extremes[name]
            if fits and said is not None:
                return said
        return picks["last"] or exam.guess(place, random)

    return answer


Outcome = dict[str, dict[str, Any]]
"""By kind: how often each verdict is said (``verdicts``), how many verdicts are right, and how many
name what they should, of so many."""


def outcomes(exam: Exam, count: int) -> Outcome:
    """What the verdict says of everybody who answers so many questions."""
    found: Outcome = {}
    for number, each in enumerate(sittings(exam)):
        kind = found.setdefault(
            each.kind, {"verdicts": Counter(), "right": 0, "named": 0, "to_name": 0}
        )
        for time in range(1 if each.kind == LISTS else REPEAT):
            said = exam.verdict_on(each.respond, Random(f"{number}:{time}:{count}"), count)
            kind["verdicts"][said.follow] += 1
            kind["right"] += said.follow in each.expected
            kind["to_name"] += each.named is not None
            kind["named"] += each.named is not None and said.by == each.named
    for name, kind in found.items():
        print(f"{count or 'all'}: {name}: {dict(kind['verdicts'])}", flush=True)
    return found


def confusion_table(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The confusion table on most questions in Markdown, in % of the responders."""
    kinds = found[max(found, key=int)]
    verdicts = [v for v in get_args(Follow) if any(k["verdicts"].get(v) for k in kinds.values())]
    lines = []
    for name, kind in kinds.items():
        counts = kind["verdicts"]
        count = sum(counts.values())
        shares = (100 * counts.get(verdict, 0) / max(1, count) for verdict in verdicts)
        lines.append((name, count, *(f"{share:.1f}" for share in shares)))
    return markdown_table(("responders", "count", *verdicts), lines, range(1, 2 + len(verdicts)))


def figures(found: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The exam in three figures: believers believed, bold calls, and faults named, as shares."""
    others = [kind["verdicts"] for name, kind in found.items() if name != BELIEVERS]
    bold = sum(counts.get("beliefs", 0) for counts in others)
    believed = found[BELIEVERS]["verdicts"]
    return {
        "believed": believed.get("beliefs", 0) / max(1, sum(believed.values())),
        "bold": bold / max(1, sum(sum(counts.values()) for counts in others)),
        "named": found[MINDS]["named"] / max(1, found[MINDS]["to_name"]),
    }


def exam_table(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The figures by the number of questions, in Markdown, in %."""
    heads = ("questions", "believers believed", "others called beliefs", "faults named")
    lines = (
        (count, *(f"{100 * share:.1f}" for share in figures(kinds).values()))
        for count, kinds in found.items()
    )
    return markdown_table(heads, lines, range(4))


def main() -> int:
    """Hold the exam, print the tables, and say whether the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="store it in docs/results")
    options, root = parser.parse_args(), find_root()
    exam = Exam.of_study(root, STUDY)
    found = {str(count or len(exam.examples)): outcomes(exam, count) for count in SIZES}
    everything = found[str(len(exam.examples))]
    print(confusion_table(found))
    print(exam_table(found))
    if options.write:
        store(root, "verdict", {"study": STUDY, "lists": LISTS_DRAWN, "exams": found})
    shares = figures(everything)
    print(f"others called beliefs: {shares['bold']:.1%} of at most {MOST_BOLD:.0%}")
    print(f"{BELIEVERS}: believed {shares['believed']:.0%} of at least {FEWEST_BELIEVED:.0%}")
    return int(shares["bold"] > MOST_BOLD or shares["believed"] < FEWEST_BELIEVED)


if __name__ == "__main__":
    sys.exit(main())
