"""Which servers a team shares, what each of them needs, and what their clients set."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pipeline.base.processes import ending_with_this
from tests.team.postgres import Postgres
from tests.team.server import Server, answers, keep_running

BUCKET, REGION, HOST = "tomrl", "us-east-1", "127.0.0.1"
DATABASES = ("mlflow", "mlflow_auth", "prefect")
_S3_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_SECRETS = (
    *("POSTGRES_PASSWORD", "MLFLOW_AUTH_ADMIN_PASSWORD", "MLFLOW_FLASK_SERVER_SECRET_KEY"),
    *_S3_KEYS,
)
_LEASES = "prefect.server.concurrency.lease_storage.filesystem"


class Ports(NamedTuple):
    """Where the servers listen."""

    postgres: int
    emulator: int
    mlflow: int
    prefect: int


@dataclass(frozen=True)
class Team:
    """All servers of a team, on this machine alone.

    Attributes:
        folder: Of all their files.
        ports: Where they listen.
        checkout: The checkout that the worker runs studies in.
    """

    folder: Path
    ports: Ports
    checkout: Path

    def run(self) -> None:
        """Run all servers until a signal comes."""
        keep_running(self._servers(), self.folder / "logs", self._prepare, self._hand_over)

    @property
    def client_file(self) -> Path:
        """The variables that clients set, in a file that is there once all servers answer."""
        return self.folder / "client.env"

    @cached_property
    def secrets(self) -> dict[str, str]:
        """The secrets in ``secrets.env``, made by the first who asks."""
        path = self.folder / "secrets.env"
        if not path.exists():
            made = {name: secrets.token_hex(16) for name in _SECRETS}
            made["PREFECT_SERVER_API_AUTH_STRING"] = f"tomrl:{secrets.token_hex(16)}"
            _write_private(path, _lines(made))
        return dict(line.split("=", 1) for line in path.read_text().splitlines())

    @cached_property
    def postgres(self) -> Postgres:
        """The database of the other servers."""
        password = self.secrets["POSTGRES_PASSWORD"]
        return Postgres(self.folder / "postgres", HOST, self.ports.postgres, password)

    def client_environment(self) -> dict[str, str]:
        """The variables that clients set."""
        return {
            "MLFLOW_TRACKING_URI": f"http://{HOST}:{self.ports.mlflow}",
            "MLFLOW_TRACKING_USERNAME": "admin",
            "MLFLOW_TRACKING_PASSWORD": self.secrets["MLFLOW_AUTH_ADMIN_PASSWORD"],
            "PREFECT_API_URL": f"http://{HOST}:{self.ports.prefect}/api",
            "PREFECT_API_AUTH_STRING": self.secrets["PREFECT_SERVER_API_AUTH_STRING"],
            "AWS_ENDPOINT_URL": self._s3,
            "AWS_DEFAULT_REGION": REGION,
            **{name: self.secrets[name] for name in _S3_KEYS},
        }

    @property
    def _s3(self) -> str:
        return f"http://{HOST}:{self.ports.emulator}"

    @property
    def _home(self) -> dict[str, str]:
        return {"PREFECT_HOME": str(self.folder / "prefect")}

    def _servers(self) -> list[Server]:
        first = (self.postgres.server(), self._moto(), self._mlflow())
        return [*first, self._prefect(), self._worker()]

    def _prepare(self, server: Server) -> None:
        """Make what the next servers need."""
        if server.name == "postgres":
            for name in DATABASES:
                self.postgres.query(f'create database "{name}"')
        if server.name == "emulator":
            self._make_bucket()
        if server.name == "prefect":
            self._deploy()

    def _hand_over(self) -> None:
        _write_private(self.client_file, _lines(self.client_environment()))

    def _moto(self) -> Server:
        words = ("-H", HOST, "-p", str(self.ports.emulator))
        command = ending_with_this("moto.server", *words)
        return Server("emulator", command, lambda: answers(f"{self._s3}/moto-api/"))

    def _mlflow(self) -> Server:
        settings = self.folder / "mlflow-auth.ini"
        _write_private(settings, auth_settings(self.postgres.address("mlflow_auth")))
        keep = ("MLFLOW_AUTH_ADMIN_PASSWORD", "MLFLOW_FLASK_SERVER_SECRET_KEY", *_S3_KEYS)
        words = mlflow_words(self.postgres.address("mlflow"), HOST, self.ports.mlflow)
        return Server(
            "mlflow",
            ending_with_this("mlflow", *words),
            lambda: answers(f"http://{HOST}:{self.ports.mlflow}/health"),
            {
                **{name: self.secrets[name] for name in keep},
                "MLFLOW_AUTH_CONFIG_PATH": str(settings),
                "MLFLOW_S3_ENDPOINT_URL": self._s3,
                "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
                "AWS_DEFAULT_REGION": REGION,
            },
        )

    def _prefect(self) -> Server:
        words = ("server", "start", "--host", HOST, "--port", str(self.ports.prefect))
        database = self.postgres.address("prefect", "postgresql+asyncpg")
        return Server(
            "prefect",
            ending_with_this("prefect", *words),
            lambda: answers(f"http://{HOST}:{self.ports.prefect}/api/health"),
            {
                **self._home,
                "PREFECT_API_DATABASE_CONNECTION_URL": database,
                "PREFECT_SERVER_API_AUTH_STRING": self.secrets["PREFECT_SERVER_API_AUTH_STRING"],
                "PREFECT_SERVER_UI_API_URL": f"http://{HOST}:{self.ports.prefect}/api",
                "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
                # In memory, as by default, a server that ends takes the leases of slots with it,
                # and nobody gives the slots back.
                "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": _LEASES,
            },
        )

    def _worker(self) -> Server:
        command = ending_with_this("prefect", "worker", "start", "--pool", "tomrl")
        return Server("worker", command, lambda: True, {**self.client_environment(), **self._home})

    def _make_bucket(self) -> None:
        import boto3

        keys = dict(zip(("aws_access_key_id", "aws_secret_access_key"), _S3_KEYS, strict=True))
        client = boto3.client(
            "s3",
            endpoint_url=self._s3,
            region_name=REGION,
            **{name: self.secrets[variable] for name, variable in keys.items()},
        )
        client.create_bucket(Bucket=BUCKET)

    def _deploy(self) -> None:
        """Put pools, deployments and automations on Prefect's server, so that a worker can ask."""
        subprocess.run(
            [sys.executable, "-m", "pipeline.cli.app", "deploy"],
            cwd=self.checkout,
            env={**os.environ, **self.client_environment(), **self._home},
            check=True,
        )


def mlflow_words(database: str, host: str, port: int) -> list[str]:
    """The words after ``mlflow`` that start its server, with users and artifacts on S3."""
    return [
        *("server", "--app-name", "basic-auth", "--host", host, "--port", str(port)),
        *("--backend-store-uri", database),
        *("--artifacts-destination", f"s3://{BUCKET}/mlflow", "--workers", "1"),
    ]


def auth_settings(database: str) -> str:
    """The settings of MLflow's accounts: all may write, and `admin` makes them."""
    return (
        "[mlflow]\n"
        "default_permission = EDIT\n"
        f"database_uri = {database}\n"
        "admin_username = admin\n"
        "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        "auth_cache_ttl_seconds = 60\n"
    )


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads."""
    path.touch(mode=0o600)
    path.write_text(text)
