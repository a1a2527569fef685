"""A stream job in a process of its own, its input files, and the rows that the online path records."""

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

from fll_hbase.runtime.json_types import Json
from fll_hbase.tables import Table, open_table
from tests.support.commands import FLL, fll
from tests.support.jvm_options import JVM_ENVIRONMENT
from tests.support.small_documents import document

END_SECONDS_MAX = 600

Rows = dict[bytes, dict[bytes, bytes]]


def documents(first: int, count: int) -> list[bytes]:
    """Lines of consecutive runs, from the number `first`."""
    return [json.dumps(document(f"run {number}")).encode() for number in range(first, first + count)]


def move_file(folder: Path, name: str, lines: Iterable[bytes], *, time_s: int) -> Path:
    """Write a file beside the folder and move it in, as producers do, with that modification time."""
    raw = b"".join(line + b"\n" for line in lines)
    file = folder.parent / name
    file.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    os.utime(file, (time_s, time_s))
    folder.mkdir(exist_ok=True)
    return file.rename(folder / name)


def record_online(url: str, files: Sequence[Path]) -> Rows:
    """Record the files one after the other with `fll record`; returns the rows."""
    for file in files:
        result = fll("record", str(file), "--store", url)
        assert result.exit_code in (0, 1), result.output
    return rows(url)


def rows(url: str) -> Rows:
    """Every cell, without the values of calendars: tokens are random."""
    with closing(open_table(url)) as table:
        return rows_of(table)


def rows_of(table: Table) -> Rows:
    """As `rows`, of an open table."""
    cells = {key: {name: cell.value for name, cell in row.items()} for key, row in table.scan(b"", b"\xff")}
    return {key: dict.fromkeys(row, b"") if key.startswith(b"u|") else row for key, row in cells.items()}


def rejected_lines(folder: Path) -> list[Json]:
    """The rejected lines of all batches, in the order of files and lines."""
    lines = [
        json.loads(line)
        for file in folder.glob("batch=*/*.json")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return sorted(lines, key=lambda line: (line["file"], line["line"]))


class StreamProcess:
    """`fll spark stream` as a process; leaving `with` kills it if it still runs."""

    def __init__(self, home: Path, source: str, url: str, *arguments: str) -> None:
        paths = ("--checkpoint", str(home / "checkpoint"), "--rejects", str(home / "rejects"))
        command = [FLL, "spark", "stream", source, "--store", url, *paths, "--master", "local[2]", *arguments]
        self._log = (home / "stream.log").open("ab")
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **JVM_ENVIRONMENT, "PYSPARK_PYTHON": sys.executable},
            start_new_session=True,
        )

    def __enter__(self) -> StreamProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()
        self._log.close()

    def next_report(self) -> Json:
        """Wait for the next line of output."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended with {self._process.wait()}: {Path(self._log.name).read_text()}"
        report: Json = json.loads(line)
        return report

    def signal(self, number: signal.Signals) -> None:
        """Signal the driver alone, as a supervisor does."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL for the driver and its JVM."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def wait(self) -> tuple[int, list[Json]]:
        """Wait for the end; returns the exit code and the remaining reports."""
        output, _ = self._process.communicate(timeout=END_SECONDS_MAX)
        return self._process.returncode, [json.loads(line) for line in output.splitlines()]
