"""A PostgreSQL of the tests' own: in a temporary directory, on a Unix socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import psycopg

from tests.support.waiting import eventually

PROGRAMS = Path("/usr/lib/postgresql")
"""Where Debian has the programs of each version."""

USER = "postgres"
"""The superuser of the database; if the tests run as root, also the user of the machine that it runs as."""

STOP_SECONDS = 30

SETTINGS = {
    "listen_addresses": "",
    # Nothing is read after the tests, and each statement has one process.
    "fsync": "off",
    "autovacuum": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "max_connections": "10",
}


class PostgresServer:
    """A server that runs as long as its `with`."""

    def __init__(self) -> None:
        self._as_user = {"user": USER, "extra_groups": ()} if os.geteuid() == 0 else {}
        self._programs = _programs()

    def __enter__(self) -> PostgresServer:
        # The directories of pytest are closed to other users than the one that runs it.
        self._folder = Path(tempfile.mkdtemp(prefix="fll-pg-", dir="/tmp"))
        if self._as_user:
            shutil.chown(self._folder, USER)
        self._run("initdb", "-D", "data", "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        with (self._folder / "server.log").open("w") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", "-k", str(self._folder), *options],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                **self._as_user,
            )
        eventually(self._answers, "PostgreSQL answers")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(STOP_SECONDS)
        shutil.rmtree(self._folder)

    def connect(self) -> psycopg.Connection:
        """Return a connection of the superuser that commits each statement."""
        return psycopg.connect(host=str(self._folder), user=USER, dbname="postgres", autocommit=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
            **self._as_user,
        )

    def _answers(self) -> bool:
        log = (self._folder / "server.log").read_text()
        assert self._process.poll() is None, log
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def _programs() -> Path:
    """Return the folder of the newest version's programs."""
    versions = [path.parent for path in PROGRAMS.glob("*/bin/initdb")]
    assert versions, f"no PostgreSQL below {PROGRAMS}: run 'make system'"
    return max(versions, key=lambda path: int(path.parent.name))
