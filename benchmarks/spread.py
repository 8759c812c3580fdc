"""How fast 1, 2 and 4 workers of Ray write stories, and whether they write the same.

``tomrl tom stories --ray`` is typed for a fifth of the stories and for all of them, on Ray heads of
this machine with as many processors as workers: the difference is the rate, without the seconds
that a cluster takes to start. Exits 1 where a digest differs, also after a worker was killed, or
where two workers are less than 1.7 times as fast as one. Run ``python -m benchmarks.spread``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import psutil

from pipeline.base.ports import free_ports
from pipeline.data.parts import DIGESTS
from pipeline.formats.files import file_digest
from pipeline.stages.followed import processor
from tests.alive import until

WORKERS = (1, 2, 4)
EFFICIENCY = 0.85
QUESTIONS, _TO_A_STORY = 10**8, 4
_HOST = "127.0.0.2"


@contextmanager
def head(workers: int) -> Iterator[None]:
    """A Ray cluster of this machine with some workers."""
    (port,) = free_ports(1)
    flags = (f"--node-ip-address={_HOST}", f"--port={port}", f"--num-cpus={workers}")
    ray = (sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = psutil.Popen((*ray, "--include-dashboard=false", *flags), **quiet)
    try:
        assert until(lambda: any("raylet" in each.name() for each in process.children()), 60)
        yield
    finally:
        for each in [*process.children(recursive=True), process]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait()


def lose_a_worker() -> bool:
    """Kill a worker once one works; whether there was one."""

    def working() -> list[psutil.Process]:
        every = psutil.process_iter(["cmdline"])
        return [each for each in every if "->Map(" in " ".join(each.info["cmdline"] or ())]

    found = until(working, 60)[:1]
    for process in found:
        process.kill()
    return bool(found)


def written(stories: int) -> tuple[float, str]:
    """How long a cluster takes for some stories, and the digest of what it makes."""
    command = (sys.executable, "-m", "pipeline.cli.app", "tom", "stories", "hi_tom_style")
    with TemporaryDirectory() as folder:
        flags = ("--study", "mini", "-n", str(stories), "-o", folder, "--ray", "auto")
        started = perf_counter()
        subprocess.run((*command, *flags), check=True, stdout=subprocess.DEVNULL)
        return perf_counter() - started, file_digest(Path(folder) / DIGESTS)


def main() -> int:
    """Measure, print and compare with what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stories", type=int, default=100_000, help="stories to write")
    stories = parser.parse_args().stories
    print(f"{processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    rates, digests = {}, set()
    for workers in WORKERS:
        with head(workers):
            (few, _), (all_of_them, digest) = written(stories // 5), written(stories)
        rates[workers] = 0.8 * stories / (all_of_them - few)
        digests.add(digest)
        print(f"{workers} workers: {all_of_them:.1f} s, {rates[workers]:.0f} stories/s, {digest}")
    with head(2), ThreadPoolExecutor(1) as pool:
        lost = pool.submit(lose_a_worker)
        digests.add(written(stories)[1])
        assert lost.result()
    efficiency = rates[2] / rates[1] / 2
    hours = QUESTIONS / _TO_A_STORY / rates[1] / 3600
    print(f"efficiency of two {efficiency:.2f}; {hours:.1f} hours of a worker for 100 million")
    print(f"the same to the byte, also with a worker lost: {len(digests) == 1}")
    return 0 if len(digests) == 1 and efficiency >= EFFICIENCY else 1


if __name__ == "__main__":
    sys.exit(main())
