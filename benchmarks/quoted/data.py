"""What ``docs/audit.md`` says of published sets, and other pages of the recorded answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.quoted.text import listed, paragraph, table, whole, with_ends
from pipeline.formats.foreign import markdown_text
from pipeline.formats.plural import percent
from pipeline.tasks.registry import get

Sets = Mapping[str, Mapping[str, Any]]
Row = tuple[str, str, str, Callable[[Sets], str]]

STUDIES = {"rlvr": "Study 2"}
EXIT, START = "earliest exit", "scene start"
CUE = "phrase cue"


# --- rules of the audit ---------------------------------------------------------------------------


def _accuracy(name: str, rule: str) -> Callable[[Sets], str]:
    return lambda sets: percent(sets[name]["rules"][rule])


def _orders(name: str, rule: str, orders: Sequence[int]) -> Callable[[Sets], str]:
    return lambda sets: ", ".join(percent(sets[name]["by_order"][str(o)][rule]) for o in orders)


def _cue(scenario: str) -> Callable[[Sets], str]:
    """A text of how the phrase cue does on one kind of FANToM's choices."""

    def text(sets: Sets) -> str:
        found = sets["fantom_belief"]["by_type"][f"tom:belief:{scenario}:multiple-choice"]
        sure, guessed = found["rules"][CUE], found["guess"][CUE]
        return f"{percent(sure)}; {percent(guessed)} with a coin where undefined"

    return text


def _wrong(sets: Sets) -> str:
    found = sets["hi_tom"]
    wrong = round(found["rows"] * (1 - found["rules"][EXIT]))
    return f"{percent(found['rules'][EXIT])}, wrong on {wrong}"


RULES: tuple[Row, ...] = (
    (
        "hi_tom",
        "",
        "earliest exit: where the object was when the first of the chain left for good",
        _wrong,
    ),
    ("hi_tom", ", orders 0 to 4", "the same", _orders("hi_tom", EXIT, range(5))),
    (
        "hi_tom",
        ", orders 1 to 4",
        "scene start: where it was when the last scene about it began",
        _orders("hi_tom", START, range(1, 5)),
    ),
    ("hi_tom_order4", "", "earliest exit", _accuracy("hi_tom_order4", EXIT)),
    ("tomi", "", "last place", _accuracy("tomi", "last")),
    ("tomi", "", "initial place", _accuracy("tomi", "initial")),
    ("tomi", "", "earliest exit", _accuracy("tomi", EXIT)),
    (
        "explore_tom",
        "",
        "most frequent place, of equals the first named",
        _accuracy("explore_tom", "most frequent"),
    ),
    ("explore_tom", "", "earliest exit", _accuracy("explore_tom", EXIT)),
    ("explore_tom", "", "last candidate mentioned", _accuracy("explore_tom", "last mention")),
    (
        "explore_tom_infilled",
        "",
        "last candidate mentioned",
        _accuracy("explore_tom_infilled", "last mention"),
    ),
    (
        "fantom_belief",
        ", inaccessible",
        "the option that says somebody does not know",
        _cue("inaccessible"),
    ),
    ("fantom_belief", ", accessible", "the same", _cue("accessible")),
    (
        "fantom_yes_no",
        "",
        "whoever speaks least does not know, all others do",
        _accuracy("fantom_yes_no", "speaks least"),
    ),
    (
        "fantom_yes_no",
        "",
        "whoever speaks first does not know, all others do",
        _accuracy("fantom_yes_no", "speaks first"),
    ),
    ("fantom_yes_no", "", "most common answer", _accuracy("fantom_yes_no", "majority answer")),
    (
        "opentom",
        "",
        "most common answer to questions of the type",
        _accuracy("opentom", "majority answer"),
    ),
)


def rules_table(sets: Sets) -> str:
    """What rules score that somebody named."""
    rows = (
        (f"{_named(name, sets)}{part}", rule, text(sets), f"`tomrl audit {name}`")
        for name, part, rule, text in RULES
        if name in sets and "absent" not in sets[name]
    )
    return table((("data", "rule", "accuracy", "command"), *rows), 0)


def learned(sets: Sets) -> str:
    """What learned rules gain over the best listed ones."""
    return paragraph(_of_learned(sets))


def _of_learned(sets: Sets) -> Iterator[str]:
    leads = {
        name: found["learned"]["accuracy"] - found["accuracy"]
        for name, found in sets.items()
        if found.get("learned")
    }
    most = max(leads, key=lambda name: leads[name])
    yield (
        f"Trees gain most over the best listed rule on *{_title(most)}*: "
        f"{100 * leads[most]:.1f} points."
    )
    if none := [f"*{_title(name)}*" for name, lead in leads.items() if lead <= 0]:
        yield f"They gain nothing over it on {listed(none)}."
    if absent := [f"*{_title(name)}*" for name, found in sets.items() if "absent" in found]:
        yield f"Sources that were not at hand: {listed(absent)}."


def _named(name: str, sets: Sets) -> str:
    return f"{_title(name)}, {sets[name]['rows']:,}"


def _title(name: str) -> str:
    study, _, combination = name.partition("/")
    if combination:
        return f"{STUDIES[study]}, training set `{combination}`"
    return get(name).title


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

RECORDED = (
    *("model", "step", "right", "answers follow", "explained", *SHOWN.values()),
    *("true claims", "reasoning is", "signatures"),
)


def recorded_table(models: Sequence[Mapping[str, Any]]) -> str:
    """The verdict on each of the recorded models, with the profile."""
    return table((RECORDED, *(_recorded(each) for each in models)), 0)


def _recorded(found: Mapping[str, Any]) -> tuple[str, ...]:
    faculties = {each["without"]: each["whole"] for each in found["profile"]}
    return (
        found["model"],
        str(found["step"] or "-"),
        _ends(found["accuracy"]),
        f"{found['answers']} ({found['by']})" if found["by"] else found["answers"],
        f"{whole(found['explained'])} %",
        *(_of(faculties.get(mind)) for mind in SHOWN),
        _ends(found["true"]) if found["true"]["count"] else "-",
        found["reasoning"],
        ", ".join(found["signatures"]) or "-",
    )


def _of(found: Mapping[str, float] | None) -> str:
    """How many answers show a faculty, of how many that ask for it."""
    if found is None:
        return "-"
    return f"{round(found['value'] * found['count'])} of {found['count']}"


def _ends(found: Mapping[str, float]) -> str:
    return f"{percent(found['value'])} ({whole(found['low'])}-{whole(found['high'])})"


def recorded_text(models: Sequence[Mapping[str, Any]]) -> str:
    """What the recorded models show, in sentences."""
    last = max(each["step"] for each in models)
    trained = [each for each in models if each["step"] == last]
    words = {each["step"]: each["median_words"] for each in models if each["model"] == "7B"}
    collapsed = [each["model"] for each in trained if "response collapse" in each["signatures"]]
    reasoned = [each for each in trained if each["true"]["count"]]
    best = max(reasoned, key=lambda each: each["true"]["value"])
    believed = [_who(each) for each in models if each["answers"] == "beliefs"]
    most = max(each["count"] for m in models if (each := _faculty(m, "sight alone")))
    heeded = {_who(each): _of(_faculty(each, "sight alone")) for each in models}
    sentences = (
        f"{listed(believed) if believed else 'No model'} answers by beliefs.",
        f"Claims decide the answers to at most {most} questions, where 30 are needed: of these, "
        + ", ".join(f"{name} heeds {heeded[name]}" for name in HEEDED if name in heeded)
        + ".",
        *(_followed(each) for each in trained if each["beside_by"]),
        f"Responses collapse at {listed(collapsed) if collapsed else 'no size'}; at 7B, which the "
        f"paper calls stable, a response has {words[0]:.0f} words (median) before RL and "
        f"{words[last]:.0f} after it.",
        f"Of the claims of the best model after RL, {best['model']}, {_true(best)} are true.",
    )
    return paragraph(sentences)


HEEDED = ("7B", "7B-1M", "GPT-4o", "DeepSeek-v3", "7B at step 800", "7B-1M at step 800")
"""Whose heed of claims is told."""


def _who(found: Mapping[str, Any]) -> str:
    return f"{found['model']} at step {found['step']}" if found["step"] else str(found["model"])


def _faculty(found: Mapping[str, Any], mind: str) -> Mapping[str, float] | None:
    return next((each["whole"] for each in found["profile"] if each["without"] == mind), None)


def _true(found: Mapping[str, Any]) -> str:
    return with_ends(found["true"])


def _followed(found: Mapping[str, Any]) -> str:
    copied = found["beside_by"]["copied"]
    kind = "simpler mind" if found["answers"] == "simpler mind" else "rule"
    return (
        f"{found['model']} follows the {kind} *{found['by']}*: where that is wrong, on "
        f"{copied['count']} questions, {with_ends(copied)} of its answers are the same."
    )


def ledger_table(ledger: Mapping[str, Any]) -> str:
    """The claims that are decided, and how many have which word."""
    rows = (
        (f"`{name}`", *map(markdown_text, (says, word, why)))
        for name, says, word, why in ledger["claims"]
    )
    heads = ("claim", "it says", "word", "by what")
    return f"{ledger['summary'].capitalize()}.\n\n{table((heads, *rows), 0)}"
