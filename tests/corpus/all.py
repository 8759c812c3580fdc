"""The whole corpus."""

from __future__ import annotations

from itertools import chain

from tests.corpus.commands import commands
from tests.corpus.input_files import input_files
from tests.corpus.params import bad_params
from tests.corpus.stage_files import stage_files
from tests.corpus.study_files import study_files

CORPUS = tuple(chain(study_files(), bad_params(), commands(), stage_files(), input_files()))
