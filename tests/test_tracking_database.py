"""MLflow's database is whole or not there: kills while it is made, and what others leave behind."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from mlflow.store.db import utils
from mlflow.store.tracking.dbmodels.initial_models import Base as InitialBase
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

from pipeline.base.errors import UserError
from pipeline.ops.mirror.database import ensure
from pipeline.ops.mirror.server import EXPERIMENT, prepare
from tests.conftest import PROJECT

RUN = (
    "insert into runs (run_uuid, name, experiment_id, user_id, status, start_time, lifecycle_stage,"
    " artifact_uri) values ('a', 'b', 0, 'c', 'FINISHED', 1, 'active', 'file:///d')"
)
OTHER_VERSION = "update alembic_version set version_num = '{}'"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder = tmp_path / "a folder"
    folder.mkdir()
    return folder


def forked(work: Callable[[], object]) -> int:
    """Start work in a copy of this process, which has imported MLflow; return its id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        work()
        os._exit(0)
    finally:
        os._exit(1)


def kill_and_recover(folder: Path, moments: list[float]) -> int:
    """Kill who makes a database after each number of seconds; return how often that was at it."""
    interrupted = 0
    for number, moment in enumerate(moments):
        database = folder / f"{number}" / "mlflow.db"
        database.parent.mkdir()
        child = forked(lambda database=database: ensure(database, EXPERIMENT, "file:///"))  # type: ignore[misc]
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        interrupted += bool(set(database.parent.iterdir()) - {database})
        ensure(database, EXPERIMENT, "file:///nowhere")
        store = SqlAlchemyStore(f"sqlite:///{database}", "./mlruns")
        assert store.get_experiment_by_name(EXPERIMENT), f"after a kill at {moment} s"
        store.engine.dispose()
        assert list(database.parent.iterdir()) == [database]
    return interrupted


def moments(folder: Path, count: int) -> list[float]:
    started = time.monotonic()
    _, status = os.waitpid(forked(lambda: ensure(folder / "timed.db", EXPERIMENT, "file:///")), 0)
    assert status == 0
    seconds = time.monotonic() - started
    chosen = random.Random(count)
    return [seconds * chosen.random() for _ in range(count)]


@pytest.mark.parametrize("count", [4, pytest.param(50, marks=pytest.mark.nightly)])
def test_a_kill_while_it_is_made(root: Path, count: int) -> None:
    assert kill_and_recover(root, moments(root, count)) > count // 5


def test_of_many_one_makes_it_for_all_whom_the_umask_lets(root: Path) -> None:
    before = os.umask(0o002)
    children = [forked(lambda: prepare(root)) for _ in range(4)]
    os.umask(before)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert [path.name for path in root.iterdir()] == ["mlflow.db"]
    assert (root / "mlflow.db").stat().st_mode & 0o777 == 0o664
    experiment = prepare(root).get_experiment_by_name(EXPERIMENT)
    assert experiment.artifact_location == (root / "mlartifacts").as_uri()


def altered(made: Path, root: Path, *statements: str) -> Path:
    """Copy a whole database to where a checkout has its own, and change it."""
    database = root / "mlflow.db"
    shutil.copy(made, database)
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return database


def version_before(version: str) -> str:
    script = ScriptDirectory.from_config(utils._get_alembic_config(""))
    found = script.get_revision(version).down_revision
    assert isinstance(found, str)
    return found


def newest(made: Path) -> str:
    with closing(sqlite3.connect(made)) as connection:
        return str(connection.execute("select version_num from alembic_version").fetchone()[0])


def test_an_empty_file_is_made_a_database(root: Path) -> None:
    (root / "mlflow.db").touch()
    assert prepare(root).get_experiment_by_name(EXPERIMENT)


def test_a_database_of_mlflow_alone_gets_the_experiment(tracking: Path, root: Path) -> None:
    gone = [f"delete from {t} where experiment_id = 1" for t in ("experiments", "experiment_tags")]
    altered(tracking, root, *gone, RUN)
    assert prepare(root).get_experiment_by_name(EXPERIMENT)
    assert prepare(root).get_run("a").info.run_name == "b"


@pytest.mark.parametrize("statement", ["drop table runs", "drop table experiments"])
def test_half_changed_is_kept_and_named(tracking: Path, root: Path, statement: str) -> None:
    database = altered(tracking, root, statement)
    before = database.read_bytes()
    with pytest.raises(UserError, match=r"lacks tables.*fails, set it aside with: mv '.*"):
        prepare(root)
    assert database.read_bytes() == before and list(root.iterdir()) == [database]


@pytest.mark.parametrize("experiment", ["tomrl", "another"])
def test_one_of_an_older_mlflow_is_kept_and_its_repair_works(
    tracking: Path, root: Path, experiment: str
) -> None:
    database = root / "mlflow.db"
    engine = utils.create_sqlalchemy_engine(f"sqlite:///{database}")
    InitialBase.metadata.create_all(engine)
    config = utils._get_alembic_config(str(engine.url))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version_before(newest(tracking)))
    engine.dispose()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "insert into experiments (experiment_id, name, lifecycle_stage) "
            "values (7, ?, 'active')",
            [experiment],
        )
        connection.execute(RUN.replace("'b', 0", "'b', 7"))
    before = database.read_bytes()
    with pytest.raises(UserError, match="cannot use it") as refused:
        prepare(root)
    assert database.read_bytes() == before and list(root.iterdir()) == [database]
    if experiment != "tomrl":
        return  # the repair is the same
    repair = str(refused.value).split("`")[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", repair], check=True, env={**os.environ, "PATH": path})
    assert prepare(root).get_run("a").info.run_name == "b"


def test_one_of_a_newer_mlflow_is_kept_and_named(tracking: Path, root: Path) -> None:
    altered(tracking, root, RUN, OTHER_VERSION.format("ffffffffffff"))
    with pytest.raises(UserError, match="cannot use it .*ffffffffffff"):
        prepare(root)


def test_no_database_is_named(root: Path) -> None:
    (root / "mlflow.db").write_bytes(b"\0 anything else" * 1000)
    with pytest.raises(UserError, match=r"cannot use it \(file is not a database.*mv .*tomrl sync"):
        prepare(root)


def test_a_missing_package_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:secret@127.0.0.1:1/mlflow")
    with pytest.raises(UserError, match=r"//127.0.0.1:1/mlflow needs the package psycopg2,"):
        prepare(root)


def test_what_a_kill_just_after_it_was_made_left_goes(tracking: Path, root: Path) -> None:
    database = altered(tracking, root)
    (root / "mlflow.db.lock").touch()
    prepare(root)
    assert list(root.iterdir()) == [database]


DYING = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("pragma cache_size = 1")
connection.execute("update experiments set name = name || 'x'")
names = [("y" * 200 + str(number),) for number in range(999)]
connection.executemany("insert into experiments (name) values (?)", names)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_in_a_transaction_is_undone(tracking: Path, root: Path) -> None:
    database = altered(tracking, root, RUN)
    subprocess.run([sys.executable, "-c", DYING, str(database)], cwd=PROJECT)
    assert (root / "mlflow.db-journal").stat().st_size
    assert prepare(root).get_run("a").info.run_name == "b"
    assert list(root.iterdir()) == [database]


@pytest.mark.parametrize("how", [shutil.move, shutil.copytree])
def test_artifacts_come_along_with_a_checkout(
    tracking: Path, root: Path, how: Callable[[Path, Path], object]
) -> None:
    altered(tracking, root)
    client = prepare(root)
    before = client.create_run(client.get_experiment_by_name(EXPERIMENT).experiment_id)
    client.log_text(before.info.run_id, "before", "note.txt")
    here = root.with_name("after 100%_done")
    how(root, here)
    client = prepare(here)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment.artifact_location == (here / "mlartifacts").as_uri()
    after = client.create_run(experiment.experiment_id)
    client.log_text(after.info.run_id, "after", "note.txt")
    there = {path.read_text() for path in (root / "mlartifacts").rglob("note.txt")}
    found = {path.read_text() for path in (here / "mlartifacts").rglob("note.txt")}
    assert found == {"before", "after"}
    assert there == (set() if how is shutil.move else {"before"})
    (path,) = client.list_artifacts(before.info.run_id)
    assert Path(client.download_artifacts(before.info.run_id, path.path)).read_text() == "before"


def test_artifacts_that_another_checkout_keeps_stay_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = root / "shared"
    shared.mkdir()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{shared / 'mlflow.db'}")
    places = set()
    for name in ("one", "two"):
        (root / name).mkdir()
        found = prepare(root / name).get_experiment_by_name(EXPERIMENT)
        places.add(found.artifact_location)
    assert places == {(root / "one" / "mlartifacts").as_uri()}


def test_a_deleted_experiment_is_named_with_its_repair(tracking: Path, root: Path) -> None:
    altered(tracking, root)
    client = prepare(root)
    number = client.get_experiment_by_name(EXPERIMENT).experiment_id
    client.delete_experiment(number)
    with pytest.raises(UserError, match="was deleted in MLflow") as refused:
        prepare(root)
    repair = str(refused.value).partition("with: ")[2]
    subprocess.run(repair, shell=True, check=True, capture_output=True)
    assert prepare(root).get_experiment_by_name(EXPERIMENT).lifecycle_stage == "active"
