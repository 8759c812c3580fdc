"""Worker that compares expressions with math-verify: ``python -m pipeline.tasks.math_worker
PARENT``.

The library does not end on some short expressions, and its own time limits are signals, which need
the main thread. So each comparison runs in a fork of a process with the library loaded, which can
be killed and leaves nothing behind.

Reads pairs of expression and truth from standard input, a JSON list a line, and answers each with a
line: ``right``, ``wrong`` or ``late``. Ends with its input, and with the process PARENT.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import select
import signal
import sys

READY, RIGHT, WRONG, LATE = "ready", "right", "wrong", "late"
# Of a comparison. The processor's time decides, so that a busy machine judges as an idle one does;
# a comparison that computes has used it up long before the clock's, which is for one that does not.
PROCESSOR_SECONDS, SECONDS = 0.15, 10.0
_SECONDS_BETWEEN_LOOKS = 0.5
_WARMING = (  # what the library builds once, for every part of an expression
    r"2468 \text{ eggs}",
    r"x = \frac{1}{2}(9) + 3.5 \cdot 4 \div 2 - [1 * 2]",
    r"\left(18\right), \{5\}",
    r"18 hours, or so",
    r"\text{Total: } 18",
    r"18\%",
)


def main() -> None:
    """Answer until the input or the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    parent = int(sys.argv[1])
    for expression in _WARMING:
        is_right(expression, "18")
    gc.collect()
    gc.freeze()
    gc.disable()  # a copy is gone before there is anything to collect
    _say(READY)
    waiting = b""
    # The parent is looked at here rather than by a thread: a thread would be cut off by each fork.
    while os.getppid() == parent:
        if select.select([0], [], [], _SECONDS_BETWEEN_LOOKS)[0]:
            received = os.read(0, 1 << 16)
            if not received:
                return
            *lines, waiting = (waiting + received).split(b"\n")
            for line in lines:
                _say(compare(*json.loads(line)))


def _say(word: str) -> None:
    os.write(1, f"{word}\n".encode())  # at once, however Python buffers its output


def compare(expression: str, truth: str) -> str:
    """The verdict of a fork of this process, or ``late``."""
    answer, answers = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(answers, expression, truth)
    os.close(answers)
    in_time = select.select([answer], [], [], SECONDS)[0]
    verdict = os.read(answer, 16).decode() if in_time else ""
    os.close(answer)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return verdict or LATE


def _answer(answers: int, expression: str, truth: str) -> None:
    """Write the verdict and exit; a kernel limit kills this process if it takes too long."""
    try:
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
        os.write(answers, (RIGHT if is_right(expression, truth) else WRONG).encode())
    finally:
        os._exit(0)


def is_right(expression: str, truth: str) -> bool:
    """Compare without a time limit."""
    import math_verify  # type: ignore[import-untyped]

    # It warns once that its timeouts are off, which is on purpose.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    found, gold = (
        math_verify.parse(f"\\boxed{{{text}}}", parsing_timeout=None)
        for text in (expression, truth)
    )
    return bool(found) and bool(math_verify.verify(gold, found, timeout_seconds=None))


if __name__ == "__main__":
    main()
