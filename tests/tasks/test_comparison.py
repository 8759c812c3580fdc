"""The worker that asks math-verify can be killed, shared and left, and leaves no one behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.reward.presets import load_preset, reward
from pipeline.tasks import comparison, gsm8k, math_worker
from pipeline.tasks.comparison import equals
from pipeline.tasks.example import Example
from pipeline.tasks.grading import TooLate
from pipeline.tasks.registry import get

ENDLESS = "".join(f"({a}+{b})" for a, b in zip("abcdefghijklmn", "opqrstuvwxyzab", strict=True))
GOLD = Example("gsm8k", "gsm8k", "", "How many?", "18", answer_kind="number")


def workers() -> set[int]:
    """The worker processes of this test's process."""
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True
    ).stdout
    return {int(line.split()[0]) for line in listed.splitlines() if math_worker.__name__ in line}


def test_an_endless_comparison_is_cut_off_and_the_next_one_is_made() -> None:
    assert equals("18 miles", "18")
    for _ in range(3):
        start = time.perf_counter()
        with pytest.raises(TooLate):
            equals(ENDLESS, "18")
        assert time.perf_counter() - start < 5
        assert equals("18 miles", "18") and not equals("19 miles", "18")
    assert len(workers()) == 1


def test_a_killed_worker_is_replaced() -> None:
    assert equals("18 miles", "18")
    (before,) = workers()
    os.kill(before, signal.SIGKILL)
    assert equals("18 miles", "18")
    (after,) = workers()
    assert after != before


def test_a_worker_that_says_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_SECONDS", 1.0)
    assert equals("18 miles", "18")
    (before,) = workers()
    os.kill(before, signal.SIGSTOP)
    start = time.perf_counter()
    with pytest.raises(TooLate):
        equals("18 miles", "18")
    assert time.perf_counter() - start < 10
    assert not Path(f"/proc/{before}").exists()  # nor is it a zombie
    monkeypatch.undo()
    assert equals("18 miles", "18") and before not in workers()


def test_an_interrupted_question_is_not_answered_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> str:
        raise KeyboardInterrupt

    assert equals("18 miles", "18")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(comparison, "_read_line", interrupt)
        equals("18 miles", "18")
    assert not equals("19 miles", "18")


def test_threads_share_a_worker() -> None:
    questions = [("18 miles", "18"), ("19 miles", "18"), ("18, 18", "18"), ("7 cm", "18")] * 6
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda question: equals(*question), questions))
    assert found == [True, False, True, False] * 6
    assert len(workers()) == 1


def test_a_fork_has_a_worker_of_its_own() -> None:
    assert equals("18 miles", "18")
    child = os.fork()
    if child == 0:
        os._exit(0 if equals("18 miles", "18") and not equals("19 miles", "18") else 1)
    assert equals("18 miles", "18") and not equals("19 miles", "18")
    assert os.waitpid(child, 0)[1] == 0
    assert equals("18 miles", "18")


STARTER = """
import os, sys
from pipeline.tasks.comparison import equals
assert equals("18 miles", "18")
if os.fork() == 0:  # holds the worker's pipes open, as a data loader may
    import time
    time.sleep(10)
    os._exit(0)
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None], ids=str)
def test_the_worker_ends_with_its_process(tmp_path: Path, number: signal.Signals | None) -> None:
    (tmp_path / "math_verify.py").write_text("raise SystemExit('a stranger was imported')")
    process = subprocess.Popen(
        [sys.executable, "-c", STARTER],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    mark = f"{math_worker.__name__} {process.pid}"
    assert subprocess.run(["pgrep", "-f", mark], capture_output=True).returncode == 0
    if number is None:
        process.stdin.write("\n")
        process.stdin.close()
    else:
        process.send_signal(number)
    process.wait(20)
    deadline = time.monotonic() + 20
    while subprocess.run(["pgrep", "-f", mark], capture_output=True).returncode == 0:
        assert time.monotonic() < deadline, "the worker is still there"
        time.sleep(0.1)


def test_a_late_answer_is_wrong_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsm8k, "may_be_amount", lambda text: True)
    answer = rf"so</think><answer>\boxed{{{ENDLESS}}}</answer>"
    grade = get("gsm8k").grade(answer, GOLD)
    assert not grade.correct and grade.too_late and grade.format_ok
    earned = reward(load_preset("rlvr"), answer, GOLD)
    assert earned.score == 0.1 and earned.figures()["error"] == 1
    assert earned.error is not None and "in time" in earned.error
