"""What each stage of a cell takes in each pool of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TypeGuard

from pipeline.base.errors import UserError
from pipeline.config.data import Part
from pipeline.config.lookup import lookup
from pipeline.config.models import ApiModel, Model, Published, RecordedModel, TinyModel
from pipeline.config.params import Cell, Params, TrainedCell, before
from pipeline.data.named_tasks import row_count
from pipeline.formats.records import read_figures
from pipeline.ops.planning import disk
from pipeline.ops.planning.cluster import ClusterFile, Pool
from pipeline.ops.planning.hours import (
    CPU_SHARE,
    LARGE_CPU_SHARE,
    PROMPT_TOKENS,
    SHARE,
    Lengths,
    answer_operations,
    download_hours,
    hours,
    train_operations,
)
from pipeline.ops.planning.limits import TIMES
from pipeline.ops.verl.placement import place
from pipeline.ops.verl.plan import count_rows
from pipeline.ops.vllm.replica import replica_gpus
from pipeline.tasks import registry
from pipeline.train.accelerators import GIB, capacity
from pipeline.train.footprint import plan as local_memory
from pipeline.train.schedule import Schedule
from pipeline.train.shape import Shape
from pipeline.train.shapes import shape_of

LAPTOP_MEMORY = 16 * GIB
"""That a model which is not tiny may take on cores. Assumed."""
_ASKED_SHARE = 0.85  # of an accelerator, that weights may take beside keys and values


@dataclass(frozen=True, slots=True)
class StagePlan:
    """What a stage takes in one pool.

    Attributes:
        gpus: Accelerators at once.
        hours: How long it runs.
        memory: Bytes on each accelerator (of a process, on cores).
        measured: Whether the hours were measured on this checkout.
    """

    gpus: int
    hours: float
    memory: int
    measured: bool = False

    @property
    def work(self) -> float:
        """Accelerator-hours."""
        return self.gpus * self.hours


@dataclass(frozen=True, slots=True)
class CellPlan:
    """What a cell takes.

    Attributes:
        key: Its key.
        of: The trained cell whose weights it takes.
        pools: Its stages in their order, by the pools in which it fits.
        kept: Bytes that it leaves behind.
        passing: Bytes of checkpoints while it trains.
        written: Bytes of all checkpoints that it writes.
    """

    key: str
    of: str | None
    pools: Mapping[str, Mapping[str, StagePlan]]
    kept: int
    passing: int
    written: int


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell in the pool that it was given.

    Attributes:
        plan: What it takes in each pool.
        pool: The one that it was given.
    """

    plan: CellPlan
    pool: str

    @property
    def key(self) -> str:
        return self.plan.key

    @property
    def stages(self) -> dict[str, StagePlan]:
        return dict(self.plan.pools[self.pool])

    @property
    def main(self) -> StagePlan:
        """Its training, or its evaluation if it trains nothing."""
        return next(iter(self.stages.values()))

    @property
    def hours(self) -> dict[str, float]:
        return {name: stage.hours for name, stage in self.stages.items()}

    @property
    def gpu_hours(self) -> float:
        return sum(stage.work for stage in self.stages.values())

    @property
    def measured(self) -> tuple[str, ...]:
        return tuple(name for name, stage in self.stages.items() if stage.measured)


def plan_cells(params: Params, cluster: ClusterFile, root: Path) -> list[CellPlan]:
    """Plan a study's cells, without those of models that have no weights.

    Hours that were measured on this checkout (``logs/``) stand for themselves; those of other cells
    are corrected by the ratio of measured to estimated hours of the same stage.

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


def base_hours(params: Params, cluster: ClusterFile) -> float:
    """The hours of the base model that takes longest to make or download."""
    models = [entry.model for entry in params.base.values()]
    speed = max(pool.speed for pool in cluster.pools.values())
    return max((_base_hours(model, speed) for model in models if has_weights(model)), default=0.0)


def has_weights(model: Model) -> TypeGuard[TinyModel | Published]:
    """Whether a model runs here; answers of others cost no hours and no disk here."""
    return not isinstance(model, ApiModel | RecordedModel)


def _base_hours(model: TinyModel | Published, speed: float) -> float:
    shape = shape_of(model)
    if not isinstance(model, TinyModel):
        return download_hours(shape.parameters)
    start = model.warm_start
    done = 6.0 * shape.parameters * start.steps * start.batch * start.context
    return 0.0 if model.shipped else hours(done, 1, CPU_SHARE * speed)


class _Planner:
    """Plans the cells of one study, those that differ in their seed once."""

    def __init__(self, params: Params, cluster: ClusterFile, root: Path) -> None:
        self._params, self._cluster, self._root = params, cluster, root
        suite = root / "data" / params.study.name / "suite"
        self._questions = {
            name: _rows(params, part, suite / f"{name}.parquet")
            for name, part in params.suite.columns.items()
        }
        self._known: dict[str, CellPlan] = {}

    def cell(self, key: str, cell: Cell) -> CellPlan:
        """The plan of a cell."""
        of = before(cell)
        if of is not None and not isinstance(self._params.cells[of], TrainedCell):
            of = None
        alike = cell.model_dump_json(exclude={"seed", "of", "starts_from", "base"})
        if alike not in self._known:
            self._known[alike] = self._plan(key, cell)
        return replace(self._known[alike], key=key, of=of)

    def _plan(self, key: str, cell: Cell) -> CellPlan:
        shape = shape_of(_model(self._params, cell))
        trained = cell if isinstance(cell, TrainedCell) else None
        schedule = None
        if trained:
            rows = count_rows(self._params, trained, self._root)
            schedule = Schedule.of(trained.train, rows)
        kept = len(schedule.keeps(schedule.total)) if schedule and trained and trained.keeps else 0
        asked = list(self._asked(cell, kept))
        done = {}
        if trained and schedule:
            data = self._params.dataset[trained.combination]
            validation = sum(_rows(self._params, part, None) for part in data.validation)
            done["train"] = train_operations(
                shape, trained.train, trained.algorithm, schedule, validation
            )
        done["evaluate"] = sum(answer_operations(shape, *each) for each in asked)
        left = sum(disk.responses(answers, lengths.answer) for answers, lengths in asked)
        passing = written = 0
        if trained and schedule:
            critic = bool(trained.algorithm.critic)
            left += disk.weights(shape, trained.train, max(2, kept + 1))
            left += disk.state(shape, trained.train, critic=critic)
            passing = disk.while_training(shape, trained.train, critic=critic)
            saves = sum(map(schedule.saves, range(1, schedule.total + 1)))
            written = saves * disk.checkpoint(shape, trained.train, critic=critic)
        pools = self._pools(key, cell, shape, done)
        return CellPlan(key, None, pools, left, passing, written)

    def _pools(
        self, key: str, cell: Cell, shape: Shape, done: Mapping[str, float]
    ) -> dict[str, dict[str, StagePlan]]:
        """What stages take, from their operations, in each pool where they all fit."""
        found, refused = {}, []
        for name, pool in self._cluster.pools.items():
            try:
                places = {stage: self._place(stage, cell, shape, pool) for stage in done}
            except UserError as error:
                refused.append(f"{name}: {error}")
                continue
            found[name] = {
                stage: StagePlan(gpus, self._hours(stage, cell, done[stage], gpus, pool), memory)
                for stage, (gpus, memory) in places.items()
            }
            if isinstance(cell, TrainedCell):
                _check_limit(key, cell, found[name]["train"].hours)
        if not found:
            first = next(iter(done))
            raise UserError(f"{first}@{key} fits in no pool of the cluster. {'; '.join(refused)}")
        return found

    def _hours(self, stage: str, cell: Cell, operations: float, gpus: int, pool: Pool) -> float:
        """How long a stage takes in a pool."""
        share = SHARE
        if pool.accelerator == "cpu":
            trained = cell if isinstance(cell, TrainedCell) and stage == "train" else None
            precision = trained.train.precision if trained else cell.evaluate.precision
            tiny = isinstance(_model(self._params, cell), TinyModel)
            share = CPU_SHARE if tiny else LARGE_CPU_SHARE[precision]
        return hours(operations, gpus, share * pool.speed)

    def _asked(self, cell: Cell, kept: int) -> Iterator[tuple[int, Lengths]]:
        """How many answers an evaluation takes, and of what lengths: tasks, then side-checks.

        One of the steps that are kept is that which all questions are put to.
        """
        suite = self._params.suite
        questions = sum(self._questions[name] for name in suite.tasks)
        lengths = Lengths.within(PROMPT_TOKENS, cell.evaluate.max_new_tokens)
        some = sum(min(self._questions[name], cell.evaluate.each_step) for name in suite.tasks)
        yield questions * cell.evaluate.calls + some * max(0, kept - 1), lengths
        for name, check in suite.side_checks.items():
            yield self._questions[name], Lengths.within(PROMPT_TOKENS, check.max_new_tokens)

    def _place(self, stage: str, cell: Cell, shape: Shape, pool: Pool) -> tuple[int, int]:
        """The accelerators that a stage takes in a pool, and the bytes on each.

        Raises:
            UserError: If it does not fit.
        """
        on_cpu = pool.accelerator == "cpu"
        model = _model(self._params, cell)
        assert has_weights(model)
        fits_cores = _fits_cores(cell, model)
        if fits_cores and not on_cpu and isinstance(model, TinyModel):
            raise UserError(
                "a tiny model runs on cores; it would fit in a pool with accelerator: cpu"
            )
        if on_cpu and not fits_cores:
            raise UserError("it needs accelerators; it would fit in a pool of a100-80 or larger")
        if stage == "train" and isinstance(cell, TrainedCell):
            if cell.train.backend == "local":
                return self._place_local(cell, shape, pool)
            return self._place_verl(cell, shape, pool)
        size = 2 * shape.parameters
        gpus = min(self._params.study.threads, pool.gpus)
        if not on_cpu:
            gpus = replica_gpus(size, shape.num_attention_heads, shape.num_key_value_heads)
        if gpus > pool.gpus:
            raise UserError(f"it would fit on {gpus} accelerators of a node")
        if not on_cpu and size > gpus * _ASKED_SHARE * capacity(pool.accelerator, pool.memory):
            raise UserError(
                f"vLLM would run the model on {gpus} x {pool.accelerator}, where its weights leave "
                f"no room for answers: {size / gpus / GIB:.1f} GiB on each"
            )
        return gpus, size // gpus

    def _place_local(self, cell: TrainedCell, shape: Shape, pool: Pool) -> tuple[int, int]:
        on_cpu = pool.accelerator == "cpu"
        needed = local_memory(shape, cell.train, cell.algorithm, on_gpu=not on_cpu).peak
        if not on_cpu:
            room = capacity(pool.accelerator, pool.memory or cell.train.cluster.memory)
            if needed > room:
                raise UserError(
                    f"train.backend local needs {needed / GIB:.0f} GiB on one {pool.accelerator}, "
                    f"which has {room / GIB:g}; train it with backend verl"
                )
        return (min(self._params.study.threads, pool.gpus) if on_cpu else 1), needed

    def _place_verl(self, cell: TrainedCell, shape: Shape, pool: Pool) -> tuple[int, int]:
        asked = cell.train.cluster
        if asked.accelerator not in ("auto", pool.accelerator):
            raise UserError(f"train.cluster.accelerator asks for {asked.accelerator}")
        memory = pool.memory or asked.memory
        wanted = asked.model_copy(update={"accelerator": pool.accelerator, "memory": memory})
        found = place(shape, cell.train, cell.algorithm, wanted)
        if found.gpus > pool.gpus or found.nodes > pool.nodes:
            raise UserError(
                f"it would fit on {found.describe()}, the pool has {pool.nodes} x {pool.gpus}"
            )
        return found.gpus * found.nodes, found.peak


def _check_limit(key: str, cell: TrainedCell, hours: float) -> None:
    """Refuse a time limit that is below the estimate.

    Raises:
        UserError: If a cell's is; says which would do.
    """
    limit = cell.train.cluster.time_limit_minutes
    if limit is not None and cell.train.backend == "verl" and limit < 60 * hours:
        raise UserError(
            f"cell {key}: train.cluster.time_limit_minutes is {limit:g}, and its training is "
            f"estimated to take {60 * hours:.0f}; raise it, or leave it out for {TIMES} times the "
            "estimate"
        )


def runs_on_cores(params: Params) -> bool:
    """Whether every cell with weights runs on the cores of a laptop."""
    models = [(cell, _model(params, cell)) for cell in params.cells.values()]
    return all(_fits_cores(cell, model) for cell, model in models if has_weights(model))


def _fits_cores(cell: Cell, model: TinyModel | Published) -> bool:
    """Whether a cell's model is asked, and trained, on the cores of a laptop."""
    trained = cell if isinstance(cell, TrainedCell) else None
    if trained and trained.train.backend != "local":
        return False
    if isinstance(model, TinyModel):
        return True
    if cell.evaluate.engine != "hf":
        return False
    shape = shape_of(model)
    needed = 4 * shape.parameters
    if trained:
        needed = local_memory(shape, trained.train, trained.algorithm, on_gpu=False).peak
    return needed <= LAPTOP_MEMORY


def _model(params: Params, cell: Cell) -> Model:
    return lookup(params.base, cell.model, "model").model


def _rows(params: Params, part: Part, made: Path | None) -> int:
    """The questions of a part: of the file if it is made, else at most."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    if made is not None and made.is_file():
        return int(parquet.read_metadata(made).num_rows)
    task = registry.get(part.task)
    sources = [params.acquire[name] for name in task.sources if name in params.acquire]
    drawn = max((getattr(source, "test", 0) for source in sources), default=0)
    return row_count(part) or task.count or drawn * max(1, len(task.orders))


def _corrected(cells: list[CellPlan], study: str, root: Path) -> list[CellPlan]:
    """Plans with measured hours, and estimates corrected by them."""
    logs = (root / "logs" / study).glob("*/*/timing.jsonl")
    measured = {(path.parts[-3], path.parts[-2]): _measured_hours(path) for path in logs}
    factors = {name: _factor(name, cells, measured) for name in ("train", "evaluate")}

    def correct(key: str, name: str, stage: StagePlan) -> StagePlan:
        found = measured.get((key, name))
        if found is None:
            return replace(stage, hours=stage.hours * factors[name])
        return replace(stage, hours=found, measured=True)

    return [
        replace(
            cell,
            pools={
                pool: {name: correct(cell.key, name, stage) for name, stage in stages.items()}
                for pool, stages in cell.pools.items()
            },
        )
        for cell in cells
    ]


def _factor(name: str, cells: list[CellPlan], measured: Mapping[tuple[str, str], float]) -> float:
    """The median ratio of a stage's measured hours to those estimated in the fastest pool."""
    known = []
    for cell in cells:
        estimates = [stages[name].hours for stages in cell.pools.values() if name in stages]
        if (cell.key, name) in measured and estimates:  # what trains nothing has a file too
            estimate = min(estimates)
            known += [measured[cell.key, name] / estimate] if estimate > 0 else []
    return median(known) if known else 1.0


def _measured_hours(path: Path) -> float:
    """The hours that a stage took, by its ``timing.jsonl``."""
    rows = read_figures(path, f"{path.parent.name}@{path.parts[-3]}")
    return sum(r.get("seconds", 0) + r.get("validation_seconds", 0) for r in rows) / 3600
