"""Running the stages of a sweep: those that cells share, each cell in its worktree, the report."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from threading import Lock

from flows.commands import Commands
from flows.order import DATA_STAGE, changed_stages, stages_of
from flows.sweeps.causes import Cause, cause
from flows.sweeps.left import cells_left, inputs_of
from flows.sweeps.lock_file import merged
from flows.sweeps.pin import same_inputs
from flows.sweeps.progress import advanced
from flows.sweeps.record import SWEEPS, CellState, SweepFolder
from flows.sweeps.trees import Trees
from pipeline.base.errors import UserError
from pipeline.base.locks import locked
from pipeline.formats.files import link_or_copy, replacing, write_text
from pipeline.ops.driver.checkout import dvc_command
from pipeline.ops.driver.mend import mend_dvc
from pipeline.ops.mirror.send import complete

Hear = Callable[[str], None]
_TAIL = 30  # lines of output in which a cause is looked for
_MAIN_LOCK = ".main.lock"


class CellFailed(Exception):
    """A cell has failed, or was stopped; says why."""

    def __init__(self, why: Cause) -> None:
        super().__init__(why.text)
        self.cause = why


class Work:
    """The stages of a sweep.

    Args:
        folder: The sweep.
        commands: What runs them, and stops them.
    """

    def __init__(self, folder: SweepFolder, commands: Commands) -> None:
        self.folder, self.commands = folder, commands
        self.sweep, self.params = folder.sweep(), folder.params()
        self._trees = Trees(folder, self.sweep.commit)
        self._gathering = Lock()

    @property
    def shared(self) -> Path:
        """Return the worktree where results are gathered."""
        return self.folder.shared

    def make_data(self, say: Hear) -> None:
        """Make, or take from the cache, the data, and take over what the checkout has.

        Raises:
            CellFailed: If that fails.
        """
        known = self.folder.home / "dvc.lock"
        if self._trees.prepare(self.shared):
            mend_dvc(self.folder.home)
            if known.is_file():
                shutil.copy(known, self.shared / known.name)
            self._check_out(self.shared, "data")
        self._repro(self.shared, [DATA_STAGE], self._heard("data", say))

    def make_base(self, stage: str, say: Hear) -> None:
        """Make a base model, beside others.

        Raises:
            CellFailed: If that fails.
        """
        self._repro(self.shared, ["--single-item", stage], self._heard(stage, say))

    def left(self) -> list[str]:
        """Return the cells that are not done, in the order in which to start them."""
        return cells_left(self.params, changed_stages(self.shared))

    def run_cell(self, key: str, tell: Callable[[CellState], None]) -> None:
        """Run what is missing of a cell, and gather it.

        Args:
            key: The cell.
            tell: Receives how far it is, whenever that changes.

        Raises:
            CellFailed: If it fails, or is stopped.
        """
        before, began = self.folder.cell(key), time.monotonic()
        state = before.model_copy(
            update={"state": "running", "attempts": before.attempts + 1, "cause": "", "stage": ""}
        )

        def note(after: CellState) -> None:
            nonlocal state
            seconds = before.seconds + time.monotonic() - began
            state = after.model_copy(update={"seconds": round(seconds, 1)})
            self.folder.note(key, state)
            tell(state)

        def follow(line: str) -> None:
            if (after := advanced(state, line)) is not state:
                note(after)

        note(state)
        try:
            tree = self._trees.of(key)
            if self._trees.prepare(tree, inputs_of(self.params, key)):
                self._know_own(tree, key)
            self._repro(tree, ["--single-item", *stages_of(key)], self._heard(key, follow))
            self._gather(key, tree)
            self._tell(key)
        except Exception as failure:
            ended = "stopped" if self.commands.stopped else "failed"
            note(state.model_copy(update={"state": ended, "cause": str(failure)}))
            raise
        note(state.model_copy(update={"state": "done", "remaining": None}))
        self._trees.remove(tree)

    def finish(self, say: Hear, owed: Sequence[str]) -> None:
        """Make the report where results are gathered, and restore everything in the checkout.

        Args:
            say: Receives the output of DVC.
            owed: Commands that are then still to bring results to a remote.

        Raises:
            CellFailed: If the report cannot be made.
            UserError: If the checkout has other code by now, or its files are in the way.
        """
        self._repro(self.shared, [], self._heard("report", say))
        with locked(self.folder.home / SWEEPS / _MAIN_LOCK):
            self._restore(say)
        ended = datetime.now().astimezone().isoformat(timespec="seconds")
        self.folder.write(self.sweep.model_copy(update={"ended": ended, "unpushed": list(owed)}))
        self._trees.remove_all()

    def push(self, command: list[str]) -> int:
        """Run what brings results of the checkout to a remote, and return its exit status."""
        return self.commands.run(command, self._heard("push", lambda _: None))

    def _restore(self, say: Hear) -> None:
        home, commit = self.folder.home, self.sweep.commit
        if not same_inputs(home, commit):
            raise UserError(
                f"all cells of sweep {self.sweep.name} are done, but {home} has other code than "
                f"their commit {commit[:12]}, so that it would run them again; nothing there was "
                f"changed. Restore them with: git checkout {commit[:12]} && tomrl sweep --name "
                f"{self.sweep.name}"
            )
        write_text(home / "params.yaml", self.folder.params_file.read_text(encoding="utf-8"))
        logs = Path("logs") / self.params.study.name
        if (self.shared / logs).is_dir():
            shutil.copytree(self.shared / logs, home / logs, dirs_exist_ok=True)
        self._know_all(home)
        self._repro(home, [], self._heard("restore", say))

    def _know_own(self, tree: Path, key: str) -> None:
        """Let DVC know in a cell's worktree what is known of the cell, and no more.

        It reads and writes all that it knows with each stage: seconds, where cells are many.
        """
        known = tree / "dvc.lock"
        if own := merged("", _known(self.shared), stages_of(key)):
            write_text(known, own)
        else:
            known.unlink(missing_ok=True)

    def _know_all(self, home: Path) -> None:
        """Bring all results with what DVC knows of them to the checkout.

        ``dvc repro`` would do so too, one stage after the other, each with all that is known read
        and written again: seconds for each of hundreds.
        """
        mend_dvc(home)
        known = home / "dvc.lock"
        write_text(known, merged(_known(home) if known.is_file() else "", _known(self.shared)))
        self._check_out(home, "restore")

    def _check_out(self, tree: Path, log: str) -> None:
        """Put in place what is known and in the cache; the rest is for ``dvc repro``."""
        command = dvc_command("checkout", "--quiet", "--force", "--allow-missing")
        self.commands.run(command, self._heard(log, lambda _: None), tree)

    def _gather(self, key: str, tree: Path) -> None:
        """Bring the results of a cell to where its report is made, with what DVC knows of them."""
        study = self.params.study.name
        logs = Path("logs") / study / key
        with self._gathering:
            for made in (Path("weights") / study / key, Path("runs") / study / key):
                with replacing(self.shared / made) as temporary:
                    shutil.copytree(tree / made, temporary, copy_function=link_or_copy)
            if (tree / logs).is_dir():
                shutil.copytree(tree / logs, self.shared / logs, dirs_exist_ok=True)
            found = merged(_known(self.shared), _known(tree), stages_of(key))
            write_text(self.shared / "dvc.lock", found)

    def _tell(self, key: str) -> None:
        """Send the results of a cell to MLflow; the report sends what that does not take now."""
        try:
            with self._gathering:
                complete(self.params, self.shared, [key])
        except UserError as error:
            self._heard(key, lambda _: None)(f"warning: {error}")

    def _repro(self, tree: Path, arguments: list[str], hear: Hear) -> None:
        """Run ``dvc repro`` in a worktree.

        Raises:
            CellFailed: If that fails, or is stopped.
        """
        mend_dvc(tree)
        tail: list[str] = []

        def keep(line: str) -> None:
            hear(line)
            tail.append(line)
            del tail[:-_TAIL]

        command = dvc_command("--wait-for-lock", "repro", *arguments)
        status = self.commands.run(command, keep, tree)
        if self.commands.stopped:
            raise CellFailed(Cause("it was stopped; run the sweep again to go on", passing=False))
        if status:
            raise CellFailed(cause(tail))

    def _heard(self, name: str, then: Hear) -> Hear:
        """Return what keeps the output of a command in a file, and passes it on."""
        path = self.folder.log(name)
        path.parent.mkdir(parents=True, exist_ok=True)

        def hear(line: str) -> None:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {line}\n")
            then(line)

        return hear


def _known(tree: Path) -> str:
    """Return the text of what DVC knows in a worktree or checkout."""
    return (tree / "dvc.lock").read_text(encoding="utf-8")
