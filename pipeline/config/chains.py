"""Chains: cells that start from the weights of other cells, and what no chain can be.

Mistakes are found in content as it is written, as in :mod:`pipeline.config.references`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.config.mistakes import Mistake, Place, wrong
from pipeline.config.references import at, names_at, section_at

_SAME = "a cell starts from the cell of its own model and seed"


def start_data(own: str, named: str | None, there: Sequence[str]) -> str | None:
    """The data of the cell that a cell starts from; None where there is no such cell, or several.

    Args:
        own: The data of the cell itself.
        named: What its arm names.
        there: What the arm that it starts from trains on.
    """
    if named is not None or own in there:
        wanted = own if named is None else named
        return wanted if wanted in there else None
    return there[0] if len(there) == 1 else None


def chain_mistakes(content: object) -> Iterator[Mistake]:
    """Yield what arms start from that is not there, what closes a circle, and data of no arm."""
    arms = section_at(content, "grid", "arms")
    everything = names_at(content, "grid", "combinations")
    data = {name: names_at(arm, "combinations") or everything for name, arm in arms.items()}
    for name, arm in arms.items():
        place = ("grid", "arms", name)
        for number, each in enumerate(names_at(arm, "combinations")):
            if each not in everything:
                allowed = ", ".join(everything)
                yield wrong(
                    (*place, "combinations", number), each, f"{allowed} (grid.combinations)"
                )
        yield from _start_mistakes((*place, "starts_from"), arm, name, data)
    yield from _circles(arms)
    trained = {each for found in data.values() for each in found}
    for number, each in enumerate(everything):
        if arms and each not in trained:
            text = f"no arm trains on {each}; name it in grid.arms.ARM.combinations, or remove it"
            yield Mistake(("grid", "combinations", number), text)


def _first(arm: object) -> str | None:
    """The name of the arm that an arm starts from."""
    found = at(arm, "starts_from", "arm") or at(arm, "starts_from")
    return found if isinstance(found, str) else None


def _start_mistakes(
    place: Place, arm: object, own: str, data: dict[str, list[str]]
) -> Iterator[Mistake]:
    first, named = _first(arm), at(arm, "starts_from", "combination")
    if first is None:
        return
    if first not in data:
        allowed = ", ".join(name for name in data if name != own) or "there is none"
        yield wrong(place, first, f"another arm of the study ({allowed}), since {_SAME}")
        return
    there = data[first]
    if isinstance(named, str) and named not in there:
        allowed = f"what arm {first} trains on: {', '.join(there)}"
        yield wrong((*place, "combination"), named, allowed)
    elif not isinstance(named, str):
        for each in data[own]:
            if start_data(each, None, there) is None:
                text = (
                    f"arm {first} does not train on {each}, but on {', '.join(there)}; name one: "
                    f"{{arm: {first}, combination: {there[0] if there else '...'}}}"
                )
                yield Mistake(place, text)
                return


def _circles(arms: dict[str, object]) -> Iterator[Mistake]:
    """Yield each circle of arms once, at the arm of it that comes first in the file."""
    said: set[str] = set()
    for name in arms:
        way: list[str] = []
        step: str | None = name
        while step in arms and step not in way:
            way.append(step)
            step = _first(arms[step])
        if step == name and name not in said:
            said.update(way)
            text = (
                f"closes a circle: {' <- '.join([*way, name])}; remove starts_from of one of them"
            )
            yield Mistake(("grid", "arms", name, "starts_from"), text)
