"""The whole corpus, and the part of it that is always tried through the door."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from itertools import chain

from tests.corpus.answers import DRESSES, IN_JSON, RIGHT, WRONG
from tests.corpus.answers import RIGHT_WITH_MORE as MORE
from tests.corpus.commands import VARIABLES, commands
from tests.corpus.control import OF_OTHERS, OWN
from tests.corpus.input_files import input_files
from tests.corpus.params import bad_params
from tests.corpus.proxies import PROXIES
from tests.corpus.servers import DIALECTS
from tests.corpus.servers import REFUSED as REFUSED_BY_SERVERS
from tests.corpus.stage_files import stage_files
from tests.corpus.study_files import edited_studies, whole_studies
from tests.corpus.tables import READ, REFUSED
from tests.corpus.test_environments import UMASKS, WIDTHS
from tests.test_git import STATES

STUDIES = tuple(edited_studies())
CORPUS = (*STUDIES, *chain(whole_studies(), bad_params(), commands(), stage_files(), input_files()))
ALWAYS = {
    case.name
    for case in chain(
        STUDIES[::16], whole_studies(), bad_params(), commands(), stage_files(1), input_files()
    )
}
"""Names: of study files with one mistake few, of damages to the files of stages one each."""

STATE = (
    *(".dvc/config", "dvc.lock", "dvc.yaml", "params.yaml", "code", "data", "logs", "params"),
    *("reports", "runs", "weights", "work"),
)
"""What a study leaves in a checkout, MLflow's database aside."""

KINDS: Mapping[str, Sized] = {
    "bad inputs of commands, stages and studies": [c for c in CORPUS if not c.environment],
    "look-ups that fail: git": STATES,
    "look-ups that fail: servers, databases and folders that variables name": VARIABLES,
    "state that names a place": STATE,
    "tables that are read": READ,
    "tables that are refused": REFUSED,
    "dresses of an answer": DRESSES,
    "answers that are right": [*chain(*(RIGHT[kind] for kind in RIGHT if kind != "number"))],
    "answers that are wrong, or right with more": [
        *chain(*(each for kind, each in (*WRONG.items(), *MORE.items()) if kind != "number"))
    ],
    "answers in JSON": IN_JSON,
    "numbers": [*RIGHT["number"], *MORE["number"], *WRONG["number"]],
    "refusals of one question": REFUSED_BY_SERVERS,
    "dialects of servers": DIALECTS,
    "proxies": PROXIES,
    "machines, users and terminals": [*UMASKS, *WIDTHS],
    "control tokens": [*OWN, *OF_OTHERS],
}
"""The cases of each kind of fault. Each kind goes through every door that it can come in by."""

COUNT = sum(map(len, KINDS.values()))


if __name__ == "__main__":
    for kind, cases in KINDS.items():
        print(f"{len(cases):4}  {kind}")
    print(f"{COUNT:4}  altogether")
