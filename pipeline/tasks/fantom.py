"""FANToM from the copies at hand: belief questions, and who knows the answer to a question.

Answers to yes/no and list questions come from the first of these that was acquired: the original
archive (``gold_source: original``); the annotations of who perceived what (``derived``);
conversations of this project's own (``generated``).

Sources: the belief files of DengSHADOW/AutoToM-main:benchmarks/full_data_formatted, which list the
right option first, and chanijung/PercepToM:dataset/Percept_FANToM: ``flattened_fantom.csv`` has all
questions in upstream's order with the options as upstream drew them, and
``Percept-FANToM-conv_with_perceivers.csv`` says who perceived what. Evaluation only (authors).
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.tasks import fantom_archive, fantom_rules, generated
from pipeline.tasks.example import AnswerKind, Example
from pipeline.tasks.fantom_archive import conversation_id
from pipeline.tasks.grading import extract_tagged_or_all
from pipeline.tasks.reading import SourceRow, read_rows
from pipeline.tasks.registry import Task, register

_BELIEFS = (
    "FANToM_tom_belief_{accessibility}_{context}_context_{order}-order.csv",
    ("accessible", "inaccessible"),
    ("first", "second"),
)
# Upstream's copy has no file of these.
_ABSENT = "FANToM_tom_belief_inaccessible_full_context_first-order.csv"
_OPTIONS = re.compile(r"(.+)\n\(a\) (.+)\n\(b\) (.+)\n\nChoose an answer from above:", re.DOTALL)
_KINDS: Mapping[AnswerKind, str] = {"names": "list", "yes_no": "binary"}
_BINARY = re.compile(r"Does (.+) know the precise correct answer to this question\?")
_CHOICE = ":multiple-choice"


@dataclass(frozen=True, slots=True)
class _Belief:
    """A question's row in a belief file."""

    context: str
    right: str
    wrong: str
    order: int


def load_beliefs(raw: Path, task: str, context: str, free: bool = False) -> Iterator[Example]:
    """Yield the belief questions in upstream's order, with options or for a free answer."""
    beliefs = _read_beliefs(raw / "fantom", context)
    for row in _questions(raw):
        if not row.text("question_type").endswith(_CHOICE):
            continue
        question, options = _parse_choice(row)
        belief = beliefs.get((question, frozenset(options)))
        if belief is not None:
            yield _belief_example(row, task, belief, question, options, free)


def _belief_example(
    row: SourceRow, task: str, belief: _Belief, question: str, options: tuple[str, str], free: bool
) -> Example:
    lines = tuple(f"({letter}) {option}" for letter, option in zip("ab", options, strict=True))
    question_type = row.text("question_type")
    return Example(
        benchmark="fantom",
        task=task,
        story=belief.context,
        question=question if free else row.text("question"),
        answer=belief.right if free else lines[options.index(belief.right)],
        answer_kind="span" if free else "choice",
        choices=None if free else lines,
        order=belief.order,
        question_type=question_type.removesuffix(_CHOICE) if free else question_type,
        meta={
            "set_id": row.text("set_id"),
            "accessibility": question_type.split(":")[2],
            "wrong_answer": belief.wrong,
        },
        story_id=conversation_id(row.text("set_id")),
    )


def _read_beliefs(folder: Path, context: str) -> dict[tuple[str, frozenset[str]], _Belief]:
    pattern, accessibilities, orders = _BELIEFS
    beliefs = {}
    for accessibility in accessibilities:
        for order, name in enumerate(orders, 1):
            file = pattern.format(accessibility=accessibility, context=context, order=name)
            if file == _ABSENT:
                continue
            columns = ("context", "question", "answer_choices", "gt_answer")
            for row in read_rows(folder / file, columns):
                right, wrong = _parse_options(row)
                key = (row.text("question").strip(), frozenset((right, wrong)))
                beliefs[key] = _Belief(row.text("context").strip(), right, wrong, order)
    return beliefs


def _parse_options(row: SourceRow) -> tuple[str, str]:
    """(right, wrong)."""
    right, wrong = ast.literal_eval(row.text("answer_choices"))
    return right.strip(), wrong.strip()


def _questions(raw: Path) -> list[SourceRow]:
    path = raw / "percept_fantom" / "flattened_fantom.csv"
    return read_rows(path, ("index", "question", "question_type", "set_id"))


def _parse_choice(row: SourceRow) -> tuple[str, tuple[str, str]]:
    found = _OPTIONS.fullmatch(row.text("question"))
    assert found, row.where
    question, first, second = (part.strip() for part in found.groups())
    return question, (first, second)


def load_answerability(raw: Path, task: str, kind: AnswerKind) -> Iterator[Example]:
    """Yield the questions about who knows from the best acquired source."""
    if (raw / "fantom_archive" / "fantom_v1.json").is_file():
        yield from fantom_archive.load(
            raw, task, "short", lambda example: fantom_rules.kind(example) == kind
        )
    elif (raw / "percept_fantom").is_dir():
        yield from _derive(raw, task, kind)
    elif (raw / "fantom_style").is_dir():
        yield from _generated(raw, task, kind)
    else:
        raise UserError(
            f"{raw / 'percept_fantom'}: missing; acquire the source 'percept_fantom' first, or "
            "fantom_archive, or fantom_style"
        )


def _generated(raw: Path, task: str, kind: AnswerKind) -> Iterator[Example]:
    """Yield generated questions with the fields that the benchmark's own scores need."""
    for split in generated.SPLITS:
        for example in generated.load_stories(raw, "fantom_style", split, task):
            if example.answer_kind == kind:
                missed = example.answer == "no" or bool(example.meta["wrong_names"])
                own = {
                    "set_id": example.story_id,
                    "accessibility": "inaccessible" if missed else "accessible",
                    "gold_source": "generated",
                }
                yield replace(example, benchmark="fantom", id="", meta={**example.meta, **own})


def _derive(raw: Path, task: str, kind: AnswerKind) -> Iterator[Example]:
    """Yield questions with gold implied by the annotations.

    Only sets with exactly one participant who misses a part of the conversation have it. If the set
    asks about inaccessible beliefs, that one does not know and the others do; if all its beliefs
    are accessible, everybody does. People absent from the short context are left out, as in
    upstream's short setting.
    """
    contexts = {ex.meta["set_id"]: ex.story for ex in load_beliefs(raw, task, "short")}
    perceivers = _read_perceivers(raw / "percept_fantom")
    for set_id, rows in _by_set(_questions(raw)).items():
        present = perceivers.get(set_id.rpartition("-")[0])
        if present is not None and (knowers := _knowers(rows, present)) is not None:
            yield from _derived(rows, task, _KINDS[kind], contexts[set_id], knowers)


def _read_perceivers(folder: Path) -> dict[str, list[frozenset[str]]]:
    """Perceivers of each utterance, by annotated part."""
    path = folder / "Percept-FANToM-conv_with_perceivers.csv"
    columns = ("part_id", "conversation_with_perceivers")
    return {row.text("part_id"): _utterance_perceivers(row) for row in read_rows(path, columns)}


def _utterance_perceivers(row: SourceRow) -> list[frozenset[str]]:
    """Parse the JSON list of ``{utterance: [names]}``."""
    utterances = json.loads(row.text("conversation_with_perceivers"))
    return [frozenset(names) for utterance in utterances for names in utterance.values()]


def _by_set(rows: Iterable[SourceRow]) -> Mapping[str, list[SourceRow]]:
    sets: dict[str, list[SourceRow]] = defaultdict(list)
    for row in rows:
        sets[row.text("set_id")].append(row)
    return sets


def _knowers(rows: list[SourceRow], perceived: list[frozenset[str]]) -> dict[str, bool] | None:
    """Whether each person knows the answer to a set's fact question; None if not implied."""
    participants = frozenset[str]().union(*perceived)
    missed = [name for name in participants if any(name not in names for names in perceived)]
    named = {found[1] for row in rows if (found := _BINARY.fullmatch(row.text("question")))}
    if len(missed) != 1 or not participants <= named:
        return None
    inaccessible = any(row.text("question_type") == "tom:belief:inaccessible" for row in rows)
    return {name: not (inaccessible and name == missed[0]) for name in participants}


def _derived(
    rows: list[SourceRow], task: str, kind: str, context: str, knowers: Mapping[str, bool]
) -> Iterator[Example]:
    fact = next(row.text("question") for row in rows if row.text("question_type") == "fact")
    make = partial(_derived_example, task=task, context=context, fact=fact, knowers=knowers)
    for row in rows:
        if row.text("question_type") != f"tom:answerability:{kind}":
            continue
        if kind == "list":
            answer = ", ".join(sorted(name for name, knows in knowers.items() if knows))
            yield make(row, answer=answer)
        elif (name := _BINARY.fullmatch(row.text("question"))) and name[1] in knowers:
            yield make(row, answer="yes" if knowers[name[1]] else "no")


def _derived_example(
    row: SourceRow, task: str, context: str, fact: str, knowers: Mapping[str, bool], answer: str
) -> Example:
    unaware = sorted(name for name, knows in knowers.items() if not knows)
    binary = answer in ("yes", "no")
    return Example(
        benchmark="fantom",
        task=task,
        story=context,
        question=f"Target: {fact}\nQuestion: {row.text('question')}"
        + (" Answer yes or no." if binary else ""),
        answer=answer,
        answer_kind="yes_no" if binary else "names",
        order=1,
        question_type=row.text("question_type"),
        meta={
            "set_id": row.text("set_id"),
            "accessibility": "inaccessible" if unaware else "accessible",
            "wrong_names": unaware,
            "gold_source": "derived",
        },
        story_id=conversation_id(row.text("set_id")),
    )


def load_sets(raw: Path, task: str) -> Iterator[Example]:
    """Yield the sets of questions that have beliefs with options, a list and yes/no questions.

    From the original archive these are all that its score ALL needs. With derived gold a set has
    its questions about who can answer, not those about who knows the answer given with them.
    """
    if (raw / "fantom_archive" / "fantom_v1.json").is_file():
        found = list(fantom_archive.load(raw, task, "short", _counts_for_all))
    else:
        found = [
            *load_beliefs(raw, task, "short"),
            *load_answerability(raw, task, "names"),
            *load_answerability(raw, task, "yes_no"),
        ]
    sets: dict[str, list[Example]] = defaultdict(list)
    for example in found:
        sets[str(example.meta["set_id"])].append(example)
    for examples in sets.values():
        if {fantom_rules.kind(example) for example in examples} == _OF_A_SET:
            yield from examples


_OF_A_SET = {"choice", "names", "yes_no"}


def _counts_for_all(example: Example) -> bool:
    return fantom_rules.kind(example) in _OF_A_SET


def _register(
    name: str,
    title: str,
    count: int | None,
    load: Callable[..., Iterator[Example]],
    orders: tuple[int, ...],
    fields: tuple[str, ...],
    headline: tuple[str, ...] = (),
    **options: str | bool,
) -> None:
    register(
        Task(
            name=name,
            benchmark="fantom",
            title=title,
            sources=("fantom", "percept_fantom"),
            optional=("fantom_archive", "fantom_style"),
            load=partial(load, task=name, **options),
            match=fantom_rules.match,
            strict=fantom_rules.strict,
            reads=fantom_rules.reads,
            count=count,
            extract=extract_tagged_or_all,
            scores=fantom_rules.scores,
            headline=headline,
            folds_like="fantom_yes_no",
            orders=orders,
            fields=("set_id", "accessibility", *fields),
        )
    )


for _name, _title, _count, _options in (
    ("fantom_belief", "FANToM belief, choice", 1540, {"context": "short"}),
    ("fantom_belief_full", "FANToM belief, full context", 898, {"context": "full"}),
    ("fantom_belief_free", "FANToM belief, free", 1540, {"context": "short", "free": True}),
):
    _register(_name, _title, _count, load_beliefs, (1, 2), ("wrong_answer",), **_options)
# How many there are depends on where the gold is from: 537 and 1,718 are derived.
for _name, _title, _kind, _headline in (
    ("fantom_list", "FANToM list", "names", ()),
    ("fantom_yes_no", "FANToM yes/no", "yes_no", fantom_rules.BINARY_F1),
):
    _register(
        _name, _title, None, load_answerability, (1,), ("gold_source",), _headline, kind=_kind
    )
_register(
    "fantom_sets",
    "FANToM, whole sets",
    None,
    load_sets,
    (1, 2),
    (),
    fantom_rules.ALL,
)
