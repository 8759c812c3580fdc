"""The data of a study, made by its stages in this process."""

from __future__ import annotations

from pathlib import Path

from pipeline.config.params import Params
from pipeline.stages import acquire, dataset, sources
from pipeline.stages.common import Stage


def make_data(root: Path, params: Params) -> None:
    """Run the stages up to the training sets."""
    for key in params.acquire:
        acquire.main(Stage("acquire", root, params), key)
    sources.main(Stage("sources", root, params))
    for key in params.dataset:
        dataset.main(Stage("dataset", root, params), key)
