"""A stream as a process of its own, what it is given, and what the online path makes of the same."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from cli.commands import FLL, fll
from cli.documents import document

from fll_hbase.tables import Table, open_table

QUICK = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
END_SECONDS_MAX = 180

Rows = dict[bytes, dict[bytes, bytes]]
Json = dict[str, Any]


def documents(first: int, count: int) -> list[bytes]:
    """Lines: runs by number, one after the other."""
    return [json.dumps(document(f"run {number}")).encode() for number in range(first, first + count)]


def put(folder: Path, name: str, lines: Iterable[bytes], *, time_s: int) -> Path:
    """Move a file into a folder as a program would, with the time it was changed at."""
    raw = b"".join(line + b"\n" for line in lines)
    made = folder.parent / name
    made.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    os.utime(made, (time_s, time_s))
    folder.mkdir(exist_ok=True)
    return made.rename(folder / name)


def online(url: str, files: Sequence[Path]) -> Rows:
    """The rows that files make which are recorded one after the other."""
    for file in files:
        result = fll("record", str(file), "--store", url)
        assert result.exit_code in (0, 1), result.output
    return rows(url)


def rows(url: str) -> Rows:
    """Every cell, but for the run that a witness names: any of the day will do."""
    with closing(open_table(url)) as table:
        return rows_of(table)


def rows_of(table: Table) -> Rows:
    """As `rows`, of a table that is open."""
    found = {key: {name: cell.value for name, cell in row.items()} for key, row in table.scan(b"", b"\xff")}
    return {key: dict.fromkeys(row, b"") if key.startswith(b"i|") else row for key, row in found.items()}


def rejected(folder: Path) -> list[Json]:
    """Every rejected line, in the order of files and lines."""
    found = [
        json.loads(line)
        for file in folder.glob("batch=*/*.json")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return sorted(found, key=lambda one: (one["file"], one["line"]))


class Following:
    """A stream that runs; leaving `with` kills what is left of it."""

    def __init__(self, home: Path, source: str, url: str, *arguments: str) -> None:
        kept = ("--checkpoint", str(home / "checkpoint"), "--rejects", str(home / "rejects"))
        command = [FLL, "spark", "stream", source, "--store", url, *kept, "--master", "local[2]", *arguments]
        self._log = (home / "stream.log").open("ab")
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **QUICK, "PYSPARK_PYTHON": sys.executable},
            start_new_session=True,
        )

    def __enter__(self) -> Following:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()
        self._log.close()

    def told(self) -> Json:
        """The next line that it tells; it waits for it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended with {self._process.wait()}: {Path(self._log.name).read_text()}"
        said: Json = json.loads(line)
        return said

    def signal(self, number: signal.Signals) -> None:
        """To the driver alone, as a supervisor does it."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL for the driver and its JVM."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ended(self) -> tuple[int, list[Json]]:
        """Its exit code, and what it told until then."""
        said, _ = self._process.communicate(timeout=END_SECONDS_MAX)
        return self._process.returncode, [json.loads(line) for line in said.splitlines()]
