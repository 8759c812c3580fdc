"""The registry of tasks: one file per benchmark registers what it offers.

The files are loaded when a task is first asked for. They are named here and not imported, so that
an edit of one benchmark's rules is no edit of what another benchmark's results come from.

A task knows where its rows come from, how many there must be, and how an answer is graded. Reward
and evaluation both call :meth:`Task.grade`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from pipeline.base.errors import UserError, did_you_mean
from pipeline.base.plugins import BENCHMARKS
from pipeline.tasks.example import Example, content_hash
from pipeline.tasks.grading import Extractor, Grade, Matcher, extract_tagged, grade
from pipeline.tom.generate.styles import BENCHMARK

INFILLED = "infilled"
"""The telling of ExploreToM's stories as retold in prose by a language model."""

Loader = Callable[[Path], Iterable[Example]]
Scores = Callable[[Sequence[tuple[Example, str | None]]], Mapping[str, float]]
"""From examples with the answers found (``Grade.extracted``) to a benchmark's own figures."""

Reads = Callable[[Example], tuple[str, ...]]


def reads_nothing(example: Example) -> tuple[str, ...]:
    """No fields: the answer is all that grading reads."""
    return ()


@dataclass(frozen=True)
class Task:
    """One evaluation task or training pool.

    Attributes:
        name: Unique name, such as ``hi_tom_order4``.
        benchmark: The benchmark it belongs to.
        title: What a table shows.
        sources: Raw sources it reads, keys of ``pipeline.data.sources``; the loader receives the
            folder that holds one subfolder per source.
        load: Reads the raw files and yields examples in upstream's order.
        match: The benchmark's published rule: does this extracted answer agree with the gold one?
        strict: A stricter reading of the same, reported beside it: equality after normalisation.
        count: Number of examples the upstream files hold; None where it is a setting.
        choices_in_prompt: Whether the answer options are shown to the model after the question.
        extract: How the answer is found in a response to the task's usual prompt.
        reads: Which fields of an example grading it reads beside the answer, ``meta.NAME`` for one
            under ``meta``; asked of an example that may lack them.
        scores: The benchmark's own aggregate figures, beside the accuracy that every task has.
        headline: Ends of the names of those figures that tables show.
        folds_like: The task whose rows decide the folds, for tasks that share its stories; by
            default a task decides its own.
        optional: Further sources, which it reads where they are there.
        orders: Belief orders of its questions; -1 for factual ones of ExploreToM.
        fields: What its examples have under ``meta`` that rows can be chosen by.
        mathematics: Whether it asks for numbers, as the side-check does.
        telling: In which words its stories are told, where not in the benchmark's own.
    """

    name: str
    benchmark: str
    title: str
    sources: tuple[str, ...]
    load: Loader
    match: Matcher
    strict: Matcher
    count: int | None = None
    choices_in_prompt: bool = False
    extract: Extractor = extract_tagged
    reads: Reads = reads_nothing
    scores: Scores | None = None
    headline: tuple[str, ...] = ()
    folds_like: str | None = None
    optional: tuple[str, ...] = ()
    orders: tuple[int, ...] = ()
    fields: tuple[str, ...] = ()
    mathematics: bool = False
    telling: str = BENCHMARK

    def examples(self, raw: Path) -> list[Example]:
        """Load all examples and check their number.

        Raises:
            UserError: If the files hold another number of examples than upstream's.
        """
        examples = list(_with_own_ids(self.load(raw)))
        if self.count is not None and len(examples) != self.count:
            raise UserError(
                f"task {self.name}: {len(examples)} examples in {raw}, upstream has {self.count}. "
                f"The raw files are not the published ones: run `dvc repro acquire` again."
            )
        return examples

    def is_right(self, answer: str, example: Example) -> bool:
        """Whether an answer is right, by the published rule or as nothing but the truth.

        Raises:
            TooLate: If no rule could judge it in time.
        """
        return self.strict(answer, example) or self.match(answer, example)

    def grade(self, response: str, example: Example, extract: Extractor | None = None) -> Grade:
        """Grade a response by the task's rules; ``extract`` replaces its way to find the answer."""
        return grade(response, example, self.match, self.strict, extract or self.extract)


def _with_own_ids(examples: Iterable[Example]) -> Iterator[Example]:
    """Give a row that upstream repeats an id of its own, so that an id names one row."""
    seen: Counter[str] = Counter()
    for example in examples:
        seen[example.id] += 1
        if (times := seen[example.id]) > 1:
            yield replace(example, id=content_hash(example.id, times))
        else:
            yield example


_TASKS: dict[str, Task] = {}
_MODULES: dict[str, str] = {}


def register(task: Task) -> Task:
    """Add a task of the calling module; a name can be taken only once."""
    if task.name in _TASKS:
        raise ValueError(f"task {task.name} is registered twice")
    _TASKS[task.name] = task
    _MODULES[task.name] = sys._getframe(1).f_globals["__name__"]
    return task


@lru_cache(maxsize=1)
def _load() -> None:
    """Load every benchmark."""
    for module in BENCHMARKS:
        import_module(module)


def find(name: object) -> Task | None:
    """A registered task, None where there is no such task."""
    _load()
    return _TASKS.get(name) if isinstance(name, str) else None


def get(name: str) -> Task:
    """A registered task.

    Raises:
        UserError: If there is no such task; lists those there are.
    """
    _load()
    try:
        return _TASKS[name]
    except KeyError:
        raise UserError(
            f"unknown task {name!r}{did_you_mean(name, _TASKS)}; there are: "
            f"{', '.join(sorted(_TASKS))}"
        ) from None


def module_of(name: str) -> str:
    """The module that registers a task.

    Raises:
        UserError: If there is no such task; lists those there are.
    """
    return _MODULES[get(name).name]


def all_tasks() -> tuple[Task, ...]:
    """Every registered task, by name."""
    _load()
    return tuple(_TASKS[name] for name in sorted(_TASKS))
