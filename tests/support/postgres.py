"""A PostgreSQL server in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
USER = "postgres"


class Postgres:
    """A running server that listens on a socket in its folder only.

    The folder is not one of pytest's: each run of pytest closes all of those to other users.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(self.folder, USER)
        self._run("initdb", "--pgdata=data", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--no-sync")
        self._start()

    @staticmethod
    def missing() -> bool:
        return not _PLACES

    def make_database(self, name: str) -> str:
        """Create an empty database. Returns its address for SQLAlchemy."""
        self.ask("postgres", f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://{USER}:unused@/{name}?host={self.folder}"

    def ask(self, database: str, statement: str) -> str:
        """Return the output of `psql` for a statement, without headers."""
        return self._run(
            "psql", "-h", self.folder, "-U", USER, "-d", database, "-tAc", statement, check=True
        ).stdout.strip()

    def stop(self) -> None:
        """Stop the server at once and remove its folder. All connections are lost."""
        self._run("pg_ctl", "--pgdata=data", "--mode=immediate", "stop")
        shutil.rmtree(self.folder)

    def _start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=30"
        self._run("pg_ctl", "--pgdata=data", "-o", options, "-l", "log", "-w", "start")

    def _run(self, program: str, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [_PLACES[0] / program, *map(str, arguments)]
        inside = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
        # A server that keeps the pipes open would be waited for.
        quiet = program == "pg_ctl"
        streams = {"stdout": subprocess.DEVNULL if quiet else subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run([*inside, *command], cwd=self.folder, text=True, check=check, **streams)  # type: ignore[call-overload, no-any-return]
