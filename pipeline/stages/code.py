"""Stage ``code``: for each stage, a digest of the syntax of everything its result can come from.

Every other stage depends on its own file here in place of the code itself, so that an edit reruns
what it can change and nothing else: a comment, a docstring or another backend's code reruns
nothing. What a stage loads by name has a file of its own. The benchmarks' rules come with the data
that they grade (:mod:`pipeline.stages.sources`).
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.base.closure import own_code
from pipeline.base.plugins import BACKENDS, BASES, BENCHMARKS, CONTROLS, ENGINES, REWARDS, SERVED
from pipeline.formats.files import replacing, write_json
from pipeline.stages.common import Stage, run
from pipeline.stages.expand import written

_READS_TASKS = ("dataset", "suite", "audit", "sources", "report")
_PLAIN = ("acquire", "judge", *_READS_TASKS)


def main(stage: Stage) -> None:
    """Write one file for each stage and variant of a stage."""
    target = stage.root / "code"
    with replacing(target) as temporary:
        temporary.mkdir()
        for name, modules in variants():
            write_json(temporary / f"{name}.json", own_code(modules))


def variants() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name of each file with the modules whose imports it covers.

    Cells that train nothing have the backend and the reward ``none``.
    """
    for name in _PLAIN:
        tasks = BENCHMARKS if name in _READS_TASKS else ()
        yield name, (f"pipeline.stages.{name}", *tasks)
    for kind, plugin in BASES.items():
        yield f"base-{kind}", ("pipeline.stages.base", *plugin.modules)
    yield "train-none", ("pipeline.stages.train",)
    for backend, plugin in BACKENDS.items():
        yield f"train-{backend}", ("pipeline.stages.train", *plugin.modules)
    for engine, plugin in (*ENGINES.items(), *SERVED.items()):
        yield f"evaluate-{engine}", ("pipeline.stages.evaluate", *plugin.modules)
    yield "reward-none", ()
    for preset, plugin in (*REWARDS.items(), *CONTROLS.items()):
        yield f"reward-{preset}", plugin.modules


if __name__ == "__main__":
    run("code", main, written)
