"""Results of a study that nobody ran: every file that stage ``report`` reads, randomly drawn.

The files are those that stages write, through the same records, so that what reads results can be
tried at any size without training anything. The numbers mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

from pipeline.audit.records import (
    Audit,
    Balance,
    Baselines,
    Best,
    ColumnAudit,
    Leak,
    ShortcutConflict,
    Won,
    WonWithoutAnswer,
)
from pipeline.config.data import Part
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.config.sources import HiTomSource
from pipeline.data.card import NOT_KNOWN, BaseCard, DatasetCard, SetCard
from pipeline.data.codec import write_examples
from pipeline.data.generated import StoryRow, stories
from pipeline.data.named_tasks import row_count
from pipeline.data.origin import BaseShown, Origin, Portion, StudyOrigins
from pipeline.evaluate import statistics
from pipeline.evaluate.along import RIGHT, WRONG
from pipeline.evaluate.engine import Response
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.records import AskedStep, Evaluation, TaskScores
from pipeline.evaluate.runner import Graded, write_grades, write_responses
from pipeline.formats.files import write_lines
from pipeline.formats.records import Figures
from pipeline.judge.columns import judged_together
from pipeline.judge.records import TaskVerdict, Verdicts
from pipeline.judge.signatures import Signature
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from pipeline.train.kept_rollouts import TABLE, write_rollouts
from pipeline.train.schedule import Schedule

Accuracy = Callable[[str, Cell, str], float]
"""From the key of a cell, the cell and a column to the share of answers that shall be right."""

QUESTIONS = 200
"""Of a column whose number of rows no study file says; others have at most so many."""

RULES = ("earliest exit", "last")
_ROWS = 900
_BY_STORY = 5


def write_results(params: Params, root: Path, accuracy: Accuracy | None = None) -> None:
    """Write results of every cell of a study into the folder of a checkout.

    Args:
        params: The study.
        root: The folder; ``data`` and ``runs`` are made in it.
        accuracy: What cells score; drawn at random where it is not given.
    """
    runs, name = root / "runs" / params.study.name, params.study.name
    origins = _origins(params)
    origins.write(runs / "audit" / "origins.json")
    _audit(params).write(runs / "audit" / "audit.json")
    for key, entry in params.dataset.items():
        card = SetCard.of([], origins.training[key]).model_copy(update={"rows": _rows(entry.train)})
        DatasetCard(
            split=entry.split,
            prompt=entry.prompt,
            licences={},
            licence_note=entry.licence_note,
            stories_shared={},
            sets={"train": card, "validation": card},
        ).write(root / "data" / name / "combos" / key / "card.json")
    for model in dict.fromkeys(cell.model for cell in params.cells.values()):
        BaseShown(model=model, origin=None).write(runs / "base" / model / "shown.json")
        BaseCard(model=model, note=NOT_KNOWN).write(runs / "base" / model / "card.json")
    suite = {column: _asked(params, column) for column in params.suite.columns}
    for column, asked in suite.items():
        target = root / "data" / name / "suite" / f"{column}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        write_examples(target, [each.example for each in asked])
    for key, cell in params.cells.items():
        _write_cell(params, suite, runs / key, key, cell, accuracy or drawn)


def drawn(key: str, cell: Cell, column: str) -> float:
    """An accuracy that differs by model, column and training."""
    base = Random(f"{cell.model} {column}").uniform(0.2, 0.6)
    gain = 0.0 if cell.combination is None else Random(f"{key} {column}").uniform(-0.1, 0.4)
    return min(0.99, max(0.01, base + gain))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with reasoning that leads to its answer."""

    example: Example
    reasoning: str


Suite = Mapping[str, Sequence[Asked]]


def _asked(params: Params, column: str) -> list[Asked]:
    """Questions for a column about generated stories, whatever its benchmark asks."""
    orders = _orders(params, column)
    rows = [row for row in _told(column) if not orders or row["order"] in orders]
    return [
        Asked(
            Example(
                benchmark="hi_tom",
                task=params.suite.columns[column].task,
                story=row["story"],
                question=row["question"],
                answer=row["answer"],
                order=row["order"] if orders else None,
                choices=tuple(row["choices"] or ()) or None,
            ),
            row["trace"],
        )
        for row in rows[: _questions(params, column)]
    ]


@cache
def _told(column: str) -> list[StoryRow]:
    source = HiTomSource(kind="hi_tom_style")
    return [row for story in stories(source, column, QUESTIONS) for row in story]


def _write_cell(
    params: Params, suite: Suite, folder: Path, key: str, cell: Cell, accuracy: Accuracy
) -> None:
    _write_answers(params, suite, folder / "evaluate", key, cell, accuracy)
    tasks = judged_together(params.suite.tasks)
    verdicts = {task: _verdict(key, task, columns) for task, columns in tasks.items()}
    Verdicts(tasks=verdicts).write(folder / "judge" / "verdicts.json")
    if isinstance(cell, TrainedCell):
        curve = list(_curve(params, key, cell))
        write_lines(folder / "train" / "metrics.jsonl", curve)
        stored = StoredModel(
            step=int(curve[-1]["step"]),
            digest=64 * "0",
            validation_accuracy=max(r.get("validation_accuracy", 0.0) for r in curve),
        )
        Manifest(
            model=cell.model,
            use=cell.train.checkpoint,
            checkpoints={"best": stored, "last": stored},
        ).write(folder / "train" / "checkpoints.json")
        write_rollouts(None, folder / "train" / TABLE)


def _write_answers(
    params: Params, suite: Suite, folder: Path, key: str, cell: Cell, accuracy: Accuracy
) -> None:
    asked, graded, columns = list[Example](), list[Graded](), list[str]()
    scores, answered = dict[str, TaskScores](), dict[str, list[bool]]()
    for column, questions in suite.items():
        random, share = Random(f"{key} {column}"), accuracy(key, cell, column)
        count = len(questions)
        right = [True] * round(share * count) + [False] * (count - round(share * count))
        random.shuffle(right)
        answered[column] = right
        found = [_graded(*each, random) for each in zip(questions, right, strict=True)]
        # Of the stories' own benchmark: others have figures that these questions cannot give.
        of_stories = [replace(each.example, task="hi_tom") for each in questions]
        scores[column] = task_metrics(of_stories, found)
        asked += [each.example for each in questions]
        graded += found
        columns += [column] * count
    Evaluation(
        engine="hf",
        prompt=cell.evaluate.prompt,
        libraries={},
        tasks=scores,
        along=tuple(_along(params, key, cell, answered)),
    ).write(folder / "metrics.json")
    write_grades(folder / "grades.parquet", asked, graded, columns)
    write_responses(folder / "responses.parquet", asked, graded, columns, {})


def _graded(asked: Asked, right: bool, random: Random) -> Graded:
    answer = asked.example.answer
    said = answer if right else random.choice(asked.example.choices or ("nowhere",))
    text = f"<think>{asked.reasoning.replace(answer, said)}</think><answer>{said}</answer>"
    response = Response(text, random.randrange(40, 400), "stop")
    return Graded(response, Grade(right, right, True, said), prompt_digest="")


def _along(
    params: Params, key: str, cell: Cell, answered: Mapping[str, list[bool]]
) -> Iterator[AskedStep]:
    """Every step that is kept: from half of the right answers of its end to all of them."""
    if not isinstance(cell, TrainedCell) or not cell.keeps:
        return
    schedule = Schedule.of(cell.train, _rows(params.dataset[cell.combination].train))
    for step in schedule.keeps(schedule.total):
        random, share = Random(f"{key} {step}"), 0.5 + step / schedule.total / 2
        columns = {name: answered[name] for name in params.suite.tasks}
        notes = {name: _note(right, share, random) for name, right in columns.items()}
        yield AskedStep(step=step, right=notes)


def _note(right: list[bool], share: float, random: Random) -> str:
    return "".join(RIGHT if each and random.random() < share else WRONG for each in right)


def _questions(params: Params, column: str) -> int:
    rows = row_count(params.suite.columns[column])
    return min(QUESTIONS, rows or QUESTIONS)


def _orders(params: Params, column: str) -> tuple[int, ...]:
    entry = params.suite.columns[column]
    return entry.orders or registry.get(entry.task).orders


def _verdict(key: str, task: str, columns: list[str]) -> TaskVerdict:
    random = Random(f"{key} {task}")
    follow = random.choice(["beliefs", "simpler mind", "rule", "unexplained", "undecided"])
    return TaskVerdict.model_validate(
        {
            "columns": columns,
            "answers": follow,
            "by": RULES[0] if follow == "rule" else None,
            "explained": random.random(),
            "found": {"beliefs": 0.7, "rule": 0.6},
            "answered": {"count": 100, "of": 100, "unread": []},
            "profile": [],
            "reasoning": random.choice(["faithful", "plausible", "unfaithful", "absent"]),
            "answers_because": "where the rule is wrong, 41.0 % (29.0 to 54.0) are right",
            "reasoning_because": "of the claims, 63.0 % (58.0 to 68.0) are true",
            "evidence": {"answers": {"rules": [_against(rule, random) for rule in RULES]}},
            "signatures": [_signature(name, random) for name in ("copied template", "drift")],
        }
    )


def _against(rule: str, random: Random) -> dict[str, object]:
    count = QUESTIONS // 2
    right, wrong = (
        statistics.share([random.random() < often for _ in range(count)], range(count)).as_json()
        for often in (random.random(), random.random())
    )
    return {"rule": rule, "kind": "listed", "where_right": right, "where_wrong": wrong}


def _signature(name: str, random: Random) -> dict[str, object]:
    value = random.random()
    what = "share of responses whose reasoning is 'made'"
    return Signature(name, value > 0.8, value, value - 0.1, value + 0.1, what).as_json()


def _curve(params: Params, key: str, cell: TrainedCell) -> Iterator[Figures]:
    random, recipe = Random(key), cell.train
    steps = recipe.total_steps(_rows(params.dataset[cell.combination].train))
    for step in range(steps + 1):
        row: Figures = {"step": step}
        done, noise = step / steps, random.gauss(0, 0.03)
        if step:
            row |= dict.fromkeys(("reward_mean", "accuracy"), 0.3 + 0.5 * done + noise)
            row |= {"length_mean": 200 - 120 * done + 100 * noise, "entropy": 0.8 - 0.6 * done}
            row |= {"length_median": round(190 - 120 * done), "format_rate": 1.0}
            row |= {"no_signal_share": 0.2 + 0.5 * done, "kl": 0.1 * done, "loss": 0.01}
        if step % recipe.validate_every == 0 or step == steps:
            row["validation_accuracy"] = 0.3 + 0.5 * done + noise
        yield row


def _rows(parts: tuple[Part, ...]) -> int:
    return sum(row_count(part) or _ROWS for part in parts)


# --- what data was made from ----------------------------------------------------------------------


def _origins(params: Params) -> StudyOrigins:
    """Origins by which a combination trains the columns that the study declares for it."""
    trained = {name: set(column.trained) for name, column in params.suite.tasks.items()}
    return StudyOrigins(
        columns={name: _origin(name) for name in params.suite.tasks},
        training={
            key: _origin(*(name for name, keys in trained.items() if key in keys))
            for key in params.dataset
        },
    )


def _origin(*columns: str) -> Origin:
    portions = [
        Portion(
            source="made",
            task="made",
            generator=column,
            telling="plain",
            asked="place",
            order=None,
            rows=QUESTIONS,
        )
        for column in columns
    ]
    return Origin(
        rows=QUESTIONS * len(columns), portions=portions, stories={}, structures={}, unread=0
    )


def _audit(params: Params) -> Audit:
    won = Won(what="box", published=0.3, strict=0.25)
    nothing = WonWithoutAnswer(constant=won, strict_constant=won, cheats=[won])
    none = dict.fromkeys(Leak.model_fields, 0)
    leak = Leak.model_validate({**none, "rows": QUESTIONS, "ngram_words": 13, "examples": {}})
    return Audit(
        columns={name: _column_audit(name, nothing) for name in params.suite.tasks},
        training=dict.fromkeys(params.dataset, nothing),
        leakage={key: dict.fromkeys(params.suite.tasks, leak) for key in params.dataset},
        validation=dict.fromkeys(params.dataset, leak),
    )


def _column_audit(column: str, nothing: WonWithoutAnswer) -> ColumnAudit:
    random = Random(column)
    rules = {f"rule {number}": random.uniform(0.2, 0.9) for number in range(8)}
    best = max(rules, key=lambda rule: rules[rule])
    return ColumnAudit(
        rows=QUESTIONS,
        stories=QUESTIONS // _BY_STORY,
        orders={},
        question_types={},
        unread=0,
        duplicates=0,
        duplicate_ids=[],
        label_conflicts=0,
        label_conflict_examples=[],
        twin_conflicts={},
        balance=Balance(
            answers={},
            distinct=5,
            evenness=0.9,
            choice_position={},
            mention_rank={},
            mention_part={},
        ),
        baselines=Baselines(
            rules=rules,
            coverage=dict.fromkeys(rules, 1.0),
            with_guess=rules,
            best=Best(rule=best, accuracy=rules[best]),
            chance=0.2,
            majority=0.25,
            by_order={},
            by_type={},
        ),
        without_answer=nothing,
        lexical={},
        shortcut_conflict=ShortcutConflict(rule=best, ids=[]),
        flags=[],
    )
