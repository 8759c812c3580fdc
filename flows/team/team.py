"""Which servers a team shares, what each of them needs, and what those who use them set."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from flows.team.postgres import Postgres
from flows.team.secrets import read_secrets, write_private
from flows.team.server import Server, answers, keep_running
from pipeline.base.errors import UserError
from pipeline.base.processes import ending_with_this

BUCKET, REGION, HOST = "tomrl", "us-east-1", "127.0.0.1"
DATABASES = ("mlflow", "mlflow_auth", "prefect")
_S3_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_LEASES = "prefect.server.concurrency.lease_storage.filesystem"


@dataclass(frozen=True)
class Ports:
    """Where the servers listen."""

    postgres: int = 5433
    emulator: int = 5434
    mlflow: int = 5000
    prefect: int = 4200


@dataclass(frozen=True)
class Team:
    """All servers of a team, on this machine alone.

    Attributes:
        folder: Where they keep what they keep.
        ports: Where they listen.
        s3: Address of a server of the S3 API; None for moto's, an emulator in memory.
        checkout: The checkout that the worker runs studies in.
    """

    folder: Path
    ports: Ports
    s3: str | None
    checkout: Path

    def run(self) -> None:
        """Run all servers until a signal comes.

        Raises:
            UserError: If one of them is missing or does not start.
        """
        self.client_file.unlink(missing_ok=True)
        keep_running(self._servers(), self.folder / "logs", self._prepare, self._hand_over)

    @property
    def client_file(self) -> Path:
        """Return the file that is there when all servers answer: what those who use them set."""
        return self.folder / "client.env"

    @cached_property
    def secrets(self) -> dict[str, str]:
        """The secrets in ``secrets.env``, which is made where it is missing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return read_secrets(self.folder / "secrets.env")

    @cached_property
    def postgres(self) -> Postgres:
        """The database of the other servers."""
        password = self.secrets["POSTGRES_PASSWORD"]
        return Postgres(self.folder / "postgres", HOST, self.ports.postgres, password)

    def client_environment(self) -> dict[str, str]:
        """Return what those who use the servers set."""
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
        return self.s3 or f"http://{HOST}:{self.ports.emulator}"

    @property
    def _home(self) -> dict[str, str]:
        return {"PREFECT_HOME": str(self.folder / "prefect")}

    def _servers(self) -> list[Server]:
        first = [self.postgres.server(), *([] if self.s3 else [self._moto()])]
        return [*first, self._mlflow(), self._prefect(), self._worker()]

    def _prepare(self, server: Server) -> None:
        """Make what the next servers need."""
        if server.name == "postgres":
            for name in DATABASES:
                self.postgres.query(f'create database "{name}"')
        if server.name == ("postgres" if self.s3 else "emulator"):
            self._make_bucket()
        if server.name == "prefect":
            self._deploy()

    def _hand_over(self) -> None:
        write_private(self.client_file, self.client_environment())
        print(f"to use them: set -a; source '{self.client_file}'; set +a", flush=True)

    def _moto(self) -> Server:
        words = ("-H", HOST, "-p", str(self.ports.emulator))
        command = ending_with_this("moto.server", *words)
        return Server("emulator", command, lambda: answers(f"{self._s3}/moto-api/"))

    def _mlflow(self) -> Server:
        settings = self.folder / "mlflow-auth.ini"
        write_private(settings, {}, auth_settings(self.postgres.address("mlflow_auth")))
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
        if BUCKET not in {each["Name"] for each in client.list_buckets()["Buckets"]}:
            client.create_bucket(Bucket=BUCKET)

    def _deploy(self) -> None:
        """Put pools, deployments and automations on Prefect's server, so that a worker can ask."""
        done = subprocess.run(
            [sys.executable, "-m", "pipeline.cli.app", "deploy"],
            cwd=self.checkout,
            env={**os.environ, **self.client_environment(), **self._home},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise UserError(f"tomrl deploy: {(done.stdout + done.stderr).strip()}")


def mlflow_words(database: str, host: str, port: int) -> list[str]:
    """Return the words after ``mlflow`` that start its server, with users and artifacts on S3."""
    return [
        *("server", "--app-name", "basic-auth", "--host", host, "--port", str(port)),
        *("--backend-store-uri", database),
        *("--artifacts-destination", f"s3://{BUCKET}/mlflow", "--workers", "1"),
    ]


def auth_settings(database: str) -> str:
    """Return the settings of MLflow's users: who has an account may write, `admin` makes them."""
    return (
        "[mlflow]\n"
        "default_permission = EDIT\n"
        f"database_uri = {database.replace('%', '%%')}\n"
        "admin_username = admin\n"
        "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        "auth_cache_ttl_seconds = 60\n"
    )
