"""A load as a process of its own: which processes is it, how is it hurt, and what did it come to."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from fll_hbase.keys import layout
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Row, Table, open_table
from tests.support.jvm_options import JVM_ENVIRONMENT
from tests.support.processes import state
from tests.support.small_documents import START_MS, document
from tests.support.waiting import eventually

FLL = str(Path(sys.executable).with_name("fll"))
SECONDS_MAX = 600.0

Rows = dict[bytes, dict[bytes, bytes]]


class Load:
    """`fll spark load`, in a process group of its own; leaving `with` kills what is left of it."""

    def __init__(self, file: Path, url: str, rejects: Path, *, cores: str = "2", bytes_max: int = 0) -> None:
        """No file of any of its processes can grow beyond `bytes_max`, if that is given."""
        options = ["--store", url, "--rejects", str(rejects), "--master", f"local[{cores}]"]
        self._process = subprocess.Popen(
            [FLL, "spark", "load", str(file), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **JVM_ENVIRONMENT, "SPARK_LOCAL_DIRS": str(rejects.parent / "spark")},
            start_new_session=True,
            preexec_fn=(lambda: _limit(bytes_max)) if bytes_max else None,
        )

    def __enter__(self) -> Load:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """SIGKILL to the driver, its JVM and all Python workers at once."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def kill_the_workers(self) -> None:
        """SIGKILL to every Python process that Spark forked to record, also to whichever wrote last."""
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)

    def workers(self) -> list[int]:
        """The Python processes that were forked by the one the JVM started."""
        daemons = [pid for pid in _below(self._process.pid) if "pyspark.daemon" in _command(pid)]
        return [pid for daemon in daemons for pid in _children(daemon) if state(pid) not in ("", "Z", "X")]

    def has(self, url: str, runs: int) -> bool:
        """Whether it is at work and so many runs are there."""
        assert self._process.poll() is None, f"it ended: {self._process.communicate()}"
        return count(url) >= runs

    def gets_under_way(self, url: str, *, runs: int) -> None:
        eventually(lambda: self.has(url, runs), f"{runs} runs are there")

    def ends(self) -> tuple[int, dict[str, Any], list[str]]:
        """Its exit code, its summary, and the lines of its complaints."""
        output, complaints = self._process.communicate(timeout=SECONDS_MAX)
        messages = [line for line in complaints.splitlines() if line.startswith("fll: ")]
        return self._process.returncode, json.loads(output or "{}"), messages


def count(url: str) -> int:
    """Of how many runs of an input there is a truth."""
    with closing(open_table(url)) as table:
        rows = table.scan(b"r|", b"r}", columns=(layout.LIGHT,))
        return sum(
            any(column.startswith(layout.COMMIT) for column in row) for key, row in rows if b"|load-" in key
        )


def puts_into(url: str) -> bool:
    """Whether anything was put into the row of a run of an input."""
    with closing(open_table(url)) as table:
        return any(b"|load-" in key for key, _ in table.scan(b"r|", b"r}", columns=(layout.LIGHT,)))


def rows(table: Table) -> Rows:
    """Every cell, without the values of calendars: tokens are random."""
    return masked({key: values(row) for key, row in table.scan(b"", b"\xff")})


def same_rows(url: str, expected: Rows) -> Rows:
    """The rows that a table has under the keys of some that are expected."""
    with closing(open_table(url)) as table:
        return masked({key: values(row) for key, row in table.rows(list(expected)).items()})


def values(row: Row) -> dict[bytes, bytes]:
    return {name: cell.value for name, cell in row.items()}


def masked(scanned: Rows) -> Rows:
    return {key: dict.fromkeys(row, b"") if key.startswith(b"u|") else row for key, row in scanned.items()}


def rejected(folder: Path) -> list[dict[str, Any]]:
    (file,) = folder.glob("part-*.json")
    return [json.loads(line) for line in file.read_bytes().splitlines()]


class Input:
    """A file of many runs, of which every fifth is said in three ways, and of lines that say nothing."""

    def __init__(self, path: Path, *, runs: int, namespace: str = "load") -> None:
        self.path = path
        lines = [line for number in range(runs) for line in _documents(number, namespace)]
        self._good = list(lines)
        for number in (3, len(lines) // 2, len(lines)):
            lines.insert(number, b'{"half')
        self.lines = lines
        self.bad = [number for number, line in enumerate(lines, 1) if line == b'{"half']
        path.write_bytes(b"\n".join(lines))

    def rows(self) -> Rows:
        """Return the rows of the input in a store without failures."""
        reader = CachedDocumentReader()
        table = open_table("sqlite:///:memory:")
        with closing(LineageStore(table)) as store:
            store.record([reader.read(line, namespace=None).recorded for line in self._good])
            return rows(table)

    def accounted(self, summary: Mapping[str, Any]) -> bool:
        """Whether a load read all of it, and each line was one thing or the other."""
        counts = [summary[name] for name in ("read", "recorded", "repeated", "rejected")]
        return counts[0] == len(self.lines) == sum(counts[1:]) and counts[3] == len(self.bad)


def _documents(number: int, namespace: str) -> Iterator[bytes]:
    """The second of three says another start; the third is the first again."""
    run = f"load-{number}"
    starts = [START_MS + number * 60_000 + more for more in ((0, 1, 0) if number % 5 == 0 else (0,))]
    for start_ms in starts:
        payload = document(run, namespace=namespace)
        payload["run"]["startTime"] = start_ms
        payload["operations"][1]["description"] = f"in way {number % 50}"
        yield json.dumps(payload).encode()


def _limit(bytes_max: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))


def _below(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _below(child)


def _children(pid: int) -> list[int]:
    """Of all threads of a process: a JVM forks from any of them."""
    pids = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids += [int(child) for child in path.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pids


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
