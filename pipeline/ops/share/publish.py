"""Making the bundle of a study: its results with all that checking them takes, but no weights."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from pipeline.analysis.runs import facts
from pipeline.base.git import checked_out
from pipeline.config.params import Params
from pipeline.formats.files import write_json
from pipeline.formats.provenance import GRADING, MODEL, installed
from pipeline.ops.mirror.ran import stages_that_ran
from pipeline.ops.share.bundle import NAME, Bundle
from pipeline.ops.share.licences import licences, sources_of_sets
from pipeline.stages.expanded import EVERYTHING, FOLDER

COMPUTING = ("numpy", "pandas", "scipy", "scikit-learn", "pyarrow", "matplotlib")
"""What scores, intervals, verdicts and figures are computed with."""


def write_bundle(params: Params, root: Path, folder: Path) -> Bundle:
    """Write the bundle of a study's results into an empty folder.

    Raises:
        UserError: If the study quotes data that may not be passed on.
    """
    study = params.study
    sources = sources_of_sets(params, to_train=False)
    for name in filter(lambda name: (root / name).exists(), _parts(params)):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_dir():
            shutil.copytree(root / name, target, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(root / name, target)
    write_json(folder / FOLDER / EVERYTHING, params.model_dump(mode="json"))
    found = Bundle.of(
        folder,
        study=study.name,
        title=study.title,
        provenance=provenance(params, root),
        licences=licences(sources),
    )
    found.write(folder / NAME)
    return found


def provenance(params: Params, root: Path) -> dict[str, str]:
    """Where results come from: the commit that is checked out, and what the logs of runs say."""
    ran = stages_that_ran(params, root)
    libraries = installed("tomrl", *MODEL, *GRADING, *COMPUTING)
    known = facts(ran) if ran else {}
    if commit := checked_out(root):
        known = known | {"published at": commit}
    return known | {"published with": ", ".join(map(" ".join, libraries.items()))}


def _parts(params: Params) -> Iterator[str]:
    """Yield the files and folders of a checkout that belong to a bundle; some need not be there."""
    name = params.study.name
    yield from ("code", "dvc.lock", "LICENSE", f"reports/{name}")
    yield from (f"data/{name}/{part}" for part in ("combos", "sources", "suite"))
    yield from (f"runs/{name}/audit", *(f"runs/{name}/base/{key}" for key in params.base))
    yield from (f"runs/{name}/{key}" for key in params.cells)
    yield f"studies/{name}.yaml"
    yield from (f"studies/{part}/{name}.yaml" for part in ("published", "records"))
