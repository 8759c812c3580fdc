"""The PostgreSQL of this machine: its programs, its files, its databases."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.team.server import Server, as_user

_OWNER = "tomrl"


def programs() -> Path:
    """The folder with ``initdb`` and ``postgres``."""
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            return folder
    raise FileNotFoundError("initdb and postgres, which scripts/setup_postgres.sh installs")


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL of its own, on this machine alone.

    Attributes:
        data: Folder of its files. Where this process is root's, its owner is ``postgres`` or
            ``nobody``, who must be able to reach it: PostgreSQL does not run as root.
        host: Where it listens.
        port: Its port there.
        password: Of its only user.
    """

    data: Path
    host: str
    port: int
    password: str

    def server(self) -> Server:
        """The server, with its files made."""
        found, user = programs(), _user()
        self._make_files(found, user)
        settings = {
            "listen_addresses": self.host,
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 200,
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return Server(
            "postgres",
            [str(found / "postgres"), "-D", str(self.data), *words],
            lambda: self.query("select 1"),
            user=user,
            stop=signal.SIGINT,  # at once, without waiting for clients, and whole
        )

    def address(self, database: str, driver: str = "postgresql") -> str:
        """The address of a database."""
        return f"{driver}://{_OWNER}:{self.password}@{self.host}:{self.port}/{database}"

    def query(self, query: str, database: str = "postgres") -> bool:
        """Send a query; False if PostgreSQL does not answer."""
        import psycopg2

        try:
            connection = psycopg2.connect(self.address(database), connect_timeout=5)
        except psycopg2.OperationalError:
            return False
        connection.autocommit = True
        try:
            connection.cursor().execute(query)
        except psycopg2.errors.DuplicateDatabase:
            return True
        finally:
            connection.close()
        return True

    def _make_files(self, found: Path, user: str | None) -> None:
        password = self.data.with_suffix(".password")
        self.data.mkdir(mode=0o700)
        password.touch(mode=0o600)
        password.write_text(self.password)
        if user:
            shutil.chown(self.data, user)
            shutil.chown(password, user)
        words = ["-U", _OWNER, "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8"]
        command = [str(found / "initdb"), "-D", str(self.data), *words]
        subprocess.run(command, check=True, cwd="/", **as_user(user))
        password.unlink()


def _user() -> str | None:
    """Whose process PostgreSQL is where this one is root's: it does not run as root."""
    if os.geteuid():
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"
