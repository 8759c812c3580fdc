"""What a job says to its stage stands on lines of its own, whatever is printed beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import environment

SCRIPT = """
import subprocess, sys, time
from pipeline.ops.cluster.job import STEP
from pipeline.ops.cluster.job_lines import say

noise = "while True: print('(TaskRunner pid=1)', 'a worker says something')"
with subprocess.Popen([sys.executable, "-c", noise]) as driver:
    time.sleep(1)  # until it talks
    for number in range(300):
        say(STEP, f'{{"step": {number}}}')
    driver.kill()
"""


def test_lines_stay_whole_beside_those_of_the_driver(project: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab") as file:  # as Ray gives it to job and driver, which are two processes
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=project,
            env={**environment(tmp_path), "PYTHONUNBUFFERED": "1"},
            stdout=file,
            check=True,
        )
    steps = [line for line in log.read_text().splitlines() if "TOMRL_STEP" in line]
    assert steps == [f'TOMRL_STEP {{"step": {number}}}' for number in range(300)]
