"""The SQLite database of MLflow: whole or not there, whatever was killed while it was made.

MLflow makes its tables in place, in some sixty migrations that are no transaction: whoever dies
among them leaves what no later start can finish. So a database is made beside its place and
renamed, under a lock.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.locks import locked
from pipeline.formats.files import remove, remove_leftovers
from pipeline.formats.temporaries import beside

_SIBLINGS = ("-journal", "-wal", "-shm")  # of SQLite; they belong to the file they are named after
_PATIENCE = 20  # seconds for another process's transaction
KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Tags of the experiment: its pages show trainings, not traces of agents."""
_ADDRESSES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)
"""Where MLflow keeps absolute addresses of artifacts: tables and columns."""


def ensure(database: Path, experiment: str, artifacts: str) -> None:
    """Have a database with an experiment at a place.

    Args:
        database: Its file. Where there is none it is made; of several processes one makes it and
            the others wait.
        experiment: Its name.
        artifacts: Address of the experiment's artifacts. Where the database came with a checkout
            that was moved or copied, this takes the place of the old address throughout.

    Raises:
        UserError: If there is a file that this MLflow cannot use; names it and the repair.
    """
    lock = database.with_name(f"{database.name}.lock")
    if not _is_made(database) or lock.exists():
        with locked(lock):  # a lock that is there is held, or was when its process was killed
            remove_leftovers(database.parent)
            if not _is_made(database):
                _make(database, experiment, artifacts)
    try:
        with closing(sqlite3.connect(database, timeout=_PATIENCE)) as connection, connection:
            if not _has_its_tables(connection):
                raise unusable(database, "it lacks tables")
            if artifacts.rpartition("/")[0] == database.absolute().parent.as_uri():
                _bring_home(connection, experiment, artifacts)
    except sqlite3.DatabaseError as error:
        raise unusable(database, str(error)) from None


def _is_made(database: Path) -> bool:
    return database.exists() and bool(database.stat().st_size)


def _has_its_tables(connection: sqlite3.Connection) -> bool:
    """All tables of this MLflow are there; it would make in place what is missing."""
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401, it fills the list of tables
    from mlflow.store.db.base_sql_model import Base

    found = connection.execute("select name from sqlite_master where type = 'table'")
    return set(Base.metadata.tables) <= {str(name) for (name,) in found}


def _bring_home(connection: sqlite3.Connection, experiment: str, artifacts: str) -> None:
    """Point a database that came here with its checkout to the artifacts that came with it.

    MLflow keeps their addresses as absolute ones. Where artifacts were put elsewhere on purpose, in
    a bucket or by another checkout, they stay.
    """
    asked = "select artifact_location from experiments where name = ?"
    found = connection.execute(asked, [experiment]).fetchone()
    old, name = str(found[0]) if found else artifacts, artifacts.rpartition("/")[2]
    if old == artifacts or not (old.startswith("file:") and old.endswith(f"/{name}")):
        return
    for table, column in _ADDRESSES:
        connection.execute(
            f"update {table} set {column} = ? || substr({column}, ?) "
            f"where {column} = ? or substr({column}, 1, ?) = ?",
            [artifacts, len(old) + 1, old, len(old) + 1, f"{old}/"],
        )


def unusable(database: Path, said: str) -> UserError:
    """What is wrong with a file that this MLflow cannot use, and how to fix it.

    Args:
        database: The file.
        said: What MLflow or SQLite say of it.
    """
    if "is locked" in said:
        return UserError(f"{database}: locked by another process for {_PATIENCE} s; end it")
    aside = f"mv {_quoted(database)} {_quoted(database.with_name(f'{database.name}.aside'))}"
    return UserError(
        f"{database}: this MLflow cannot use it ({said}). If an older one made it, copy it for "
        f"safety and bring it up to date with `mlflow db upgrade {_quoted(_address(database))}`; "
        f"where that fails, set it aside with: {aside}; the next run makes a new one, and `tomrl "
        "sync` fills it"
    )


def _make(database: Path, experiment: str, artifacts: str) -> None:
    from mlflow.entities import ExperimentTag
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from mlflow.tracking._tracking_service.utils import DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH

    with _folder_beside(database) as folder:
        new = folder / database.name
        new.touch()  # by the umask: of what SQLite makes itself it lets this user alone write
        store = SqlAlchemyStore(_address(new), DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH)
        try:
            tags = [ExperimentTag(name, value) for name, value in KIND.items()]
            store.create_experiment(experiment, artifact_location=artifacts, tags=tags)
        finally:
            store.engine.dispose()  # MLflow keeps the connection, and SQLite the name it opened
        for suffix in ("", *_SIBLINGS):  # a journal would be played back into the new file
            database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)
        new.rename(database)


@contextmanager
def _folder_beside(database: Path) -> Iterator[Path]:
    """Give a folder on the same disk that is removed at the end; a killed process's by the next."""
    folder = beside(database)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        remove(folder)


def _address(database: Path) -> str:
    return f"sqlite:///{database.absolute()}"


def _quoted(what: Path | str) -> str:
    return shlex.quote(str(what))
