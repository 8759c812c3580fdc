"""Where MLflow is: the tracking address, and whether it can be used.

Setting it up fails loudly, with what is wrong in one sentence.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.disk import trouble
from pipeline.base.errors import UserError, first_line
from pipeline.base.home import home_of
from pipeline.base.variables import refused
from pipeline.ops.mirror.database import KIND, ensure, unusable

if TYPE_CHECKING:
    from mlflow import MlflowClient

URI_VARIABLE = "MLFLOW_TRACKING_URI"
EXPERIMENT = "tomrl"
_REFUSALS = ("UNAUTHENTICATED", "PERMISSION_DENIED")
_USER_VARIABLE = "MLFLOW_TRACKING_USERNAME"
_ACCOUNT = re.compile(r"://[^/@\s]+@")


def tracking_uri(root: Path) -> str:
    """The tracking address: ``MLFLOW_TRACKING_URI``, else a database in the home checkout.

    Worktrees and experiments share that of the checkout they belong to.
    """
    return os.environ.get(URI_VARIABLE) or f"sqlite:///{home_of(root) / 'mlflow.db'}"


def prepare(root: Path) -> MlflowClient:
    """A client; creates the database and the experiment where they do not exist.

    Raises:
        UserError: If the tracking address does not answer, or its database cannot be used.
    """
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    warnings.filterwarnings("ignore", module="mlflow")
    uri = tracking_uri(root)
    with answering(uri):
        from mlflow import MlflowClient

    for name in ("mlflow", "alembic"):  # the import sets levels of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # every error is raised, too
    with answering(uri):
        artifacts = None
        if database := _database(uri):
            artifacts = (home_of(root) / "mlartifacts").as_uri()
            ensure(database, EXPERIMENT, artifacts)
        client = MlflowClient(tracking_uri=uri)
        if (found := client.get_experiment_by_name(EXPERIMENT)) is None:
            client.create_experiment(EXPERIMENT, artifacts, tags=KIND)
        elif found.lifecycle_stage == "deleted":
            address = shlex.quote(without_secrets(uri))
            raise UserError(
                f"the experiment {EXPERIMENT} was deleted in MLflow; bring it back with: "
                f"MLFLOW_TRACKING_URI={address} mlflow experiments restore --experiment-id "
                f"{found.experiment_id}"
            )
    return client


@contextmanager
def answering(uri: str) -> Iterator[None]:
    """Say in one sentence why a tracking address is of no use.

    Raises:
        UserError: If it does not answer, or its database cannot be used.
        OSError: If there is no room for its database, or no right to write it.
    """
    database = _database(uri)
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if trouble(error):
            raise
        if isinstance(error, ModuleNotFoundError):
            raise UserError(
                f"MLflow at {without_secrets(uri)} needs the package {error.name}, which is not "
                f"installed here; pip install {error.name}"
            ) from None
        if database and database.parent.is_dir() and not os.access(database.parent, os.W_OK):
            raise PermissionError(errno.EACCES, "may not be written to", str(database)) from error
        if getattr(error, "error_code", None) in _REFUSALS:
            user = os.environ.get(_USER_VARIABLE) or "nobody"
            raise UserError(
                f"MLflow at {without_secrets(uri)} refuses {user}: set {_USER_VARIABLE} and "
                "MLFLOW_TRACKING_PASSWORD to an account that may write there"
            ) from None
        said = without_secrets(first_line(error))
        if database and database.exists():
            raise unusable(database, said) from error
        why = refused("MLflow", "MLFLOW_", said) if isinstance(error, ValueError) else None
        raise why or UserError(
            f"MLflow at {without_secrets(uri)} does not answer ({type(error).__name__}: {said}); "
            f"set {URI_VARIABLE} to a working address, or unset it to use mlflow.db in this folder"
        ) from error


def without_secrets(text: str) -> str:
    """Text without the user and password of the addresses in it."""
    return _ACCOUNT.sub("://", text)


def _database(uri: str) -> Path | None:
    """The file of an SQLite database, or None for any other address."""
    path = uri.removeprefix("sqlite:///")
    return Path(path) if path not in (uri, "", ":memory:") else None
