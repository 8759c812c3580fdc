"""Blocks that come from other stored results: audits, recorded answers, taught weights, speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.quoted.table import made_on, table, whole, with_ends
from pipeline.analysis.answer import counts
from pipeline.analysis.ledger.ledger import HEADINGS
from pipeline.analysis.ledger.of_recorded import STEPS
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import percent, points
from pipeline.judge.answers import followed
from pipeline.tasks.registry import get

Sets = Mapping[str, Mapping[str, Any]]
Found = Mapping[str, Any]

# --- rules of the audit ---------------------------------------------------------------------------

STUDIES = {"rlvr": "Study 2"}
_CHOICE = "tom:belief:{}:multiple-choice"

RULES: tuple[tuple[str, str, str, Sequence[int] | str | None], ...] = (
    ("hi_tom", "earliest exit", "where the object was when the first of the chain left", None),
    ("hi_tom", "earliest exit", "orders 0 to 4", range(5)),
    ("hi_tom", "scene start", "where it was when the last scene began; orders 1 to 4", range(1, 5)),
    ("hi_tom_order4", "earliest exit", "", None),
    ("tomi", "last", "last place", None),
    ("tomi", "initial", "initial place", None),
    ("tomi", "earliest exit", "", None),
    ("explore_tom", "most frequent", "most frequent place, of equals the first named", None),
    ("explore_tom", "earliest exit", "", None),
    ("explore_tom", "last mention", "last candidate mentioned", None),
    ("explore_tom_infilled", "last mention", "last candidate mentioned", None),
    ("fantom_belief", "phrase cue", "the option that says somebody does not know", "inaccessible"),
    ("fantom_belief", "phrase cue", "the same", "accessible"),
    ("fantom_yes_no", "speaks least", "whoever speaks least does not know, all others do", None),
    ("fantom_yes_no", "speaks first", "whoever speaks first does not know, all others do", None),
    ("fantom_yes_no", "majority answer", "most common answer", None),
    ("opentom", "majority answer", "most common answer to questions of the type", None),
)
"""A set, a rule, what that is, and the orders, or the scenario, of the questions, if not all."""


def rules_table(sets: Sets) -> str:
    """What rules score that somebody named."""
    columns = {
        "data": lambda row: _named(row[0], sets),
        "rule": lambda row: row[1],
        "that is": lambda row: row[2],
        "accuracy": lambda row: _accuracy(sets[row[0]], row[1], row[3]),
        "command": lambda row: f"`tomrl audit {row[0]}`",
    }
    return table(columns, (row for row in RULES if "absent" not in sets.get(row[0], "absent")))


def _accuracy(found: Found, rule: str, of: Sequence[int] | str | None) -> str:
    if of is None:
        accuracy = found["rules"][rule]
        return f"{percent(accuracy)}, wrong on {round(found['rows'] * (1 - accuracy)):,}"
    if isinstance(of, str):
        part = found["by_type"][_CHOICE.format(of)]
        guessed = f"{percent(part['guess'][rule])} with a coin where undefined"
        return f"{of}: {percent(part['rules'][rule])}; {guessed}"
    return ", ".join(percent(found["by_order"][str(order)][rule]) for order in of)


def _named(name: str, sets: Sets) -> str:
    return f"{_title(name)}, {sets[name]['rows']:,}"


def _title(name: str) -> str:
    study, _, combination = name.partition("/")
    return f"{STUDIES[study]}, training set `{combination}`" if combination else get(name).title


# --- recorded answers -----------------------------------------------------------------------------

SHOWN = {
    "moves unseen": "sees",
    "absence unseen": "who was out",
    "returns missed": "returns",
    "sight alone": "claims",
    "trust reversed": "whom to trust",
    "two orders": "nests",
}
"""The faculties that the table shows, by the mind that lacks each."""


def recorded_table(models: Sequence[Found]) -> str:
    """The verdict on each of the recorded models, with the profile."""

    def faculty(mind: str) -> Callable[[Found], str]:
        return lambda each: _of(_faculty(each, mind))

    columns = {
        "model": lambda each: each["model"],
        "step": lambda each: each["step"] or "-",
        "right": lambda each: with_ends(each["accuracy"]),
        "answers follow": lambda each: followed(each["answers"], each["by"]),
        "explained": lambda each: f"{whole(each['explained'])} %",
        "the same where that is wrong": _copied,
        **{called: faculty(mind) for mind, called in SHOWN.items()},
        "true claims": lambda each: with_ends(each["true"]) if each["true"]["count"] else "-",
        "reasoning is": lambda each: each["reasoning"],
        "words": lambda each: f"{each['median_words']:.0f}",
        "signatures": lambda each: ", ".join(each["signatures"]) or "-",
    }
    return table(columns, models)


def accuracy_table(models: Sequence[Found]) -> str:
    """How many answers are right, by belief order, and what those who recorded them found."""
    columns: dict[str, Callable[[Found], object]] = {
        "model": lambda each: each["model"],
        "step": lambda each: each["step"] or "-",
        "right": lambda each: with_ends(each["all"]),
        **{f"order {order}": partial(_at_order, order) for order in range(5)},
        "in the authors' files": _theirs,
        "read": lambda each: each["answered"]["count"],
    }
    return table(columns, models)


def _at_order(order: int, model: Found) -> str:
    return whole(model["orders"][order])


def _theirs(model: Found) -> str:
    """The accuracy by the authors' own grades, and how many of the answers ours differ on."""
    if model["theirs"] is None:
        return "-"
    return f"{100 * model['theirs']:.1f} ({model['graded_otherwise']} graded otherwise)"


def field_text(found: Found) -> str:
    """What models beside each other show, in sentences."""
    sentences = (_checkpoints, _smallest, _difficulty, _claims, _step_by_step, _tomi)
    return "".join(f"- {each(found)}\n" for each in sentences)


def _checkpoints(found: Found) -> str:
    name, large, (first, *_, last) = "7B-1M", "7B", STEPS
    series = ", ".join(f"{100 * _model(found, name, s)['all']['value']:.1f}" for s in STEPS)
    return (
        f"**The published accuracy of {name} is that of its last checkpoint**: {series} % at steps "
        f"{', '.join(map(str, STEPS))} ({_lead(found, (name, last), (name, first))} from the first "
        f"to the last). Against {large} it is {_lead(found, (name, first), (large, first))} at "
        f"step {first}, and {_lead(found, (name, last), (large, last))} at {last}."
    )


def _smallest(found: Found) -> str:
    small, api = ("0.5B", STEPS[-1]), ("GPT-4o", 0)
    model = _model(found, *small)
    return (
        f"**0.5B after RL is as accurate as GPT-4o, and answers differently**: "
        f"{_lead(found, small, api)} on all questions, {_lead(found, small, api, 0)} on where the "
        f"object really is. Its answers follow {followed(model['answers'], model['by'])}, and its "
        f"reasoning is {model['reasoning']}."
    )


def _difficulty(found: Found) -> str:
    trained = [each for each in found["models"] if each["kind"] == "rl"]
    others = [each for each in found["models"] if each["kind"] in ("address", "2023")]
    turned, never = (sum(map(_turned, each)) for each in (trained, others))
    return (
        "**Difficulty turns round under RL**: questions of order 4 are answered better than those "
        f"of order 1 by {turned} of {len(trained)} checkpoints, and by {never} of {len(others)} "
        "answers of models that were not trained on them."
    )


def _claims(found: Found) -> str:
    asked = {
        **{f"{name} before RL": (name, 0) for name in ("7B", "7B-1M")},
        "GPT-4o": ("GPT-4o", 0),
        **{f"{name} after it": (name, STEPS[-1]) for name in ("7B", "7B-1M")},
    }
    heeded = "; ".join(
        f"{called} {_of(_faculty(_model(found, *which), 'sight alone'))}"
        for called, which in asked.items()
    )
    return (
        f"**Claims**: of the questions whose answer depends on a claim, answered so: {heeded}. 30 "
        "are needed before the verdict speaks of this faculty."
    )


def _step_by_step(found: Found) -> str:
    told = (
        f"{name} {_lead(found, (f'{name}, 2023, step by step', 0), (f'{name}, 2023', 0))}"
        for name in ("GPT-4", "Claude-instant")
    )
    return f"**Step by step in 2023**: {', '.join(told)}."


def _tomi(found: Found) -> str:
    tomi = found["tomi"]
    return (
        f"**ToMi**: of {tomi['wrong']} second-order errors of GPT-4 (of {tomi['asked']} "
        f"questions), {tomi['wrong_and_contradicted']} are on questions whose label the belief "
        f"engine contradicts; there are {tomi['contradicted']} of these."
    )


def _model(found: Found, name: str, step: int) -> Found:
    return next(e for e in found["models"] if (e["model"], e["step"]) == (name, step))


def _lead(
    found: Found, one: tuple[str, int], other: tuple[str, int], order: int | None = None
) -> str:
    """How far one model is ahead of another, which was compared with it."""
    keys = ("one", "step", "other", "other_step", "order")
    compared = next(
        each
        for each in found["compared"]
        if tuple(each[key] for key in keys) == (*one, *other, order)
    )
    lead = compared["lead"]
    ends = points(lead["value"], lead["low"], lead["high"])
    return f"{ends} points, p = {compared['p_value']:.2g}"


def _turned(model: Found) -> bool:
    return bool(model["orders"][4] > model["orders"][1])


def _faculty(model: Found, mind: str) -> Found | None:
    """How often a model shows the faculty that a mind lacks; None where it was not asked."""
    return next((part["whole"] for part in model["profile"] if part["without"] == mind), None)


def _of(found: Found | None) -> str:
    """How many answers show a faculty, of how many that ask for it."""
    return "-" if found is None else f"{round(found['value'] * found['count'])} of {found['count']}"


def _copied(found: Found) -> str:
    """The share of answers that are those of what is named, of how many where that is wrong."""
    if not found["beside_by"]:
        return "-"
    copied = found["beside_by"]["copied"]
    return f"{with_ends(copied)} of {copied['count']}"


def recorded_text(models: Sequence[Found]) -> str:
    """How many of the verdicts say what."""
    return " ".join(counts([(e["answers"], e["by"]) for e in models], "recorded models")) + "\n"


def ledger_table(ledger: Found) -> str:
    """The claims that are decided, and how many have which word."""
    headings = (HEADINGS[0], *HEADINGS[2:])
    rows = ((f"`{name}`", *rest) for name, *rest in ledger["claims"])
    return f"{ledger['summary'].capitalize()}.\n\n{markdown_table(headings, rows)}"


# --- taught weights, and speed --------------------------------------------------------------------


def taught_text(found: Found) -> str:
    """What every model does, and how well use is told from neglect."""
    models = {
        "model": lambda each: f"`{each['base']}`",
        "taught": lambda each: each["taught"],
        "form": lambda each: each["form"],
        "right": lambda each: f"{whole(each['right'])} %",
        "edits": lambda each: each["used"]["count"],
        "used, %": lambda each: with_ends(each["used"]),
        "answer stays": lambda each: f"{whole(each['stays'])} %",
    }
    forms = {
        "form": lambda form: form,
        "steps": lambda form: found["steps"][form],
        "lessons of a step": lambda _: found["batch"],
        "area under the ROC": lambda form: _area(found["areas"][form]),
        "asked": lambda _: found["asked"],
    }
    made = f"Made on: commit {found['commit']}, {found['processor']}."
    return f"{table(models, found['models'])}\n{table(forms, found['areas'])}\n{made}\n"


def _area(area: float | None) -> str:
    return "too little that can be edited" if area is None else f"{area:.2f}"


def speed(found: Found) -> str:
    """How fast a real model answers and learns on a CPU, from what ``real_model`` measured."""
    rows = [
        *((f"answers, {row['precision']}", "generate", row) for row in found["answers"]),
        ("a GRPO step, bfloat16", "trl", found["step"]),
        ("a step of imitation, bfloat16", "transformers", found["imitation"]),
    ]
    columns = {
        "what": lambda each: each[0],
        "here, s": lambda each: f"{each[2]['ours_seconds']:.1f}",
        "beside": lambda each: _BESIDE[each[1]],
        "there, s": lambda each: f"{each[2][f'{each[1]}_seconds']:.1f}",
        "times faster (each round)": lambda each: (
            "{ratio:.1f} ({ratio_low:.1f}-{ratio_high:.1f})".format_map(each[2])
        ),
    }
    ours, theirs = (found["step"][name] / 1e9 for name in ("ours_peak", "trl_peak"))
    made = made_on(found["commit"], found["processor"], found["libraries"])
    return (
        f"{table(columns, rows)}\n{made} {found['threads']} threads; medians of rounds in turns. "
        f"At its peak the process that takes GRPO steps held {ours:.1f} GB, TRL's {theirs:.1f} "
        "GB.\n"
    )


_BESIDE = {
    "generate": "transformers' `generate`",
    "trl": "TRL",
    "transformers": "transformers' modules",
}
