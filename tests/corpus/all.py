"""The whole corpus, and the part of it that is always tried through the door."""

from __future__ import annotations

from itertools import chain

from tests.corpus.commands import commands
from tests.corpus.input_files import input_files
from tests.corpus.params import bad_params
from tests.corpus.stage_files import stage_files
from tests.corpus.study_files import edited_studies, whole_studies

STUDIES = tuple(edited_studies())
CORPUS = (*STUDIES, *chain(whole_studies(), bad_params(), commands(), stage_files(), input_files()))
ALWAYS = {
    case.name
    for case in chain(
        STUDIES[::16], whole_studies(), bad_params(), commands(), stage_files(2), input_files()
    )
}
"""Names: of study files with one mistake few, of damages to the files of stages two each."""
