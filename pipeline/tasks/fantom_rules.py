"""FANToM's rules for its six kinds of question, and its aggregate scores.

Source of all rules: skywalker023/fantom:eval_fantom.py. Its authors grade the whole reply; here a
tagged answer is graded if there is one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pipeline.tasks.embedding import UPSTREAM, embedder
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Matcher, match_equal
from pipeline.tasks.plain import plain
from pipeline.tasks.scores import LONGEST_TEXT, mean, token_f1, weighted_f1

SCENARIOS = ("inaccessible", "accessible")
ALL = tuple(f"{scenario}:set:ALL" for scenario in SCENARIOS)
"""The scores over whole sets of questions, for columns that hold whole sets."""
BINARY_F1 = ("binary-f1",)
NOBODY = "nobody"
_FACT_THRESHOLD = 0.5
_YES = (" yes,", " yes ", " yes.", " knows ")
_NO = (" no,", " no ", " no.", " does not know ", " doesn't know ")
_LONGEST_YES = 40
_YES_START, _NO_START = ("yes", "true"), ("no", "false")
_NAMES = re.compile(r"[,;&\n/、，；،؛]|\band\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[*+]|\d{1,3}[.)])\s+")
_GOLD_CLASS = {"yes": 1, "no": 0}

Result = tuple[Example, str | None]
"""An example and the extracted answer, if any."""


def match(answer: str, example: Example) -> bool:
    """Apply the published rule of the question's kind, or accept the bare answer.

    The second clause is ours: where Erika knows and Erik does not, the published rule rejects every
    list, and it reads neither an option's text nor "**Yes**".
    """
    return _RULES[kind(example)](answer, example) or strict(answer, example)


def strict(answer: str, example: Example) -> bool:
    """The bare answer is right."""
    if kind(example) == "choice":
        return match_equal(answer, example) or _letter(example) == plain(answer)
    if kind(example) == "names":
        return _same_names(answer, example)
    return match_equal(answer, example)


def _same_names(answer: str, example: Example) -> bool:
    if len(answer) > LONGEST_TEXT:
        return False
    found = {plain(_BULLET.sub("", name)) for name in _NAMES.split(answer)}
    return found - {""} == {plain(name) for name in example.answer.split(", ")}


def kind(example: Example) -> str:
    """The kind of rule: fact, free, choice, names or yes_no."""
    if example.question_type == "fact":
        return "fact"
    return "free" if example.answer_kind == "span" else example.answer_kind


def reads(example: Example) -> tuple[str, ...]:
    return ("answer_kind", *_READS[kind(example)])


def match_fact(answer: str, example: Example) -> bool:
    """Half of the words are shared. Upstream only reports the mean of the word F1."""
    return fact_f1(answer, example) >= _FACT_THRESHOLD


def fact_f1(answer: str, example: Example) -> float:
    return token_f1(example.answer.lower(), answer.lower())


def match_choice(answer: str, example: Example) -> bool:
    """The right letter begins the answer, stands in brackets anywhere, or is all of it."""
    letter, text = _letter(example), answer.lower()
    starts = (f"({letter})", f"{letter})", f"{letter}.", f"{letter}:", f"{letter},")
    return text.startswith(starts) or f"({letter})" in text or text == letter


def match_names(answer: str, example: Example) -> bool:
    """All right names occur and none of the wrong ones."""
    text = answer.lower()
    names = [] if example.answer == NOBODY else example.answer.lower().split(", ")
    wrong: Sequence[str] = example.meta["wrong_names"]
    return all(name in text for name in names) and not any(name.lower() in text for name in wrong)


def match_yes_no(answer: str, example: Example) -> bool:
    """The answer reads as the right one of yes and no."""
    return read_yes_no(answer) == _GOLD_CLASS[example.answer]


def read_yes_no(answer: str) -> int:
    """1 for yes, 0 for no, -1 for neither; yes is looked for first.

    Accepting a decorated bare "yes" or "no" is ours.
    """
    text = answer.lower().strip("'").strip('"')
    if len(text) < _LONGEST_YES:
        text = plain(text) if plain(text) in _GOLD_CLASS else text
    if text.startswith(_YES_START) or any(word in text for word in _YES):
        return 1
    return 0 if text.startswith(_NO_START) or any(word in text for word in _NO) else -1


def match_nearer(answer: str, example: Example) -> bool:
    """The answer is nearer to the right alternative.

    It must also share a word with one of them, which is ours: the published rule accepts half of
    all gibberish.
    """
    right, wrong = example.answer, example.meta["wrong_answer"]
    if not token_f1(f"{right} {wrong}".lower(), answer.lower()):
        return False
    near = _nearness()
    return near(answer, right) > near(answer, wrong)


def belief_rule() -> str:
    """The measure of nearness.

    ``distance`` of embeddings as upstream; with another model its name; without one ``token-f1``.
    """
    model = embedder()
    if model is None:
        return "token-f1"
    return "distance" if UPSTREAM.endswith(model.name) else f"distance of {model.name}"


_RULES: Mapping[str, Matcher] = {
    "fact": match_fact,
    "free": match_nearer,
    "choice": match_choice,
    "names": match_names,
    "yes_no": match_yes_no,
}


_READS: Mapping[str, tuple[str, ...]] = {
    "fact": ("question_type",),
    "free": ("question_type", "meta.wrong_answer"),
    "choice": ("choices",),
    "names": ("meta.wrong_names",),
    "yes_no": (),
}


def _letter(example: Example) -> str:
    choices = example.choices or ()
    return chr(ord("a") + choices.index(example.answer))


def _nearness() -> Callable[[str, str], float]:
    model = embedder()
    if model is None:
        return lambda answer, view: token_f1(view.lower(), answer.lower())
    return model.similarity


def scores(results: Iterable[Result]) -> dict[str, float]:
    """Upstream's report: by kind of question and by set, per scenario.

    ``ALL*`` covers every theory-of-mind question of a set, ``ALL`` leaves out free-text beliefs.
    Scores without questions are left out.
    """
    results = list(results)
    facts = [fact_f1(answer or "", ex) for ex, answer in results if kind(ex) == "fact"]
    report: dict[str, float | None] = {"fact_word-f1": mean(facts)}
    for scenario in SCENARIOS:
        mine = [
            (ex, answer or "")
            for ex, answer in results
            if kind(ex) != "fact" and ex.meta["accessibility"] == scenario
        ]
        for name, value in _scenario_scores(mine).items():
            report[f"{scenario}:{name}"] = value
    return {name: value for name, value in report.items() if value is not None}


def _scenario_scores(results: Sequence[tuple[Example, str]]) -> dict[str, float | None]:
    right = [(ex, answer, bool(answer) and match(answer, ex)) for ex, answer in results]

    def accuracy(wanted: str, about: str = "tom:") -> float | None:
        return mean([ok for ex, _, ok in right if _is(ex, about) and kind(ex) == wanted])

    def all_of_set(about: str, free: bool) -> float | None:
        per_set: dict[str, list[bool]] = defaultdict(list)
        for ex, _, ok in right:
            if _is(ex, about) and (free or kind(ex) != "free"):
                per_set[ex.meta["set_id"]].append(ok)
        return mean([all(oks) for oks in per_set.values()])

    report = {
        "set:ALL*": all_of_set("tom:", free=True),
        "set:ALL": all_of_set("tom:", free=False),
        "belief:multiple-choice": accuracy("choice"),
        f"belief:{belief_rule()}": accuracy("free"),
        "belief_true_word-f1": mean(
            [token_f1(ex.answer, answer) for ex, answer, ok in right if ok and kind(ex) == "free"]
        ),
    }
    for about in ("answerability", "info_accessibility"):
        report[f"{about}:set:ALL"] = all_of_set(f"tom:{about}", free=True)
        report[f"{about}:list"] = accuracy("names", f"tom:{about}")
        report[f"{about}:binary-f1"] = _binary_f1(results, f"tom:{about}")
    return report


def _binary_f1(results: Sequence[tuple[Example, str]], about: str) -> float | None:
    mine = [(ex, answer) for ex, answer in results if _is(ex, about) and kind(ex) == "yes_no"]
    if not mine:
        return None
    truths = [_GOLD_CLASS[ex.answer] for ex, _ in mine]
    return weighted_f1(truths, [read_yes_no(answer) for _, answer in mine])


def _is(example: Example, about: str) -> bool:
    return example.question_type.startswith(about)
