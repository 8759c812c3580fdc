"""Stage ``expand``: ``params.yaml`` resolved, in one small file for each stage instance.

DVC reads a whole file of parameters for each stage that names some of it, so a study of many cells
would take time that grows with their square. A stage depends on a file here in place of parameters:
it holds those that its result can come from, and digests of the code that they choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.config.params import Cell, Params
from pipeline.config.params_file import read_params
from pipeline.formats.files import file_digest, json_text, replacing
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import CELL, CELLS, EVERYTHING, FOLDER, SHARED

Content = dict[str, Any]


def main(stage: Stage) -> None:
    """Write the files of all stage instances."""
    digests = {path.stem: file_digest(path) for path in (stage.root / "code").glob("*.json")}
    with replacing(stage.root / FOLDER) as temporary:
        for name, content in files(stage.params, digests):
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json_text(content), encoding="utf-8")
    print(f"expand: {len(stage.params.cells)} cells of study {stage.study}")


def written(root: Path, _: Sequence[str] = ()) -> Params:
    """The parameters as ``params.yaml`` gives them."""
    return read_params(root / "params.yaml")


def files(params: Params, code: dict[str, str]) -> Iterator[tuple[str, Content]]:
    """Yield the name and the content of every file.

    Args:
        params: The study.
        code: The digest of every file of the stage ``code``.
    """
    whole: Content = params.model_dump(mode="json")
    yield EVERYTHING, whole
    yield SHARED, whole | {CELLS: {}}
    for section in ("study", "suite", "audit"):
        yield f"{section}.json", whole[section]
    for section in ("acquire", "dataset"):
        for key, content in whole[section].items():
            yield f"{section}/{key}.json", content
    for key, entry in params.base.items():
        yield (
            f"base/{key}.json",
            {
                "code": _chosen(code, f"base-{entry.model.kind}"),
                "threads": params.study.threads,
                **whole["base"][key],
            },
        )
    for key, cell in params.cells.items():
        content = whole["cells"][key]
        yield f"{CELLS}/{key}/{CELL}", content
        for stage, names, sections in _stages(cell):
            yield (
                f"{CELLS}/{key}/{stage}.json",
                {
                    "code": _chosen(code, *names),
                    "threads": params.study.threads,
                    "seed": cell.seed,
                    **{section: content[section] for section in sections if section in content},
                },
            )


def _stages(cell: Cell) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield each stage of a cell that has parameters: its name, its files of code, its sections."""
    train, evaluate = cell.train, cell.evaluate
    code = (f"train-{train.backend}", f"reward-{train.reward.preset}")
    yield "train", code, ("algorithm", "train", "keeps")
    yield "evaluate", (f"evaluate-{evaluate.engine}",), ("evaluate",)


def _chosen(code: dict[str, str], *names: str) -> dict[str, str]:
    return {name: code[name] for name in names}


if __name__ == "__main__":
    run("expand", main, written)
