"""Blocks that come from other stored results: audits, recorded answers, taught weights, speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.quoted.table import made_on, table, whole, with_ends
from pipeline.analysis.answer import counts
from pipeline.analysis.ledger.ledger import HEADINGS
from pipeline.analysis.seeds import SeedEstimate
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


def compared_text(found: Found) -> str:
    """Models beside each other, question by question, and whose the errors on ToMi are."""
    columns = {
        "model": lambda each: each["one"],
        "step": lambda each: each["step"] or "-",
        "less": lambda each: each["other"],
        "its step": lambda each: each["other_step"] or "-",
        "questions": lambda each: "all" if each["order"] is None else f"order {each['order']}",
        "points": lambda each: points(*(each["lead"][end] for end in ("value", "low", "high"))),
        "p": lambda each: f"{each['p_value']:.2g}",
    }
    tomi = found["tomi"]
    return (
        f"{table(columns, found['compared'])}\n"
        f"ToMi: of {tomi['wrong']} second-order errors of GPT-4 (of {tomi['asked']} questions), "
        f"{tomi['wrong_and_contradicted']} are on questions whose label the belief engine "
        f"contradicts; there are {tomi['contradicted']} of these.\n"
    )


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


_RATES = {
    "planted shortcuts that are taken up": ("taken_up",),
    "of these, found before a quarter of the steps": ("found",),
    "of these, named as planted": ("named",),
    **{f"found, {name}": ("by_shortcut", name) for name in ("sight alone", "last", "initial")},
    "planted, with a false alarm": ("false_of_planted",),
    "clean trainings with an alarm": ("clean_with_alarm",),
    "clean trainings with a false alarm": ("false",),
}


def alarm_text(found: Found) -> str:
    """How many shortcuts are found, and how many alarms are false."""

    def rate(keys: Sequence[str]) -> Found:
        each = found
        for key in keys:
            each = each[key]
        return each

    rows = {
        "": lambda row: row[0],
        "%, 95 % interval": lambda row: with_ends(rate(row[1])),
        "of": lambda row: rate(row[1])["count"],
    }
    steps = found["steps"]
    said = (
        f"Found at step {steps[0]} to {steps[-1]}, half of them by {steps[len(steps) // 2]}. "
        f"Watching takes {100 * found['share_of_step']:.1f} % of a step. "
    )
    made = made_on(found["commit"], found["processor"], found["libraries"])
    return f"{table(rows, _RATES.items())}\n{said}{made}\n"


def found_text(found: Found) -> str:
    """What a search found against models, and what training on it changed."""

    def pairs(run: Found, when: str) -> str:
        return f"{100 * run[when]['pairs']:.1f}" if when in run else "not trained"

    columns = {
        "model": lambda run: f"`{run['model']}`",
        "asked": lambda run: f"{run['asked']:,}",
        "wrong": lambda run: f"{run['wrong']:,}",
        "kept": lambda run: f"{run['kept']:,}",
        "best rule on them, %": lambda run: whole(run["rules"]),
        "minutes": lambda run: f"{run['seconds'] / 60:.1f}",
        "pairs both right before, %": lambda run: pairs(run, "before"),
        "after": lambda run: pairs(run, "after"),
        "answers then follow": lambda run: run["after"]["follows"] if "after" in run else "-",
    }
    rise = SeedEstimate(**found["gained"]["pairs"]).points()
    shortest = found["models"][0]["shown"][0]
    said = shortest["response"] or "nothing"
    story = f"```text\n{shortest['story']}\n{shortest['question']}\n```\n"
    example = f"{story}\nBeliefs say `{shortest['answer']}`; it said `{said}`.\n"
    made = made_on(found["commit"], found["processor"], found["libraries"])
    return (
        f"{table(columns, found['models'])}\nPairs rise by {rise} points. {made}\n\nThe shortest "
        f"story against `{found['models'][0]['model']}`:\n\n{example}"
    )


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
