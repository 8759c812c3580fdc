"""The marks of every shipped study are true: recomputed here from the rows, in another way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache
from pathlib import Path

import pytest

from pipeline.audit.marks import refuse_false_marks
from pipeline.config.data import Part
from pipeline.config.expand import expand
from pipeline.config.models import TinyModel
from pipeline.config.params import BaseEntry, Params, TrainedCell
from pipeline.config.sources import GeneratedSource, UpstreamSource
from pipeline.config.study_files import find_study, study_files
from pipeline.data.build import select
from pipeline.data.connection import Connection, Shown, mark
from pipeline.data.generated import pairs, stories
from pipeline.data.origin import Origin, StudyOrigins, structure_of
from pipeline.formats.files import write_lines
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.train import warm_start
from tests.conftest import PROJECT

DRAWN = 40  # stories of each generated set: enough for every kind of question
DRAWN_FOR_RULES = 300  # of upstream structure, few of which a rule answers wrongly
DEMONSTRATED = 120
Rows = Callable[[Part], tuple[Example, ...]]
Drawn = Callable[[GeneratedSource, int], Path]


@lru_cache(maxsize=64)
def published(mirror: Path, part: str) -> tuple[Example, ...]:
    """Rows of published data, read once for all studies."""
    return tuple(select(mirror, Part.model_validate_json(part), seed=0))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """What draws so many stories of a source into a folder; studies share sources."""

    @cache
    def draw(source: GeneratedSource, count: int) -> Path:
        folder = tmp_path_factory.mktemp("drawn")
        for purpose in ("train", "validation", "test"):
            made = (row for told in stories(source, purpose, count) for row in told)
            write_lines(folder / f"{purpose}.jsonl", made)
        if source.pairs:
            twins = (row for rows in pairs(source) for row in rows)
            write_lines(folder / "pairs.jsonl", twins)
        return folder

    return draw


def rows_of(params: Params, raw: Path, drawn: Drawn, request: pytest.FixtureRequest) -> Rows:
    """What selects the rows of a part: all that fit, of a few stories of generated sources."""
    asked = any(c.rule and not c.hard for c in params.suite.tasks.values())
    for key, source in params.acquire.items():
        if isinstance(source, GeneratedSource):
            few = {"train": 0, "validation": 0, "test": 0, "pairs": min(source.pairs, DRAWN)}
            count = DRAWN_FOR_RULES if asked else DRAWN
            (raw / key).symlink_to(drawn(source.model_copy(update=few), count))

    def rows(part: Part) -> tuple[Example, ...]:
        every = Part(**part.model_dump(exclude={"limit", "trained"}))
        sources = registry.get(part.task).sources
        if any(isinstance(params.acquire[name], UpstreamSource) for name in sources):
            return published(request.getfixturevalue("mirror"), every.model_dump_json())
        return tuple(select(raw, every, seed=0))

    return rows


def demonstrated(entry: BaseEntry) -> list[Example] | None:
    if not isinstance(entry.model, TinyModel):
        return None
    changes = {"stories": DEMONSTRATED, "target_accuracy": None}
    recipe = entry.model.warm_start.model_copy(update=changes)
    return [d.example for d in warm_start.demonstrations(recipe, entry.stories, entry.sums)]


def told_in(example: Example, brief: Collection[str]) -> str:
    """The benchmark and its words; a look-alike in the benchmark's own words counts as it."""
    if example.benchmark in brief:
        return f"{example.benchmark} in brief"
    retold = " retold" if example.task.endswith("_infilled") else ""
    return example.benchmark.removesuffix("_style") + retold


def truth(
    column: Iterable[Example],
    training: Iterable[Example],
    shown: Iterable[Example],
    brief: Collection[str],
) -> Connection:
    """The mark that a person would give who looks at the rows, and knows what is told in brief."""
    column, training, shown = list(column), list(training), list(shown)
    both = [*training, *shown]

    def share(found: Callable[[Example], object], rows: Iterable[Example]) -> bool:
        known = {found(row) for row in rows if found(row) is not None}
        return any(found(row) in known for row in column)

    def asked(row: Example) -> tuple[object, ...]:
        return (told_in(row, brief), row.order, row.answer_kind)

    if share(asked, training):
        return Connection.TRAINED
    if share(asked, shown):
        return Connection.DEMONSTRATED
    if share(lambda row: row.story_id if row.story else None, both):
        return Connection.SHARING_STORIES
    if share(structure_of, both):
        return Connection.SHARING_STRUCTURES
    if share(lambda row: row.benchmark.split("_style")[0], both):
        return Connection.SAME_GENERATOR
    return Connection.HELD_OUT


@pytest.mark.parametrize("name", sorted(study_files(PROJECT)))
def test_no_mark_of_a_study_is_false(
    name: str, tmp_path: Path, drawn: Drawn, request: pytest.FixtureRequest
) -> None:
    params = expand(find_study(PROJECT, name))
    rows, sources = rows_of(params, tmp_path, drawn, request), tuple(params.acquire.values())
    brief = {key for key, each in params.acquire.items() if getattr(each, "telling", "") == "brief"}
    columns = {key: rows(column) for key, column in params.suite.tasks.items()}
    assert all(columns.values()), "draw more stories"
    training = {
        key: [row for part in entry.train for row in rows(part)]
        for key, entry in params.dataset.items()
    }
    found = StudyOrigins(
        columns={key: Origin.of(column, sources) for key, column in columns.items()},
        training={key: Origin.of(examples, sources) for key, examples in training.items()},
    )
    refuse_false_marks(name, params.suite.tasks, found)
    trained = [cell for cell in params.cells.values() if isinstance(cell, TrainedCell)]
    kinds = {repr(params.base[cell.model].stories): cell.model for cell in trained}
    for model in kinds.values():  # models of one recipe of stories are shown the same kinds
        shown = demonstrated(params.base[model])
        base = None if shown is None else Origin.of(shown, params.base[model].stories)
        for combination, origin in found.training.items():
            seen = Shown(trained=origin, demonstrated=base)
            for key, column in columns.items():
                computed = mark(found.columns[key], seen).connection
                expected = truth(column, training[combination], shown or (), brief)
                assert computed == expected, (model, combination, key)


def test_study_1_trains_on_the_stories_of_its_tests(mirror: Path) -> None:
    """Source: the published files; the fourth order is asked of the 600 training stories."""
    params = expand(find_study(PROJECT, "tom-rl"))
    trained = Shown(trained=origin_of(mirror, params.dataset["hi-exp"].train[0]))
    marks = {
        key: mark(origin_of(mirror, column), trained).text()
        for key, column in params.suite.tasks.items()
    }
    assert marks == {
        "hi_tom": "trained (80 %)",
        "hi_tom_order4": "sharing stories",
        "tomi": "held out",
        "explore_tom": "trained",
        "explore_tom_infilled": "sharing stories (96 %)",
        "pairs": "trained (74 %)",
    }


def origin_of(mirror: Path, part: Part) -> Origin:
    return Origin.of(select(mirror, part, seed=0), ())
