"""What the verdict says of responders that are known: believers, simpler minds, rules, guessers.

The questions are those of the study ``mini``, so ``tomrl repro mini`` comes first. Decision lists
are drawn at random: up to four rules or cues, each under a condition (a belief order, another cue
that is defined), some with noise; every fourth list also counts, and looks at positions. Run
``python -m benchmarks.verdict [--lists 1000] [--repeat 10] [--write]``; exits 1 where more than 2 %
of the lists that differ from gold on a tenth of the questions are called ``beliefs``, or believers
who are right on 75 % are found less often than in 80 %. What ``--write`` stores in ``docs/results``
is what the table of ``docs/verdict.md`` shows; a test holds the page to it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import get_args

from benchmarks.circumstances import circumstances_of
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.judge.answers import Follow, judge_answers
from pipeline.judge.followers import Kind, Questions
from pipeline.judge.items import Item
from pipeline.judge.recorded import read_suite
from pipeline.ops.driver.checkout import find_root
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion
from pipeline.tasks.example import Example
from pipeline.tom.minds import MINDS

FALSE_BELIEFS, FOUND_BELIEVERS = 0.02, 0.8
DIFFERS = 0.1
BELIEVER = "believers, right on 75 %"
LISTS = "decision lists that differ from gold on a tenth or more"
_TABLE = ("<!-- confusion -->\n", "<!-- /confusion -->")
_PAGE, _STORED = Path("docs/verdict.md"), Path("docs/results/verdict.json")
_SEEN = (
    *("times shown", "times moved", "times claimed", "first from the front", "last from the back"),
    *("mentions", "first mention", "last mention", "place among options", "place from their end"),
)
"""What :mod:`pipeline.rules.surface` says of a candidate after the rules and cues that pick it."""

Respond = Callable[[int, Random], str]
"""From the place of a question to an answer."""


@dataclass(frozen=True, slots=True)
class Exam:
    """The questions, and what rules and minds say to them.

    Attributes:
        examples: The questions.
        questions: The same as rules on their surface and simpler minds see them.
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
            raise UserError(f"{folder} is missing; make it with: tomrl repro {study}")
        suite = read_suite(folder, columns)
        examples = [example for column in suite.values() for example in column]
        questions = Questions.of(examples)
        return cls(tuple(examples), questions, tuple(map(extremes_of, questions.asked)))

    def asked(self, place: int) -> SurfaceQuestion:
        """A question as rules on its surface see it."""
        return self.questions.asked[place]

    def verdict_on(self, respond: Respond, random: Random) -> str:
        """What the verdict says that a responder follows."""
        answers = [respond(place, random) for place in range(len(self.examples))]
        items = [
            Item(example, answer, answer, answer == example.answer)
            for example, answer in zip(self.examples, answers, strict=True)
        ]
        return judge_answers(items, self.questions).follow

    def noisy(self, respond: Respond, share: float) -> Respond:
        """A responder that gives another candidate in a share of its answers."""

        def answer(place: int, random: Random) -> str:
            meant = respond(place, random)
            others = [each for each in self.asked(place).candidates if each != meant]
            return random.choice(others) if others and random.random() < share else meant

        return answer

    def gold(self, place: int, _: Random) -> str:
        """Answer with the gold answer."""
        return self.examples[place].answer

    def guess(self, place: int, random: Random) -> str:
        """Answer with any candidate."""
        return random.choice(self.asked(place).candidates)

    def saying(self, name: str) -> Respond:
        """The responder that a listed rule or a mind is; it guesses where that is silent."""
        said = next(answers for each, _, answers in self.questions.said if each == name)
        return lambda place, random: said[place] or self.guess(place, random)

    def mixed(self, one: Respond, other: Respond) -> Respond:
        """A responder that follows one or the other, half of the time each."""
        return lambda place, random: (one if random.random() < 0.5 else other)(place, random)


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


def known(exam: Exam) -> dict[str, tuple[Respond, ...]]:
    """Responders by what they are."""
    listed = [name for name, kind, _ in exam.questions.said if kind is Kind.LISTED]
    rules = [exam.saying(name) for name in listed]
    minds = [exam.saying(name) for name in MINDS]
    believers = {
        f"believers, right on {round(100 * share)} %": (exam.noisy(exam.gold, 1 - share),)
        for share in (1.0, 0.9, 0.75, 0.6)
    }
    return believers | {
        "simpler minds, nine answers in ten": tuple(exam.noisy(mind, 0.1) for mind in minds),
        "listed rules, nine answers in ten": tuple(exam.noisy(rule, 0.1) for rule in rules),
        "listed rules, six answers in ten": tuple(exam.noisy(rule, 0.4) for rule in rules),
        "half beliefs, half the earliest exit": (
            exam.mixed(exam.gold, exam.saying("earliest exit")),
        ),
        "guessers": (exam.guess,),
    }


def decision_lists(exam: Exam, count: int) -> Iterator[tuple[Respond, float]]:
    """Yield drawn lists over rules and cues, with the share of questions on which gold differs."""
    for number in range(count):
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
    orders = [random.choice((None, 1, 2, 3)) for _ in picked]
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


def confusion(exam: Exam, lists: int, repeat: int) -> dict[str, Counter[str]]:
    """How often each verdict is said of each kind of responder."""
    found: dict[str, Counter[str]] = {}
    for name, responders in known(exam).items():
        times = repeat if len(responders) == 1 else 1
        found[name] = Counter(
            exam.verdict_on(respond, Random(f"{name}:{number}:{time}"))
            for number, respond in enumerate(responders)
            for time in range(times)
        )
        print(f"{name}: {dict(found[name])}", flush=True)
    found[LISTS] = Counter()
    for number, (respond, differs) in enumerate(decision_lists(exam, lists)):
        if differs >= DIFFERS:
            found[LISTS][exam.verdict_on(respond, Random(f"noise:{number}"))] += 1
    print(f"{LISTS}: {dict(found[LISTS])}")
    return found


def table(found: Mapping[str, Mapping[str, int]]) -> str:
    """The confusion table in Markdown, in % of the responders."""
    verdicts = get_args(Follow)
    lines = [("responders", "count", *verdicts), ("---", *("---:" for _ in (0, *verdicts)))]
    for name, counts in found.items():
        count = sum(counts.values())
        shares = (100 * counts.get(verdict, 0) / max(1, count) for verdict in verdicts)
        lines.append((name, str(count), *(f"{share:.1f}" for share in shares)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_table(page: str, found: Mapping[str, Mapping[str, int]]) -> str:
    """The page with the confusion table in its place."""
    before, _, rest = page.partition(_TABLE[0])
    after = rest.partition(_TABLE[1])[2]
    return f"{before}{_TABLE[0]}{table(found)}{_TABLE[1]}{after}"


def _store(root: Path, study: str, lists: int, found: Mapping[str, Counter[str]]) -> None:
    """Keep what was found, with what it was found on, and show it on the page."""
    kept = {"study": study, **circumstances_of(root), "lists": lists, "verdicts": found}
    write_output(root / _STORED, json.dumps(kept, indent=1) + "\n")
    page = root / _PAGE
    write_output(page, with_table(page.read_text(encoding="utf-8"), found))


def main() -> int:
    """Simulate, print the table, and say whether the figures hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--study", default="mini")
    parser.add_argument("--lists", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--write", action="store_true", help=f"store it, and change {_PAGE}")
    options, root = parser.parse_args(), find_root()
    exam = Exam.of_study(root, options.study)
    found = confusion(exam, options.lists, options.repeat)
    print(table(found))
    if options.write:
        _store(root, options.study, options.lists, found)
    false = found[LISTS]["beliefs"] / max(1, found[LISTS].total())
    believers = found[BELIEVER]["beliefs"] / max(1, found[BELIEVER].total())
    print(f"lists called beliefs: {false:.1%} of at most {FALSE_BELIEFS:.0%}")
    print(f"{BELIEVER}: found {believers:.0%} of at least {FOUND_BELIEVERS:.0%}")
    return int(false > FALSE_BELIEFS or believers < FOUND_BELIEVERS)


if __name__ == "__main__":
    sys.exit(main())
