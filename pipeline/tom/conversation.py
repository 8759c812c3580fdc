"""Surface rules for conversations: who speaks first, who speaks least.

A person who misses a part of a conversation says less in it, and one who leaves often has the first
word of what is shown. On the 1,718 yes/no questions about who knows something that FANToM's
annotations answer, "whoever speaks least does not know" is right on 89.2 % and the majority answer
on 77.6 %.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pipeline.tom.shortcut import pick_unaware

_SPEAKER = re.compile(
    r"^(?:(?P<plain>[A-Z][\w'-]*(?: [A-Z][\w'-]*)?): .|<(?P<chat>\w+)> ."
    r"|\".*\" said (?P<prose>\w+)\.$)",
    re.MULTILINE,
)
_ABOUT = re.compile(r"\b[Dd]oes ([A-Z][\w'-]*) (?:know|believe|think)")
_LISTS = "List all the characters"
_YES_NO = "Answer yes or no"

Suspect = Callable[[str], str | None]
"""From a conversation to the participant taken not to know, or None."""


def speakers(text: str) -> tuple[str, ...]:
    """The speaker of each line; empty for any other text."""
    found = tuple(
        line["plain"] or line["chat"] or line["prose"] for line in _SPEAKER.finditer(text)
    )
    return found if len(set(found)) > 1 else ()


def speaks_first(text: str) -> str | None:
    return next(iter(speakers(text)), None)


def speaks_least(text: str) -> str | None:
    """The person with the fewest lines, or None if that is not unique."""
    counts = Counter(speakers(text))
    least = [who for who, count in counts.items() if count == min(counts.values())]
    return least[0] if len(least) == 1 else None


SUSPECTS: Mapping[str, Suspect] = {"speaks_first": speaks_first, "speaks_least": speaks_least}


def suspect_answer(
    suspect: Suspect, text: str, question: str, choices: Sequence[str] = ()
) -> str | None:
    """Answer who knows, taking only the suspect not to know.

    Args:
        suspect: One of ``SUSPECTS``.
        text: The conversation.
        question: A question in FANToM's words.
        choices: The options, or the names to choose from.

    Returns:
        ``yes`` or ``no``, names, or an option; None where the rule does not apply.
    """
    present = tuple(dict.fromkeys(speakers(text)))
    if not present:
        return None
    unaware = suspect(text)
    if _LISTS in question:
        return ", ".join(who for who in choices or present if who != unaware)
    asked = _ABOUT.search(question)
    if asked is None:
        return None
    if _YES_NO in question:
        return "no" if asked[1] == unaware else "yes"
    option = pick_unaware(choices)
    if option is None or len(choices) != 2 or asked[1] == unaware:
        return option
    return next(choice for choice in choices if choice != option)
