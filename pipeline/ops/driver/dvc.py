"""DVC as this program runs it: ``dvc.lock`` is written in a fraction of the time.

DVC 3 reads and writes the whole file for each stage that it has run, with a parser in Python that
keeps comments, of which this file has none. Here the same library's parser in C does it. Where a
process has imported what stages need, they are forked from it. All else is DVC's own.
"""

from __future__ import annotations

import io
import json
import logging
import os
import runpy
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.formats.files import write_text
from pipeline.ops.driver.forks import fork


def write(content: object, stream: Any) -> None:
    """Write the content of ``dvc.lock``, as DVC does."""
    from ruamel.yaml import YAML

    library: Any = YAML(typ="safe")
    library.default_flow_style = False
    library.sort_base_mapping_type_on_output = False
    library.dump(json.loads(json.dumps(content)), stream)  # of ordered sections, plain ones


@contextmanager
def modify(path: str, fs: Any = None) -> Iterator[Any]:
    """Give the content of a file of DVC's to be changed in place, and write it back.

    ``dvc.lock`` is written beside and renamed: whoever is killed meanwhile leaves no half of it.
    A file with comments, such as ``dvc.yaml``, is left to DVC.
    """
    from dvc.utils.serialize import load_yaml, modify_yaml

    file = Path(path)
    if file.name != "dvc.lock":
        with modify_yaml(path, fs) as content:
            yield content
        return
    content = (load_yaml(path) if file.exists() else None) or {}
    yield content
    text = io.StringIO()
    write(content, text)
    write_text(file, text.getvalue())


def main(arguments: Sequence[str], *, forks: bool = False) -> int:
    """Run DVC's command line; ``forks`` has its stages forked from this process."""
    from dvc import dvcfile
    from dvc.cli import main as run
    from dvc.stage import run as running

    dvcfile.modify_yaml = modify
    if forks:
        running._run = partial(_run_stage, running._run)
    logging.getLogger("dvc.repo.scm_context").setLevel(logging.WARNING)  # no hints to `git add`
    return int(run(list(arguments)))


def _run_stage(as_dvc: Callable[..., None], program: str, command: str, **given: Any) -> None:
    """Run a stage in a fork of this process, and any other command as DVC does."""
    from dvc.stage.exceptions import StageCmdFailedError

    if not command.startswith("python -m pipeline.stages."):
        return as_dvc(program, command, **given)
    module, *arguments = shlex.split(command)[2:]
    pid = fork(partial(_be_stage, module, arguments, given["cwd"], given["env"]))
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stage is asked, and this waits
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        signal.signal(signal.SIGINT, handler)
    if status:
        raise StageCmdFailedError(command, status)


def _be_stage(
    module: str, arguments: Sequence[str], where: str, environment: dict[str, str]
) -> None:
    from setproctitle import setproctitle

    setproctitle(" ".join(["python", "-m", module, *arguments]))
    os.chdir(where)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
