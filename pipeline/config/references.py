"""What must fit together across the sections of a study, or of ``params.yaml``.

Works on content as it is written, checked or not, so that these mistakes are reported together with
all others: whatever has not the form that a check needs, another mistake is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import product

from pipeline.config.algorithms import ALGORITHMS
from pipeline.config.mistakes import Mistake, Place, shown, wrong
from pipeline.config.models import WarmStart
from pipeline.config.sources import source_name

FOLDERS = ("audit", "base", "combos", "raw", "sources", "suite")
"""What lies in the folders of a study; a study or cell of such a name could not be told from it."""


def at(content: object, *way: str) -> object:
    """What stands at a place, None where there is nothing."""
    for name in way:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def section_at(content: object, *way: str) -> dict[str, object]:
    """The section at a place; an empty one where there is none."""
    found = at(content, *way)
    return found if isinstance(found, dict) else {}


def names_at(content: object, *way: str) -> list[str]:
    """The texts of the list at a place."""
    found = at(content, *way)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def whole_at(content: object, *way: str, default: int = 0) -> int:
    """The whole number at a place, the default where there is none."""
    found = at(content, *way)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


# --- studies --------------------------------------------------------------------------------------


def study_mistakes(content: object) -> Iterator[Mistake]:
    """Yield what a study names without defining it, names twice, or has in sections that clash."""
    yield from reserved(at(content, "name"), ("name",))
    yield from _undefined(content)
    yield from _misnamed_sources(section_at(content, "acquire"))
    for way in (("models",), ("combinations",), ("algorithms",), ("seeds",), ("evaluate_only",)):
        yield from repeated(at(content, "grid", *way), ("grid", *way))
    yield from _lone_rollouts(content)
    yield from _short_contexts(content)
    yield from _columns(content)
    yield from _unscored_options(content)
    yield from _cells_of_one_name(content)


def repeated(found: object, place: Place) -> Iterator[Mistake]:
    """Yield what stands in a list more than once."""
    if isinstance(found, list):
        for text, count in Counter(map(shown, found)).items():
            if count > 1:
                yield Mistake(place, f"found {text} twice; keep one of them")


def reserved(name: object, place: Place) -> Iterator[Mistake]:
    """Yield a name that cannot be a study's or a cell's."""
    if name in FOLDERS:
        yield Mistake(place, f"found {shown(name)}, the name of a folder in it; choose another")


def _undefined(content: object) -> Iterator[Mistake]:
    combinations = at(content, "dataset", "combinations")
    columns = at(content, "suite", "tasks")
    yield from _missing(content, ("grid", "models"), at(content, "base", "models"))
    yield from _missing(content, ("grid", "evaluate_only"), at(content, "base", "models"))
    yield from _missing(content, ("grid", "combinations"), combinations)
    yield from _missing(content, ("dataset", "probe", "columns"), columns)
    for key, column in section_at(content, "suite", "tasks").items():
        place = ("suite", "tasks", key, "trained")
        yield from repeated(at(column, "trained"), place)
        yield from _missing(content, place, combinations)
    algorithms = _algorithms(content)
    for name in section_at(content, "train", "algorithms"):
        if algorithms and name not in algorithms:
            yield wrong(("train", "algorithms", name), name, ", ".join(algorithms))


def _missing(content: object, way: tuple[str, ...], there: object) -> Iterator[Mistake]:
    """Yield the names of a list that are not those of a section, if there is one."""
    used = at(content, *way)
    if isinstance(there, dict) and isinstance(used, list):
        for number, name in enumerate(used):
            if isinstance(name, str) and name not in there:
                yield wrong((*way, number), name, ", ".join(there))


def _misnamed_sources(sources: dict[str, object]) -> Iterator[Mistake]:
    """Tasks find generated sources by name, so the name follows from kind and telling."""
    for key, source in sources.items():
        kind, telling = at(source, "kind"), str(at(source, "telling") or "benchmark")
        if kind == "upstream" or not isinstance(kind, str):
            continue
        if key != (name := source_name(kind, telling)):
            text = f"found the name {shown(key)}; allowed: {name}"
            yield Mistake(("acquire", key), text)


def _lone_rollouts(content: object) -> Iterator[Mistake]:
    own = {
        key: (at(arm, "rollouts"), at(arm, "algorithm", "name") or at(arm, "algorithm"))
        for key, arm in section_at(content, "grid", "arms").items()
    }
    for key, (rollouts, algorithm) in own.items():
        if rollouts == 1 and _compares(algorithm):
            yield _lone_rollout(("grid", "arms", key, "rollouts"), str(algorithm))
    shared = [algorithm for rollouts, algorithm in own.values() if rollouts is None]
    compared = [n for n in (*names_at(content, "grid", "algorithms"), *shared) if _compares(n)]
    if compared and at(content, "train", "rollouts") == 1:
        yield _lone_rollout(("train", "rollouts"), str(compared[0]))


def _algorithms(content: object) -> list[str]:
    """The algorithms of the grid, also those of its arms."""
    arms = section_at(content, "grid", "arms").values()
    named = [at(arm, "algorithm", "name") or at(arm, "algorithm") for arm in arms]
    return [
        *names_at(content, "grid", "algorithms"),
        *(name for name in named if isinstance(name, str)),
    ]


def _compares(algorithm: object) -> bool:
    kind = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    return kind is not None and kind.compares


def _lone_rollout(place: Place, algorithm: str) -> Mistake:
    return wrong(place, 1, f"2 or more, because {algorithm} compares the completions of a prompt")


def _short_contexts(content: object) -> Iterator[Mistake]:
    """A tiny model must have room for the longest prompt with the longest completion."""
    needed = sum(
        whole_at(content, "train", name) for name in ("max_prompt_tokens", "max_new_tokens")
    )
    default: int = WarmStart.model_fields["context"].default
    for name in names_at(content, "grid", "models"):
        place = ("base", "models", name, "warm_start", "context")
        context = whole_at(content, *place, default=default)
        if at(content, "base", "models", name, "kind") == "tiny" and context < needed:
            sum_of = "train.max_prompt_tokens and max_new_tokens"
            yield wrong(place, context, f"{needed} or more, the sum of {sum_of}")


def _columns(content: object) -> Iterator[Mistake]:
    for check in section_at(content, "suite", "side_checks"):
        if check in section_at(content, "suite", "tasks"):
            text = f"a task has the name {shown(check)} already; choose another"
            yield Mistake(("suite", "side_checks", check), text)


def _unscored_options(content: object) -> Iterator[Mistake]:
    """Models without weights do not say how likely an option is."""
    if at(content, "evaluate", "scoring") != "options":
        return
    for number, name in enumerate(names_at(content, "grid", "evaluate_only")):
        kind = at(content, "base", "models", name, "kind")
        if kind in ("api", "recorded"):
            text = (
                f"found {shown(name)}, a model of kind {kind}, which does not say how likely an "
                "option is, with evaluate.scoring: options; ask it in a study of its own, or leave "
                "scoring out"
            )
            yield Mistake(("grid", "evaluate_only", number), text)


def _cells_of_one_name(content: object) -> Iterator[Mistake]:
    grid = section_at(content, "grid")
    models, combinations = names_at(grid, "models"), names_at(grid, "combinations")
    bases = dict.fromkeys([*models, *names_at(grid, "evaluate_only")])
    pairs = {(m, c): f"{m}-{c}" for m, c in product(dict.fromkeys(models), combinations)}
    names = Counter([*(f"{model}-base" for model in bases), *pairs.values()])
    for (model, combination), name in pairs.items():
        if names[name] > 1:
            pair = f"model {model} with combination {combination}"
            text = f"{pair} makes the cell {name} twice; choose other names"
            yield Mistake(("grid", "combinations"), text)


# --- params.yaml ----------------------------------------------------------------------------------


def cell_mistakes(
    key: str, cell: object, there: Mapping[str, Collection[str]]
) -> Iterator[Mistake]:
    """Yield what a cell of ``params.yaml`` names that is not there, or what clashes in it.

    Args:
        key: Its key.
        cell: Its resolved content, checked or not.
        there: The names that its fields ``model`` and ``combination`` may have.
    """
    for field, names in there.items():
        name = at(cell, field)
        if isinstance(name, str) and name not in names:
            yield wrong(("cells", key, field), name, ", ".join(names))
    algorithm = at(cell, "algorithm", "name")
    if _compares(algorithm) and at(cell, "train", "rollouts") == 1:
        yield _lone_rollout(("cells", key, "train", "rollouts"), str(algorithm))
