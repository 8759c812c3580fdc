"""A miniature study that verl trains, and the engine environment it needs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.base.errors import UserError
from pipeline.ops.cluster.head import engine_python
from pipeline.ops.driver.checkout import use_study
from pipeline.ops.verl.checkpoints import whole_steps
from pipeline.ops.verl.layout import State
from tests.conftest import (
    PROJECT,
    copy_checkout,
    edited,
    ended_well,
    environment,
    expand,
    made_once,
    shrink,
)
from tests.engines.team import served
from tests.gpus import path_with_gpus

__all__ = ["served"]

GRPO, REINFORCE, SFT = "nano-hi-grpo", "nano-hi-reinforce-plus-plus", "nano-hi-sft"
STEPS, SFT_STEPS = 4, 12
ROWS = 10
"""Training prompts, four a step: two steps are a pass of verl's."""
COLUMNS = ("hi_tom_orders_0_2", "hi_tom_order_3")
"""What every kept step is asked: columns of one task."""
ARMS: dict[str, dict[str, object]] = {
    "grpo": {"algorithm": "grpo"},
    "reinforce-plus-plus": {"algorithm": "reinforce_plus_plus"},
    # Its steps are so short that there must be more of them to be killed in the middle.
    "sft": {
        "algorithm": {"name": "sft", "imitates": "traces"},
        "steps": SFT_STEPS,
        "checkpoint": "last",
    },
}
ON_CPU = {"VERL_PLATFORM": "cpu", "TORCH_COMPILE_DISABLE": "1", "OMP_NUM_THREADS": "1"}
SETTINGS = {
    "++trainer.device": "cpu",
    "++actor_rollout_ref.rollout.name": "hf_cpu",
    # Processes that a laptop has no room for.
    "++actor_rollout_ref.rollout.agent.num_workers": 1,
    "++data.dataloader_num_workers": 0,
    "++reward.num_workers": 1,
    "++transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
}
"""With which verl trains where there is no accelerator: of the environment, and of its own."""
Start = Callable[..., "Command"]


@pytest.fixture(scope="package", autouse=True)
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of the engine environment; without it, all tests here are skipped.

    verl finds accelerators that exist by name only, and a plug-in with which it does without them.
    """
    try:
        python = engine_python(os.environ)
    except UserError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path_with_gpus(tmp_path_factory.mktemp("bin"), 8))
        patch.setenv("PYTHONPATH", str(PROJECT / "tests" / "on_cpu"))
        for name, value in ON_CPU.items():
            patch.setenv(name, value)
        yield python


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a study for verl, its data and base model made; tests copy it."""
    return made_once(tmp_path_factory, "study", _make_study)


def _make_study(folder: Path) -> None:
    checkout = copy_checkout(folder)
    shrink(
        checkout,
        backend="verl",
        cluster={"gpus": 2, "stall_minutes": 4, "overrides": SETTINGS},
        prompts_per_step=4,
        rollouts=4,
        steps=STEPS,
        max_new_tokens=24,
        validate_every=1,
        save_every=1,
    )
    with edited(checkout / "studies" / "mini.yaml") as content:
        content["dataset"]["combinations"]["hi"]["train"][0]["limit"] = ROWS
        del content["grid"]["algorithms"]
        content["grid"]["arms"] = ARMS
        warm_start = content["base"]["models"]["nano"]["warm_start"]
        warm_start |= {"steps": 150, "batch": 16, "stories": 2000}
        content["evaluate"] |= {"max_new_tokens": 24, "at": "all", "each_step": 4}
    use_study(checkout, "mini")
    repro = ("dvc", "repro", "base@nano", "dataset@hi", "suite")
    ended_well(checkout, *repro)


@pytest.fixture
def checkout(study: Path, tmp_path: Path) -> Path:
    """A checkout of its own, ready to train."""
    return own_checkout(study, tmp_path / "a folder with spaces")


def own_checkout(study: Path, target: Path) -> Path:
    """Copy the prepared study."""
    shutil.copytree(study, target, symlinks=True)
    return target


def edit_params(checkout: Path, cell: str, **cluster: object) -> None:
    """Change where and how a cell is trained, in ``params.yaml``."""
    with edited(checkout / "params.yaml") as content:
        train = content["cells"][cell].setdefault("train", {})
        train.setdefault("cluster", {}).update(cluster)
    expand(checkout)


class Command:
    """A command that runs while a test watches it, with its output in a file."""

    def __init__(self, checkout: Path, *command: str, **extra: str) -> None:
        self.checkout = checkout
        self._output = checkout.parent / f"output-{time.monotonic_ns()}.txt"
        with self._output.open("w") as file:
            self._process = psutil.Popen(
                command,
                cwd=checkout,
                env={**environment(checkout.parent), **extra},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._seen: dict[int, psutil.Process] = {}

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def processes(self) -> list[psutil.Process]:
        """All its descendants that are alive; those it had before count too."""
        try:
            found = [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            found = []
        self._seen |= {process.pid: process for process in found}
        return [process for process in self._seen.values() if is_alive(process)]

    def named(self, part: str) -> list[psutil.Process]:
        """The descendants whose command line has a part."""
        return [process for process in self.processes() if part in _command_line(process)]

    def wait_until(self, condition: Callable[[], bool], seconds: float = 600) -> None:
        """Wait for something to become true while the command runs."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert not self.ended, self.output
            assert time.monotonic() < deadline, self.output
            self.processes()
            time.sleep(0.2)

    def wait(self, seconds: float = 600) -> int:
        """Wait for the end and return the status."""
        deadline = time.monotonic() + seconds
        while not self.ended:
            assert time.monotonic() < deadline, self.output
            self.processes()
            time.sleep(0.2)
        return int(self._process.returncode)

    def end(self) -> None:
        """Kill whatever is left."""
        kill(self.processes())


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def kill(processes: list[psutil.Process]) -> None:
    """Kill processes, some of which may just have ended by themselves."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=10)  # DVC takes what is not gone yet for alive


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Start a command in a checkout; what is left of it is killed after the module's tests."""
    started: list[Command] = []

    def run(checkout: Path, *command: str, **extra: str) -> Command:
        started.append(Command(checkout, *command, **extra))
        return started[-1]

    yield run
    for command in started:
        command.end()


def saved_steps(checkout: Path) -> list[int]:
    """The steps whose checkpoints are whole in the state folders of a checkout."""
    states = (State(path.parent.parent, path.name) for path in checkout.glob("work/*/attempts/*"))
    return sorted(step for state in states for step in whole_steps(state))
