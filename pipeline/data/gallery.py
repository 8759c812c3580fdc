"""The gallery: one example of every registered task, its gold answer, and how it is graded.

Rows of sources whose terms do not allow it are never written into the repository: in their place
stands a look-alike from this project's generators, in the same form and graded by the same rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter

from pipeline.base.errors import UserError
from pipeline.config.sources import Source
from pipeline.data.generated import arithmetic, pairs, stories
from pipeline.data.sources import SOURCES
from pipeline.formats.files import write_lines
from pipeline.formats.foreign import markdown_code, markdown_text, visible
from pipeline.tasks import fantom_rules, registry
from pipeline.tasks.example import Example
from pipeline.tasks.registry import Task

_STORIES = 12
_OTHER_SPLITS = ("_train", "_validation")
_OPENTOM_KINDS = {
    "attitude": "attitude",
    "initial location": "location_coarse",
    "located": "location_fine",
    "fullness": "fullness",
    "accessibility": "accessibility",
}


@dataclass(frozen=True, slots=True)
class GalleryTask:
    """One task of the gallery.

    Attributes:
        task: The task.
        example: An example of it.
        real: Whether it is one of the task's own rows.
        others: Further tasks with the same kind of rows.
    """

    task: Task
    example: Example
    real: bool
    others: tuple[str, ...] = ()


def restricted(task: Task) -> str:
    """Why rows of a task may not be redistributed here, or nothing if they may."""
    reasons = []
    for name in task.sources:
        source = SOURCES.get(name)
        if source is not None and source.non_commercial:
            reasons.append("non-commercial")
        if source is not None and source.evaluation_only:
            reasons.append("for evaluation only")
    return " and ".join(dict.fromkeys(reasons))


def show_all(
    folders: Iterable[Path],
    real: bool = False,
    report: Callable[[int, str], None] = lambda done, name: None,
) -> list[GalleryTask]:
    """An example of every task, in the order of the registry.

    A task whose own row is to be shown and whose sources are nowhere is left out.

    Args:
        folders: Where raw sources may lie, the first that has a task's sources counts.
        real: Show the task's own rows whatever their terms.
        report: Called after each task with how many are done, and its name.
    """
    folders, found = list(folders), list[GalleryTask]()
    with TemporaryDirectory(prefix="tomrl-gallery-") as made:
        for done, task in enumerate(registry.all_tasks(), 1):
            if not (_is_generated(task) and task.name.endswith(_OTHER_SPLITS)):
                shown = _show(task, folders, real, Path(made))
                found += [] if shown is None else [shown]
            report(done, task.name)
    return found


def _show(task: Task, folders: list[Path], real: bool, made: Path) -> GalleryTask | None:
    if _is_generated(task):
        others = tuple(f"{task.name}{split}" for split in _OTHER_SPLITS)
        known = {other.name for other in registry.all_tasks()}
        here = tuple(name for name in others if name in known)
        return GalleryTask(task, _typical(task, _generated(task, made)), True, here)
    if restricted(task) and not real:
        return GalleryTask(task, look_alike(task, made), False)
    folder = folder_of(task, folders)
    return GalleryTask(task, _typical(task, task.examples(folder)), True) if folder else None


def folder_of(task: Task, folders: Iterable[Path]) -> Path | None:
    """The first folder that has all sources of a task, or None."""
    for folder in folders:
        if all((folder / name).is_dir() for name in task.sources):
            return folder
    return None


def _typical(task: Task, examples: list[Example]) -> Example:
    """The first second-order question, or the first question there is."""
    return next((example for example in examples if example.order == 2), examples[0])


# --- generated rows -----------------------------------------------------------------------------


def _is_generated(task: Task) -> bool:
    return not any(name in SOURCES for name in task.sources)


def _generated(task: Task, folder: Path) -> list[Example]:
    """Generate the sources of a task and load it from there."""
    for name in task.sources:
        _write_source(name, folder / name)
    return task.examples(folder)


def _write_source(name: str, folder: Path) -> None:
    if folder.is_dir():
        return
    kind, _, telling = name.partition("_style_")
    fields = {"kind": f"{kind}_style" if telling else name, "test": _STORIES}
    if telling:
        fields["telling"] = telling
    source = _SOURCES.validate_python(fields)
    folder.mkdir(parents=True)
    if source.kind == "arithmetic":
        write_lines(folder / "test.jsonl", arithmetic(source, "test", _STORIES))
    elif source.kind == "upstream":
        raise UserError(f"source {name} is not generated")
    else:
        told = stories(source, "test", _STORIES)
        write_lines(folder / "test.jsonl", (row for rows in told for row in rows))
        twins = pairs(source.model_copy(update={"pairs": _STORIES}))
        write_lines(folder / "pairs.jsonl", (row for rows in twins for row in rows))


_SOURCES: TypeAdapter[Source] = TypeAdapter(Source)


# --- look-alikes --------------------------------------------------------------------------------


def look_alike(task: Task, folder: Path) -> Example:
    """A generated example in the form of a task's own rows.

    Raises:
        UserError: If no generator makes questions of its kind.
    """
    style = _style_of(task)
    for example in _generated(registry.get(style), folder):
        shaped = _shaped(example, task)
        if shaped is not None:
            return shaped
    raise UserError(f"task {task.name}: {style} has no questions like its own")


def _style_of(task: Task) -> str:
    if task.name.endswith("_infilled"):
        return "explore_tom_style_prose"
    return "hi_tom_style" if task.name == "tom_rl_train" else f"{task.benchmark}_style"


def _shaped(example: Example, task: Task) -> Example | None:
    """An example in the form of a task's rows, or None if it is of another kind."""
    if task.benchmark == "fantom":
        return _like_fantom(example, task)
    if task.benchmark == "opentom":
        return _like_opentom(example, task)
    order = 4 if task.name == "hi_tom_order4" else 2
    place = "container" not in example.question and task.name == "explore_tom_containers"
    if example.order != order or place:
        return None
    return _as(example, task, choices=None)


def _as(example: Example, task: Task, **fields: object) -> Example:
    fresh = {"task": task.name, "benchmark": task.benchmark, "id": ""}
    return replace(example, **fresh, **fields)  # type: ignore[arg-type]


def _like_fantom(example: Example, task: Task) -> Example | None:
    """A question of the kind that a FANToM task begins with."""
    wanted = {
        "fantom_belief_free": "belief",
        "fantom_list": "answerability:list",
        "fantom_v1_list": "answerability:list",
        "fantom_yes_no": "answerability:binary",
        "fantom_v1_yes_no": "answerability:binary",
        "fantom_v1": "fact",
        "fantom_v1_full": "fact",
    }.get(task.name, "belief")
    if wanted not in example.question_type or (wanted == "belief" and example.order != 2):
        return None
    if wanted != "belief":
        return _as(example, task, choices=None)
    options = example.choices or ()
    others = [option for option in options if option != example.answer]
    meta = {**example.meta, "wrong_answer": others[0], "accessibility": "inaccessible"}
    if task.name == "fantom_belief_free":
        return _as(example, task, choices=None, meta=meta)
    lines = tuple(f"({letter}) {option}" for letter, option in zip("ab", options, strict=True))
    return _as(
        example,
        task,
        question="\n".join((example.question, *lines, "", "Choose an answer from above:")),
        answer=lines[options.index(example.answer)],
        answer_kind="choice",
        choices=lines,
        meta=meta,
    )


def _like_opentom(example: Example, task: Task) -> Example | None:
    """A question of the kind that an OpenToM task is about."""
    words = next((words for words in _OPENTOM_KINDS if words in example.question), "")
    kind, order = _OPENTOM_KINDS.get(words, ""), 2 if task.name.endswith("_so") else 1
    about = task.name.removeprefix("opentom").strip("_").removesuffix("_so").removesuffix("_fo")
    wanted = "attitude" if about in ("", "long") else about
    if kind != wanted or (kind != "attitude" and example.order != order):
        return None
    places = example.choices if kind == "location_fine" else ("first place", "second place")
    original, moved_to = places or ("", "")
    meta = {**example.meta, "kind": kind, "original_place": original, "move_to_place": moved_to}
    answer_kind = {"location_fine": "span", "location_coarse": "yes_no"}.get(kind, "label")
    return _as(
        example,
        task,
        choices=None if kind == "location_fine" else example.choices,
        answer_kind=answer_kind,
        meta=meta,
    )


# --- the page -----------------------------------------------------------------------------------


def page(shown: Iterable[GalleryTask]) -> str:
    """The gallery as Markdown."""
    shown = list(shown)
    lines = [
        "# Gallery",
        "",
        "One example of every registered task, its gold answer, and how responses to it are",
        "graded. Made by `tomrl gallery`; `tomrl gallery --real` shows the rows of restricted",
        "sources on the screen.",
        "",
        *(f"- [{one.task.name}](#{one.task.name}): {one.task.title}" for one in shown),
        "",
        *_absent(shown),
    ]
    return "\n".join([*lines, *(line for one in shown for line in _section(one))])


def _absent(shown: Iterable[GalleryTask]) -> Iterator[str]:
    """Yield which tasks are left out, and what brings them in."""
    here = {name for one in shown for name in (one.task.name, *one.others)}
    absent = [task for task in registry.all_tasks() if task.name not in here]
    if absent:
        yield "Not shown, because their sources are not on this machine (use a study that acquires"
        yield "them and run `dvc repro acquire`, or set TOMRL_DATA_MIRROR):"
        yield ""
        yield from (f"- {task.name} ({', '.join(task.sources)}): {task.title}" for task in absent)
        yield ""


def _section(shown: GalleryTask) -> Iterator[str]:
    task, example = shown.task, shown.example
    yield from (f"## {task.name}", "", f"{task.title}. {_origin(shown)}", "")
    if example.story:
        yield from (*_fenced(example.story), "")
    yield from (*_fenced(example.question), "")
    facts = {
        "gold answer": markdown_code(example.answer),
        "kind of answer": example.answer_kind,
        "order": example.order,
        "question type": markdown_text(example.question_type),
        "choices": ", ".join(map(markdown_code, example.choices or ())),
        "choices in the prompt": "yes" if example.choices and task.choices_in_prompt else None,
        "right if": _first_line(task.match),
        "strictly right if": _first_line(task.strict),
    }
    yield from (f"- {name}: {fact}" for name, fact in facts.items() if fact not in (None, ""))
    if shown.others:
        yield f"- the same kind of rows: {', '.join(f'`{name}`' for name in shown.others)}"
    yield from (
        "",
        "| response | correct | strict | format | answer found |",
        "|---|---|---|---|---|",
    )
    for response in responses(example):
        grade = task.grade(response, example)
        marks = " | ".join(
            "yes" if mark else "no" for mark in (grade.correct, grade.strict, grade.format_ok)
        )
        found = "none" if grade.extracted is None else markdown_code(grade.extracted)
        yield f"| {markdown_code(response)} | {marks} | {found} |"
    yield ""


def _origin(shown: GalleryTask) -> str:
    task = shown.task
    if _is_generated(task):
        return "Generated by this project."
    names = ", ".join(SOURCES[name].title for name in task.sources)
    terms = ", ".join(
        dict.fromkeys(terms for name in task.sources for terms in SOURCES[name].licences)
    )
    if shown.real:
        return f"A row of {names} ({terms})."
    return (
        f"**A generated look-alike**: the rows come from {names} ({terms}), which is "
        f"{restricted(task)}, and are not reproduced here."
    )


def responses(example: Example) -> tuple[str, str, str]:
    """A right, a wrong and an empty response."""
    return tagged(example.answer), tagged(wrong_answer(example)), ""


def tagged(answer: str) -> str:
    """A response in the format of Study 1, after the pre-filled ``<think>``."""
    return f"Let me see.</think><answer>{answer}</answer>"


def wrong_answer(example: Example) -> str:
    """An answer of the right kind that is not the right one."""
    meta: Mapping[str, object] = example.meta
    if example.answer_kind == "yes_no":
        return "no" if example.answer.lower() == "yes" else "yes"
    if example.answer_kind == "number":
        return str(int(example.answer) + 1)
    if example.answer_kind == "names":
        wrong = meta.get("wrong_names")
        named = wrong[0] if isinstance(wrong, list) and wrong else fantom_rules.NOBODY
        return f"{named}"
    if "wrong_answer" in meta and example.choices is None:
        return str(meta["wrong_answer"])
    places = (meta.get("original_place"), meta.get("move_to_place"))
    options = example.choices or tuple(str(place) for place in places if place)
    return next((option for option in options if option != example.answer), "elsewhere")


@cache
def _first_line(rule: object) -> str:
    """The first sentence of a rule's docstring, which says what it asks for."""
    text = inspect.getdoc(rule) or "see the code"
    first = text.split("\n\n")[0].replace("\n", " ").split(". ")[0]
    return first.rstrip(".").replace("<", "&lt;")


def _fenced(text: str) -> tuple[str, ...]:
    fence = "```"
    while fence in text:
        fence += "`"
    return (f"{fence}text", *visible(text).split("\n"), fence)
