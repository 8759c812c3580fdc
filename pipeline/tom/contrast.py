"""Questions of a counterfactual pair that no simple rule answers right on both sides.

Counterfactual pairs tell belief from rule only where every rule fails on one member at least: a
witness who leaves before the move in one story and after it in the other is told apart by "where it
was when they left" as well as by following beliefs.
"""

from __future__ import annotations

from pipeline.tom.belief import beliefs
from pipeline.tom.conversation import SUSPECTS, suspect_answer
from pipeline.tom.generate.item import CounterfactualPair, GeneratedItem, GeneratedQuestion
from pipeline.tom.parse.text import ParsedStory
from pipeline.tom.shortcut import SHORTCUTS, Surface


def in_contrast(pair: CounterfactualPair, question: int) -> bool:
    """The answers differ and no single rule is right on both members.

    The rules are :data:`pipeline.tom.shortcut.SHORTCUTS` and, for conversations,
    :data:`pipeline.tom.conversation.SUSPECTS`. Constant answers and rules by position or mention
    need no trial: both members offer and mention the same, so such a rule answers both alike.
    """
    observed, hidden = pair.observed, pair.hidden
    if observed.questions[question].answer == hidden.questions[question].answer:
        return False
    return not (right_rules(observed, question) & right_rules(hidden, question))


def right_rules(item: GeneratedItem, question: int) -> frozenset[str]:
    asked = item.questions[question]
    said = _by_suspects(item, asked) if asked.asked is None else _by_shortcuts(item, asked)
    return frozenset(name for name, answer in said.items() if answer == asked.answer)


def _by_shortcuts(item: GeneratedItem, question: GeneratedQuestion) -> dict[str, str | None]:
    assert question.asked is not None
    told, choices = ParsedStory(item.events, ()), question.choices or ()
    surface = Surface(item.story, told, question.asked, choices, beliefs(item.events))
    return {name: rule(surface) for name, rule in SHORTCUTS.items()}


def _by_suspects(item: GeneratedItem, question: GeneratedQuestion) -> dict[str, str | None]:
    asked, choices = question.text, question.choices or ()
    return {
        name: suspect_answer(suspect, item.story, asked, choices)
        for name, suspect in SUSPECTS.items()
    }
