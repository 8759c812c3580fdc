"""Chains of cells that start from the weights of other cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline.config.arms import Arm
from pipeline.config.grid import StudyGrid
from pipeline.config.mistakes import Mistake, wrong

_SAME = "a cell starts from the cell of its own model and seed"


def start_data(own: str, named: str | None, there: Sequence[str]) -> str | None:
    """The data of the cell that a cell starts from; None if there is none, or several.

    Args:
        named: The data that its arm names.
        there: The data of the arm that it starts from.
    """
    if named is not None or own in there:
        wanted = own if named is None else named
        return wanted if wanted in there else None
    return there[0] if len(there) == 1 else None


def chain_mistakes(grid: StudyGrid) -> Iterator[Mistake]:
    """Yield starts from unknown arms or data, and circles."""
    everything = grid.combinations
    data = {name: arm.combinations or everything for name, arm in grid.arms.items()}
    for name, arm in grid.arms.items():
        for number, each in enumerate(arm.combinations or ()):
            if each not in everything:
                allowed = f"{', '.join(everything)} (grid.combinations)"
                yield wrong(("arms", name, "combinations", number), each, allowed)
        for mistake in _start_mistakes(name, arm, data):
            yield mistake.within("arms", name, "starts_from")
    yield from _circles(grid.arms)
    trained = {each for found in data.values() for each in found}
    for number, each in enumerate(everything):
        if grid.arms and each not in trained:
            text = f"no arm trains on {each}; name it in grid.arms.ARM.combinations, or remove it"
            yield Mistake(("combinations", number), text)


def _start_mistakes(own: str, arm: Arm, data: Mapping[str, tuple[str, ...]]) -> Iterator[Mistake]:
    if arm.starts_from is None:
        return
    first, named = arm.starts_from.arm, arm.starts_from.combination
    if first not in data:
        others = ", ".join(name for name in data if name != own) or "there is none"
        yield wrong((), first, f"another arm of the study ({others}), since {_SAME}")
        return
    there = data[first]
    if named is not None:
        if named not in there:
            allowed = f"what arm {first} trains on: {', '.join(there)}"
            yield wrong(("combination",), named, allowed)
        return
    lost = next((each for each in data[own] if start_data(each, None, there) is None), None)
    if lost is not None:
        text = (
            f"arm {first} does not train on {lost}, but on {', '.join(there)}; name one: "
            f"{{arm: {first}, combination: {there[0]}}}"
        )
        yield Mistake((), text)


def _circles(arms: Mapping[str, Arm]) -> Iterator[Mistake]:
    said: set[str] = set()
    for name in arms:
        way: list[str] = []
        step = name
        while step in arms and step not in way:
            way.append(step)
            start = arms[step].starts_from
            step = start.arm if start else ""
        if step == name and name not in said:
            said.update(way)
            text = (
                f"closes a circle: {' <- '.join([*way, name])}; remove starts_from of one of them"
            )
            yield Mistake(("arms", name, "starts_from"), text)
