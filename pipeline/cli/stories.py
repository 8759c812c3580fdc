"""``tomrl tom stories``: any number of generated stories, here or on a Ray cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

from pipeline.base.errors import UserError
from pipeline.cli.terminal import Terminal
from pipeline.formats.files import write_text
from pipeline.formats.plural import counted

T = TypeVar("T")


def stories(
    source: Annotated[str, typer.Argument(help="A generated source of the study.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")
    ],
    count: Annotated[int, typer.Option("-n", min=1, help="Number of stories.")] = 1000,
    split: Annotated[
        Literal["train", "validation", "test"], typer.Option(help="Whose stories.")
    ] = "train",
    study: Annotated[
        str | None, typer.Option(help="A study; by default params.yaml as it is.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Do it on a Ray cluster, of which this machine is a node: auto or HOST:PORT. All "
            "its nodes need this environment, and see FOLDER by the same path.",
        ),
    ] = None,
) -> None:
    """Write any number of generated stories, each with its questions, gold answers and traces.

    The first are those of the study itself. Stories go to files of 5,000, with their digests in
    SHA256SUMS, which is the same however many workers made them. What was interrupted goes on from
    the files that are there.

    Example: `tomrl tom stories hi_tom_style --study mini -n 2000 -o many`
    """
    from pipeline.config.lookup import lookup
    from pipeline.config.sources import GeneratedSource
    from pipeline.data.parts import DIGESTS, begin, parts, write_part
    from pipeline.ops.driver.checkout import find_root, params_of

    found = lookup(params_of(find_root(), study).acquire, source, "source")
    if not isinstance(found, GeneratedSource):
        raise UserError(f"source {source!r} has no stories that are generated; name one that has")
    folder = output.absolute()
    begin(folder, found, split, count)
    work = partial(write_part, folder, found, split, count)
    made = list(_spread(work, parts(count), ray))
    write_text(folder / DIGESTS, text := "".join(line for _, line in made))
    rows = sum(rows for rows, _ in made)
    Terminal().say(
        f"{counted(rows, 'question')} about {count} stories in {output}, "
        f"{counted(len(made), 'file')}; sha256 of {DIGESTS}: {sha256(text.encode()).hexdigest()}"
    )


def _spread(work: Callable[[int], T], count: int, ray: str | None) -> Iterator[T]:
    """What work makes of each number, by a Ray cluster or the processors of this machine."""
    if ray is not None:
        from pipeline.ops.cluster.spread import over_ray

        yield from over_ray(ray, work, count)
    else:
        ignore = (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for this process to handle
        processes, start = len(os.sched_getaffinity(0)), get_context("spawn")
        try:
            with ProcessPoolExecutor(processes, start, signal.signal, ignore) as pool:
                yield from pool.map(work, range(count))
        except BrokenProcessPool:
            raise UserError(
                "a process that writes stories was ended, perhaps out of memory; run it again: "
                "files that are whole are kept"
            ) from None
