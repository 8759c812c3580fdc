"""A study file, with checks across its sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import product

from pydantic import ValidationError, ValidationInfo, model_validator

from pipeline.config.algorithms import with_defaults
from pipeline.config.arms import Arm, recipe_mistakes
from pipeline.config.chains import chain_mistakes
from pipeline.config.data import AuditSettings, Dataset, Suite
from pipeline.config.evaluation import Evaluate
from pipeline.config.grid import StudyGrid
from pipeline.config.mistakes import Mistake, Mistaken, Place, mistakes_of, shown, wrong
from pipeline.config.models import ApiModel, Base, RecordedModel, TinyModel
from pipeline.config.programs import needs_demonstrations
from pipeline.config.section import FolderKey, Key, Section, Seed, Text, Threads
from pipeline.config.sources import Source, StorySource, source_name
from pipeline.config.training import StudyTrain


class Study(Section):
    """A complete description of an experiment."""

    name: FolderKey
    title: Text
    paper: Text | None = None
    seed: Seed = 0
    threads: Threads = 2
    acquire: dict[Key, Source]
    dataset: Dataset
    suite: Suite
    audit: AuditSettings = AuditSettings()
    base: Base
    train: StudyTrain
    evaluate: Evaluate
    grid: StudyGrid

    @property
    def arms(self) -> dict[str, Arm]:
        own = self.train.algorithms
        return self.grid.arms or {
            name.replace("_", "-"): Arm(algorithm=own.get(name) or with_defaults(name))
            for name in self.grid.algorithms
        }

    def data_of(self, arm: Arm) -> tuple[str, ...]:
        return arm.combinations or self.grid.combinations

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Study:
        """Raise all mistakes across sections; the context holds further checks."""
        checks = (_undefined, _misfits, _unlike_its_recipe, *(info.context or ()))
        if found := [mistake for check in checks for mistake in check(self)]:
            raise Mistaken(found)
        return self


def _undefined(study: Study) -> Iterator[Mistake]:
    grid, columns = study.grid, study.suite.tasks
    named: list[tuple[Place, Collection[str], Collection[str]]] = [
        (("grid", "models"), grid.models, study.base.models),
        (("grid", "evaluate_only"), grid.evaluate_only, study.base.models),
        (("grid", "combinations"), grid.combinations, study.dataset.combinations),
    ]
    named += (
        (("suite", "tasks", key, "trained"), column.trained, study.dataset.combinations)
        for key, column in columns.items()
    )
    for place, names, there in named:
        for number, name in enumerate(names):
            if name not in there:
                yield wrong((*place, number), name, ", ".join(there))
    algorithms = [arm.algorithm.name for arm in study.arms.values()]
    for name in study.train.algorithms:
        if name not in algorithms:
            yield wrong(("train", "algorithms", name), name, ", ".join(algorithms))


def _misfits(study: Study) -> Iterator[Mistake]:
    """Yield conflicts between sections."""
    for mistake in chain_mistakes(study.grid):
        yield mistake.within("grid")
    for key, source in study.acquire.items():  # tasks find generated sources by name
        telling = source.telling if isinstance(source, StorySource) else "benchmark"
        name = source_name(source.kind, telling)
        if source.kind != "upstream" and key != name:
            yield Mistake(("acquire", key), f"found the name {shown(key)}; allowed: {name}")
    for check in study.suite.side_checks:
        if check in study.suite.tasks:
            text = f"a task has the name {shown(check)} already; choose another"
            yield Mistake(("suite", "side_checks", check), text)
    yield from _short_contexts(study)
    yield from _unscored_options(study)
    yield from _without_demonstrations(study)
    yield from _cells_of_one_name(study.grid)


def _unlike_its_recipe(study: Study) -> Iterator[Mistake]:
    """Yield conflicts between an arm's algorithm and its recipe."""
    found: dict[Place, Mistake] = {}
    for name, arm in study.arms.items():
        place = ("grid", "arms", name)
        try:
            recipe = arm.applied_to(study.train.recipe)
        except ValidationError as error:
            yield from (mistake.within(*place) for mistake in mistakes_of(error, arm.own))
            continue
        for mistake in recipe_mistakes(recipe, arm.algorithm):
            section = place if mistake.place[0] in arm.own else ("train",)
            said = mistake.within(*section)
            found.setdefault(said.place, said)
    yield from found.values()


def _short_contexts(study: Study) -> Iterator[Mistake]:
    """Yield tiny models without room for the longest prompt and completion."""
    needed = study.train.max_prompt_tokens + study.train.max_new_tokens
    for name in study.grid.models:
        model = study.base.models.get(name)
        if isinstance(model, TinyModel) and (context := model.warm_start.context) < needed:
            place = ("base", "models", name, "warm_start", "context")
            sum_of = "train.max_prompt_tokens and max_new_tokens"
            yield wrong(place, context, f"{needed} or more, the sum of {sum_of}")


def _without_demonstrations(study: Study) -> Iterator[Mistake]:
    for name, program in study.evaluate.programs.items():
        if needs_demonstrations(program) and study.suite.demonstrations is None:
            text = (
                f"found kind: {program.kind}, which takes questions with known answers; "
                "name them as suite.demonstrations, such as {task: hi_tom_style_train, orders: "
                "[1, 2], limit: 100}"
            )
            yield Mistake(("evaluate", "programs", name), text)


def _unscored_options(study: Study) -> Iterator[Mistake]:
    for number, name in enumerate(study.grid.evaluate_only):
        model = study.base.models.get(name)
        if study.evaluate.scoring == "options" and isinstance(model, ApiModel | RecordedModel):
            text = (
                f"found {shown(name)}, a model of kind {model.kind}, which does not say how likely "
                "an option is, with evaluate.scoring: options; ask it in a study of its own, or "
                "leave scoring out"
            )
            yield Mistake(("grid", "evaluate_only", number), text)


def _cells_of_one_name(grid: StudyGrid) -> Iterator[Mistake]:
    bases = dict.fromkeys([*grid.models, *grid.evaluate_only])
    pairs = {(m, c): f"{m}-{c}" for m, c in product(grid.models, grid.combinations)}
    names = Counter([*(f"{model}-base" for model in bases), *pairs.values()])
    for (model, combination), name in pairs.items():
        if names[name] > 1:
            pair = f"model {model} with combination {combination}"
            text = f"{pair} makes the cell {name} twice; choose other names"
            yield Mistake(("grid", "combinations"), text)
