"""PostgreSQL as this machine has it: its programs, its files, its databases."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from flows.team.server import Server, as_user
from pipeline.base.errors import UserError

_OWNER = "tomrl"


def programs() -> Path:
    """Return the folder with ``initdb`` and ``postgres``.

    Raises:
        UserError: If there is none.
    """
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres", "pg_ctl")):
            return folder
    raise UserError(
        "PostgreSQL is not on this machine (no initdb, postgres and pg_ctl in PATH or "
        "/usr/lib/postgresql); scripts/setup_postgres.sh installs it"
    )


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
        """Return what runs it, with its files made and no older process at work on them.

        Raises:
            UserError: If there is no PostgreSQL, or its files cannot be made.
        """
        found, user = programs(), _user()
        if not (self.data / "PG_VERSION").exists():
            self._make_files(found, user)
        elif (self.data / "postmaster.pid").exists():  # it outlives who killed what started it
            stop = [str(found / "pg_ctl"), "stop", "-m", "fast", "-D", str(self.data)]
            subprocess.run(stop, capture_output=True, cwd="/", **as_user(user))
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
        """Return the address of a database."""
        password = quote(self.password, safe="")
        return f"{driver}://{_OWNER}:{password}@{self.host}:{self.port}/{database}"

    def query(self, query: str, database: str = "postgres") -> bool:
        """Send a query and return whether PostgreSQL answers."""
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
        """Make its files beside their place, where they go when they are whole."""
        beside, password = self.data.with_suffix(".new"), self.data.with_suffix(".password")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(mode=0o700)
        password.touch(mode=0o600)
        password.write_text(self.password)
        if user:
            shutil.chown(beside, user)
            shutil.chown(password, user)
        words = ["-U", _OWNER, "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8"]
        done = subprocess.run(
            [str(found / "initdb"), "-D", str(beside), *words],
            capture_output=True,
            text=True,
            cwd="/",
            **as_user(user),
        )
        password.unlink()
        if done.returncode:
            reach = f"; {user} must be able to reach that folder" if user else ""
            raise UserError(f"{beside}: initdb failed: {done.stderr.strip()}{reach}")
        beside.rename(self.data)


def _user() -> str | None:
    """Return whose process PostgreSQL is, where this one is root's."""
    if os.geteuid():
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"
