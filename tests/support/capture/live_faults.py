"""Faults of servers, disks and processes on a live Spark, with more writes and waits than the tests have.

    .venv/bin/python -m tests.support.capture.live_faults [NAME …]

prints a line for each: writes, what is recorded once, twice and lost, the exit code, and other lines of the
job on the terminal. A full disk needs the right to mount. Exits with 1 if a write is neither recorded once
nor counted as lost.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.capture.job_runner import SETTINGS, JobRunner, own_output
from tests.support.capture.lineage_server import Lineage
from tests.support.capture.slow_server import gated, reserved_port
from tests.support.commands import serving


@dataclass(frozen=True)
class Outcome:
    """How a job ended that should have recorded `writes`, its source included."""

    writes: int
    done: subprocess.CompletedProcess[str]


JOB_SECONDS_MAX = 1_800

Fault = Callable[[JobRunner, Lineage], Outcome]


def slow(jobs: JobRunner, server: Lineage) -> Outcome:
    """Each request takes five seconds."""
    with gated(server.url, delay_seconds=5.0) as gate:
        done = jobs.run("slow", 40, "stop", url=gate.url)
        jobs.send()
    return Outcome(41, done)


def busy(jobs: JobRunner, server: Lineage) -> Outcome:
    """The first ten requests are answered with 503 and Retry-After."""
    with gated(server.url, busy=10) as gate:
        gate.retry_after = "2"
        done = jobs.run("busy", 40, "stop", url=gate.url)
        _wait_for(lambda: jobs.send().returncode == 0)
    return Outcome(41, done)


def away(jobs: JobRunner, server: Lineage) -> Outcome:
    """The server is away for the whole job, and back later."""
    with reserved_port() as port:
        done = jobs.run("away", 40, "stop", url=f"http://127.0.0.1:{port}")
        with gated(server.url, port=port):
            jobs.send()
    return Outcome(41, done)


def killed(jobs: JobRunner, server: Lineage) -> Outcome:
    """The Python driver is killed with -9 after its last write."""
    done = jobs.run("killed", 40, "kill", url=server.url)
    # The JVM outlives it for a moment, and what it writes ends the file.
    _wait_for(lambda: all(b'"applicationEnd"' in path.read_bytes() for path in jobs.plans()))
    jobs.send()
    return Outcome(41, done)


def exited(jobs: JobRunner, server: Lineage) -> Outcome:
    """The job exits with a code, and stops no session."""
    return Outcome(41, jobs.run("exited", 40, "exit", url=server.url))


def interrupted(jobs: JobRunner, server: Lineage) -> Outcome:
    """Ctrl-C."""
    return Outcome(41, jobs.run("interrupted", 40, "interrupt", url=server.url))


def full_disk(jobs: JobRunner, server: Lineage) -> Outcome:
    """The spool is a file system of 300 kB, and the server is busy."""
    jobs.spool.mkdir()
    with _file_system(jobs.spool, "300k"), gated(server.url, busy=10**6) as gate:
        done = jobs.run("full_disk", 40, "exit", "wide", url=gate.url)
        gate.busy = 0
        jobs.send()
    return Outcome(41, done)


def small_disk(jobs: JobRunner, server: Lineage) -> Outcome:
    """The spool is a file system of 300 kB, and the server records what comes."""
    jobs.spool.mkdir()
    with _file_system(jobs.spool, "300k"):
        return Outcome(41, jobs.run("small_disk", 40, "stop", "wide", url=server.url))


def contexts(jobs: JobRunner, server: Lineage) -> Outcome:
    """Two contexts, one after the other."""
    return Outcome(41, jobs.run("contexts", 40, "stop", "again", url=server.url))


def threads(jobs: JobRunner, server: Lineage) -> Outcome:
    """Ten threads write at once, and each request takes 100 ms."""
    with gated(server.url, delay_seconds=0.1) as gate:
        return Outcome(201, jobs.run("threads", 200, "stop", "threads", url=gate.url))


def many(jobs: JobRunner, server: Lineage) -> Outcome:
    """2,000 writes."""
    return Outcome(2_001, jobs.run("many", 2_000, "stop", "threads", url=server.url))


def full_queue(jobs: JobRunner, server: Lineage) -> Outcome:
    """Spark drops events, since the queue of the listener has room for one only."""
    conf = "--conf spark.scheduler.listenerbus.eventqueue.fll.capacity=1"
    settings = " ".join(f'--conf "{name}={value}"' for name, value in SETTINGS.items())
    arguments = f"--master local[2] {settings} {conf} pyspark-shell"
    done = jobs.run("full_queue", 60, "stop", "threads", url=server.url, PYSPARK_SUBMIT_ARGS=arguments)
    return Outcome(61, done)


FAULTS: list[Fault] = [
    slow,
    busy,
    away,
    killed,
    exited,
    interrupted,
    full_disk,
    small_disk,
    contexts,
    threads,
    many,
    full_queue,
]


def main(names: list[str]) -> int:
    """Try each fault; return the exit code."""
    faults = [fault for fault in FAULTS if not names or fault.__name__ in names]
    with tempfile.TemporaryDirectory() as folder, serving(f"sqlite:///{folder}/s.db", Path(folder)) as url:
        results = [_is_counted(fault, Path(folder), Lineage(url)) for fault in faults]
    return int(not all(results))


def _is_counted(fault: Fault, folder: Path, server: Lineage) -> bool:
    """Try a fault and print what came of it; return whether each write is recorded once or counted."""
    home = folder / fault.__name__
    home.mkdir()
    started = time.monotonic()
    outcome = fault(JobRunner(home, JOB_SECONDS_MAX), server)
    listed = server.runs(fault.__name__)
    # The run of the application is there only to say what is lost.
    reports = [text for run in set(listed) if (text := server.run(run).get("errorMessage"))]
    lost = sum(int(number) for text in reports for number in re.findall(r"(\d+) executions", text))
    recorded = len(set(listed)) - len(reports)
    lines = own_output(outcome.done.stderr).splitlines()
    counts = (
        f"{outcome.writes} writes, {recorded} recorded, {len(listed) - len(set(listed))} twice, {lost} lost"
    )
    end = f"exit {outcome.done.returncode}, {time.monotonic() - started:.0f} s"
    print(f"{fault.__name__}: {counts}, {end}", *lines, sep="\n    ", flush=True)
    return recorded + lost == outcome.writes and len(listed) == len(set(listed))


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the state that was waited for did not come")
        time.sleep(0.5)


@contextmanager
def _file_system(folder: Path, size: str) -> Iterator[None]:
    """Mount a file system of a size."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
