"""The registry of tasks: one file per benchmark registers its tasks.

The files are loaded when a task is first asked for. They are named here, not imported, so that an
edit of one benchmark's rules does not invalidate another benchmark's results.

Reward and evaluation both call :meth:`Task.grade`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from pipeline.base.errors import UserError, did_you_mean
from pipeline.base.plugins import BENCHMARKS
from pipeline.tasks.example import Example, content_hash
from pipeline.tasks.grading import Extractor, Grade, Matcher, extract_tagged, grade, match_equal
from pipeline.tom.generate.styles import BENCHMARK

INFILLED = "infilled"
"""ExploreToM's stories as retold in prose by a language model."""

Loader = Callable[[Path], Iterable[Example]]
Scores = Callable[[Sequence[tuple[Example, str | None]]], Mapping[str, float]]
"""From examples with extracted answers to a benchmark's own aggregate scores."""

Reads = Callable[[Example], tuple[str, ...]]


def reads_nothing(example: Example) -> tuple[str, ...]:
    """No fields: grading reads only the answer."""
    return ()


@dataclass(frozen=True)
class Task:
    """One evaluation task or training pool.

    Attributes:
        name: Unique, such as ``hi_tom_order4``.
        title: Heading in tables.
        sources: Raw sources, keys of ``pipeline.data.sources``.
        load: Yields examples in upstream's order from the folder that holds one subfolder per
            source.
        match: The benchmark's published rule on an extracted answer.
        strict: The rule that training pays, reported beside it: equality after normalisation.
        count: Number of examples the upstream files hold; None where it is a setting.
        choices_in_prompt: Show the options after the question.
        extract: Finds the answer in a response to the task's usual prompt.
        reads: Fields that grading reads beside the answer, ``meta.NAME`` for one under ``meta``;
            the example may lack them.
        scores: The benchmark's own scores, beside accuracy.
        headline: Suffixes of the scores that tables show.
        folds_like: The task whose folds it shares, as it shares its stories.
        optional: Further sources, read if present.
        orders: Belief orders of its questions; -1 for factual ones of ExploreToM.
        fields: Fields of ``meta`` by which rows can be selected.
        mathematics: Answers are numbers, as in the side check.
        telling: Surface style, where not the benchmark's own.
    """

    name: str
    benchmark: str
    title: str
    sources: tuple[str, ...]
    load: Loader
    match: Matcher
    strict: Matcher = match_equal
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
        """Load all examples; UserError if their number differs from upstream's."""
        examples = list(_with_own_ids(self.load(raw)))
        if self.count is not None and len(examples) != self.count:
            raise UserError(
                f"task {self.name}: {len(examples)} examples in {raw}, upstream has {self.count}. "
                f"The raw files are not the published ones: run `dvc repro acquire` again."
            )
        return examples

    def is_right(self, answer: str, example: Example) -> bool:
        """The answer is right by the published or the strict rule; TooLate if none could judge in
        time.
        """
        return self.strict(answer, example) or self.match(answer, example)

    def grade(self, response: str, example: Example, extract: Extractor | None = None) -> Grade:
        """Grade a response; ``extract`` replaces the task's own."""
        return grade(response, example, self.match, self.strict, extract or self.extract)


def _with_own_ids(examples: Iterable[Example]) -> Iterator[Example]:
    """Give rows that upstream repeats distinct ids."""
    seen: Counter[str] = Counter()
    for example in examples:
        seen[example.id] += 1
        if (times := seen[example.id]) > 1:
            yield replace(example, id=content_hash(example.id, times))
        else:
            yield example


_TASKS: dict[str, Task] = {}


def register(task: Task) -> None:
    """Add a task under its unique name."""
    if task.name in _TASKS:
        raise ValueError(f"task {task.name} is registered twice")
    _TASKS[task.name] = task


@lru_cache(maxsize=1)
def _load() -> None:
    for module in BENCHMARKS:
        import_module(module)


def find(name: object) -> Task | None:
    _load()
    return _TASKS.get(name) if isinstance(name, str) else None


def get(name: str) -> Task:
    """A registered task; UserError for an unknown one."""
    _load()
    try:
        return _TASKS[name]
    except KeyError:
        raise UserError(
            f"unknown task {name!r}{did_you_mean(name, _TASKS)}; there are: "
            f"{', '.join(sorted(_TASKS))}"
        ) from None


def module_of(name: str) -> str:
    """The module that loads a task's rows, and registers it; UserError for an unknown one."""
    load = get(name).load
    return str(getattr(load, "func", load).__module__)  # most are partial functions


def all_tasks() -> tuple[Task, ...]:
    _load()
    return tuple(_TASKS[name] for name in sorted(_TASKS))
