"""The schema of a study, its expansion into cells, and the one reader of ``params.yaml``.

A study file in ``studies/`` is complete: it names its sources, data, models, training recipe,
evaluation tasks and grid. :func:`expand` turns it into what ``params.yaml`` holds: one mapping per
stage, each entry fully resolved, so that DVC reruns exactly what an edit touches.
"""

from pipeline.config.expand import expand
from pipeline.config.files import dump_params, find_study, load_study, read_params, study_files
from pipeline.config.params import BaseEntry, Cell, DatasetEntry, Params, StudyInfo, lookup
from pipeline.config.sections import (
    ApiModel,
    ArithmeticSource,
    Audit,
    Base,
    Combination,
    Dataset,
    Evaluate,
    ExploreTomSource,
    FantomSource,
    GeneratedSource,
    Grid,
    HiTomSource,
    HubModel,
    OpenTomSource,
    Part,
    SideCheck,
    Source,
    Split,
    Suite,
    SuiteTask,
    TinyModel,
    TomiSource,
    Train,
    UpstreamSource,
    WarmStart,
)
from pipeline.config.study import Study

__all__ = [
    "ApiModel",
    "ArithmeticSource",
    "Audit",
    "Base",
    "BaseEntry",
    "Cell",
    "Combination",
    "Dataset",
    "DatasetEntry",
    "Evaluate",
    "ExploreTomSource",
    "FantomSource",
    "GeneratedSource",
    "Grid",
    "HiTomSource",
    "HubModel",
    "OpenTomSource",
    "Params",
    "Part",
    "SideCheck",
    "Source",
    "Split",
    "Study",
    "StudyInfo",
    "Suite",
    "SuiteTask",
    "TinyModel",
    "TomiSource",
    "Train",
    "UpstreamSource",
    "WarmStart",
    "dump_params",
    "expand",
    "find_study",
    "load_study",
    "lookup",
    "read_params",
    "study_files",
]
