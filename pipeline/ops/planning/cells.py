"""What each stage of a cell needs in each pool of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeGuard

from pipeline.base.errors import UserError
from pipeline.config.data import Part
from pipeline.config.lookup import lookup
from pipeline.config.models import ApiModel, HubModel, Model, RecordedModel, TinyModel
from pipeline.config.params import AskedCell, Cell, Params, TrainedCell
from pipeline.data.named_tasks import row_count
from pipeline.formats.records import read_figures
from pipeline.ops.planning import disk
from pipeline.ops.planning.cluster import ClusterFile, Pool
from pipeline.ops.planning.hours import (
    PROMPT_TOKENS,
    Lengths,
    answer_operations,
    download_hours,
    hours,
    run_of,
    train_operations,
)
from pipeline.ops.planning.schedule import Need, Task
from pipeline.ops.verl.placement import place
from pipeline.ops.verl.plan import count_rows
from pipeline.tasks import registry
from pipeline.train.accelerators import GIB, MEMORY
from pipeline.train.memory import plan as local_memory
from pipeline.train.schedule import Schedule
from pipeline.train.shape import Shape
from pipeline.train.shapes import shape_of

REPORT_HOURS = 0.05
"""Of the stage that waits for all cells. Assumed; it takes no accelerator."""
_EVALUATED = 40 * GIB  # weights that vLLM keeps on one accelerator, see docs/cluster.md
_SIDES = ("evaluate", "gsm8k")


@dataclass(frozen=True, slots=True)
class StagePlan:
    """A stage of a cell.

    Attributes:
        task: What is scheduled.
        measured: Whether its hours were measured on this checkout.
        memory: Bytes on each accelerator (of a process, on cores), by pool.
    """

    task: Task
    measured: bool
    memory: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CellPlan:
    """A cell before it is scheduled.

    Attributes:
        key: Its key.
        stages: Its stages by name, in their order.
        kept: Bytes that it leaves behind.
        passing: Bytes of checkpoints while it trains.
    """

    key: str
    stages: Mapping[str, StagePlan]
    kept: int
    passing: int


def plan_cells(params: Params, cluster: ClusterFile, root: Path) -> list[CellPlan]:
    """Return the plans of a study's cells, without those of models that have no weights.

    Hours that were measured on this checkout (``logs/``) stand for themselves; those of other cells
    are corrected by what the measured ones of the same stage took beside their estimate.

    Raises:
        UserError: If a cell fits in no pool; says what it would fit in.
    """
    planner = _Planner(params, cluster, root)
    found = [
        planner.cell(key, cell)
        for key, cell in params.cells.items()
        if has_weights(_model(params, cell))
    ]
    return _corrected(found, params.study.name, root)


def base_tasks(params: Params, cluster: ClusterFile) -> list[Task]:
    """Return the tasks that bring base models here."""
    models = {key: entry.model for key, entry in params.base.items()}
    return [
        Task(f"base@{key}", {n: _base_need(model, pool) for n, pool in cluster.pools.items()})
        for key, model in models.items()
        if has_weights(model)
    ]


def has_weights(model: Model) -> TypeGuard[TinyModel | HubModel]:
    """Return whether a model is run here; answers of others cost no hours and no disk here."""
    return not isinstance(model, ApiModel | RecordedModel)


def _base_need(model: TinyModel | HubModel, pool: Pool) -> Need:
    shape = shape_of(model)
    if isinstance(model, HubModel):
        return Need(0, 1, download_hours(shape.parameters))
    if model.shipped:
        return Need(0, 1, 0.0)
    start = model.warm_start
    done = 6.0 * shape.parameters * start.steps * start.batch * start.context
    return Need(1, 1, hours(done, 1, pool.speed, on_cpu=pool.accelerator == "cpu"))


class _Planner:
    """Plans the cells of one study; remembers what many cells share."""

    def __init__(self, params: Params, cluster: ClusterFile, root: Path) -> None:
        self._params, self._cluster, self._root = params, cluster, root
        suite = root / "data" / params.study.name / "suite"
        self._questions = sum(
            _rows(params, part, suite / f"{name}.parquet")
            for name, part in params.suite.tasks.items()
        )
        self._known: dict[str, tuple[dict[str, Need], dict[str, int]]] = {}

    def cell(self, key: str, cell: Cell) -> CellPlan:
        """Return the plan of a cell."""
        shape = shape_of(_model(self._params, cell))
        stages: dict[str, StagePlan] = {}
        before, kept, passing = f"base@{cell.model}", 0, 0
        if isinstance(cell, AskedCell) and isinstance(self._params.cells[cell.of], TrainedCell):
            before = f"train@{cell.of}"
        if isinstance(cell, TrainedCell):
            recipe = cell.algorithm.model_dump_json(), cell.train.model_dump_json()
            needs, memory = self._once(
                " ".join((cell.model, cell.combination, *recipe)),
                partial(self._train, key, cell, shape),
            )
            stages["train"] = StagePlan(Task(f"train@{key}", needs, (before,)), False, memory)
            before = f"train@{key}"
            kept += disk.weights(shape, cell.train)
            passing = disk.while_training(shape, cell.train, critic=bool(cell.algorithm.critic))
        for side in _SIDES:
            answers, longest = self._asked(side, cell)
            lengths = Lengths.within(PROMPT_TOKENS, longest)
            needs, memory = self._once(
                f"{side} {cell.model} {answers} {longest}",
                partial(self._answers, f"{side}@{key}", cell, shape, lengths, answers),
            )
            stages[side] = StagePlan(Task(f"{side}@{key}", needs, (before,)), False, memory)
            before = f"{side}@{key}"
            kept += disk.responses(answers, lengths.answer)
        return CellPlan(key, stages, kept, passing)

    def _once(
        self, name: str, make: Callable[[], tuple[dict[str, Need], dict[str, int]]]
    ) -> tuple[dict[str, Need], dict[str, int]]:
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]

    def _asked(self, side: str, cell: Cell) -> tuple[int, int]:
        """Return how many answers a stage takes, and the tokens of the longest."""
        if side == "evaluate":
            return self._questions * cell.evaluate.samples, cell.evaluate.max_new_tokens
        check = cell.gsm8k
        part = Part(task=check.task, limit=check.limit)
        return _rows(self._params, part, None), check.max_new_tokens

    def _asked_while_training(self, cell: TrainedCell, schedule: Schedule) -> int:
        """Return how many questions of validations and probes are answered in a training run."""
        data, steps = self._params.dataset[cell.combination], range(schedule.total + 1)
        validated = sum(_rows(self._params, part, None) for part in data.validation)
        asked = validated * sum(map(schedule.validates, steps))
        if data.probe is None:
            return asked
        limit = data.probe.limit
        probed = sum(
            min(_rows(self._params, part, None), limit) for part in data.probe.columns.values()
        )
        return asked + probed * sum(map(schedule.probes, steps))

    def _train(
        self, key: str, cell: TrainedCell, shape: Shape
    ) -> tuple[dict[str, Need], dict[str, int]]:
        """Return what training takes in each pool where it fits."""
        rows = count_rows(self._params, cell, self._root)
        schedule = Schedule.of(cell.train, rows)
        asked = self._asked_while_training(cell, schedule)
        run = run_of(cell.train, cell.algorithm, schedule.total, asked)
        done = train_operations(shape, run)
        needs: dict[str, Need] = {}
        memory: dict[str, int] = {}
        refused: list[str] = []
        for name, pool in self._cluster.pools.items():
            try:
                gpus, nodes, memory[name] = self._place(cell, shape, pool)
            except UserError as error:
                refused.append(f"{name}: {error}")
                continue
            on_cpu = pool.accelerator == "cpu"
            needs[name] = Need(gpus, nodes, hours(done, gpus * nodes, pool.speed, on_cpu=on_cpu))
        return _that_fit(f"train@{key}", needs, refused), memory

    def _place(self, cell: TrainedCell, shape: Shape, pool: Pool) -> tuple[int, int, int]:
        """Return the accelerators per node, nodes and bytes that training takes in a pool.

        Raises:
            UserError: If it does not fit.
        """
        model, on_cpu = _model(self._params, cell), pool.accelerator == "cpu"
        if on_cpu is not isinstance(model, TinyModel):
            raise _wrong_kind(tiny=not on_cpu)
        if cell.train.backend == "local":
            needed = local_memory(shape, cell.train, cell.algorithm, on_gpu=not on_cpu).peak
            if not on_cpu and needed > MEMORY[pool.accelerator] * GIB:
                raise UserError(
                    f"train.backend local needs {needed / GIB:.0f} GiB on one {pool.accelerator}, "
                    f"which has {MEMORY[pool.accelerator]}; train it with backend verl"
                )
            return (min(self._params.study.threads, pool.gpus) if on_cpu else 1), 1, needed
        asked = cell.train.cluster
        if asked.accelerator not in ("auto", pool.accelerator):
            raise UserError(f"train.cluster.accelerator asks for {asked.accelerator}")
        wanted = asked.model_copy(update={"accelerator": pool.accelerator})
        found = place(shape, cell.train, cell.algorithm, wanted, model.kind)
        if found.gpus > pool.gpus or found.nodes > pool.nodes:
            raise UserError(
                f"it would fit on {found.describe()}, the pool has {pool.nodes} x {pool.gpus}"
            )
        return found.gpus, found.nodes, found.peak

    def _answers(
        self, stage: str, cell: Cell, shape: Shape, lengths: Lengths, answers: int
    ) -> tuple[dict[str, Need], dict[str, int]]:
        """Return what giving answers takes in each pool where it fits."""
        is_tiny = isinstance(_model(self._params, cell), TinyModel)
        size = 2 * shape.parameters
        needs, memory, refused = {}, {}, []
        for name, pool in self._cluster.pools.items():
            on_cpu = pool.accelerator == "cpu"
            gpus = min(self._params.study.threads, pool.gpus) if on_cpu else -(-size // _EVALUATED)
            if on_cpu is not is_tiny:
                refused.append(f"{name}: {_wrong_kind(tiny=is_tiny)}")
            elif gpus > pool.gpus:
                refused.append(f"{name}: it would fit on {gpus} accelerators of a node")
            else:
                done = answer_operations(shape, answers, lengths)
                needs[name] = Need(gpus, 1, hours(done, gpus, pool.speed, on_cpu=on_cpu))
                memory[name] = size // gpus
        return _that_fit(stage, needs, refused), memory


def _wrong_kind(*, tiny: bool) -> UserError:
    if tiny:
        return UserError("a tiny model runs on cores; it would fit in a pool of accelerator: cpu")
    return UserError("it needs accelerators; it would fit in a pool of a100-80 or larger")


def _that_fit(name: str, needs: dict[str, Need], refused: Iterable[str]) -> dict[str, Need]:
    if not needs:
        raise UserError(f"{name} fits in no pool of the cluster. {'; '.join(refused)}")
    return needs


def _model(params: Params, cell: Cell) -> Model:
    return lookup(params.base, cell.model, "model").model


def _rows(params: Params, part: Part, made: Path | None) -> int:
    """Return the questions of a part: of the file if it is made, else at most."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    if made is not None and made.is_file():
        return int(parquet.read_metadata(made).num_rows)
    task = registry.get(part.task)
    sources = [params.acquire[name] for name in task.sources if name in params.acquire]
    drawn = max((getattr(source, "test", 0) for source in sources), default=0)
    return row_count(part) or task.count or drawn * max(1, len(task.orders))


def _corrected(cells: list[CellPlan], study: str, root: Path) -> list[CellPlan]:
    """Return plans with measured hours, and estimates corrected by them."""
    logs = (root / "logs" / study).glob("*/*/timing.jsonl")
    measured = {f"{path.parent.name}@{path.parts[-3]}": _measured_hours(path) for path in logs}
    factors: dict[str, float] = {}
    for name in ("train", *_SIDES):
        known = [
            measured[stage.task.name] / stage.task.hours
            for cell in cells
            if (stage := cell.stages.get(name)) and stage.task.name in measured
            if stage.task.hours > 0
        ]
        factors[name] = median(known) if known else 1.0
    return [
        replace(
            cell,
            stages={
                name: _with_hours(stage, measured.get(stage.task.name), factors[name])
                for name, stage in cell.stages.items()
            },
        )
        for cell in cells
    ]


def _with_hours(stage: StagePlan, measured: float | None, factor: float) -> StagePlan:
    if measured is None and factor == 1.0:
        return stage
    needs = {
        pool: replace(need, hours=need.hours * factor if measured is None else measured)
        for pool, need in stage.task.needs.items()
    }
    return replace(stage, task=replace(stage.task, needs=needs), measured=measured is not None)


def _measured_hours(path: Path) -> float:
    """Return the hours that a stage took, by its ``timing.jsonl``."""
    rows = read_figures(path, f"{path.parent.name}@{path.parts[-3]}")
    return sum(r.get("seconds", 0) + r.get("validation_seconds", 0) for r in rows) / 3600
