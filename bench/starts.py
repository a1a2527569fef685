"""CPU of the starts of commands, clients and the server, relative to `import click`, all taking turns."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import documents
from bench.documents import DESTINATION, NAMESPACE
from bench.report import print_figure
from bench.server import Server, call

ROUNDS = 9
RUNS = 100

_FLL = str(Path(sys.executable).with_name("fll"))
_ASK = "from fll_hbase import connect\nconnect({url!r}).runs({namespace!r}, {name!r})"
_JOB = "print('a job')"


def bench(sizes: Sequence[int]) -> None:
    """Measure the least CPU of each start in ROUNDS rounds; `sizes` do not matter."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"sqlite:///{folder}/starts.db", workers=1)
        try:
            body = b"\n".join(documents.generate(RUNS))
            call(server.connect(), "POST", f"/v3/namespaces/{NAMESPACE}/lineage/batch", body)
            seconds = _measure(Path(folder), f"http://127.0.0.1:{server.port}")
        finally:
            server.stop()
    click = seconds.pop("import click")
    print_figure("import click: CPU", 1_000 * click, "ms")
    targets = {
        "fll --version": "at most 2",
        "fll --help": "at most 3",
        "fll field --server URL": "at most 6",
        "connect and ask": "at most 6",
        "import fll_hbase.recorder": "at most 6",
    }
    job, captured = seconds.pop("a job"), seconds.pop("fll capture run")
    for name, value in seconds.items():
        print_figure(
            f"{name}: CPU over that of import click", value / click, "x", target=targets.get(name, "")
        )
    print_figure("fll capture run: CPU that it adds to a job", captured - job, "s", target="at most 0.2")


def _measure(folder: Path, url: str) -> dict[str, float]:
    """Return the least CPU of each start, in seconds, by its name."""
    job = folder / "job.py"
    job.write_text(_JOB, encoding="utf-8")
    ask = _ASK.format(url=url, namespace=NAMESPACE, name=DESTINATION)
    field = [NAMESPACE, DESTINATION, "made_0", "--start", "0", "--server", url]
    capture = ["--server", url, "--namespace", NAMESPACE]
    python = [sys.executable, "-c"]
    completion = {"_FLL_COMPLETE": "bash_complete", "COMP_WORDS": "fll field --d", "COMP_CWORD": "2"}
    starts: dict[str, tuple[list[str], Mapping[str, str]]] = {
        "import click": ([*python, "import click"], {}),
        "fll --version": ([_FLL, "--version"], {}),
        "fll --help": ([_FLL, "--help"], {}),
        "completion of an option": ([_FLL], completion),
        "fll field --server URL": ([_FLL, "field", *field], {}),
        "connect and ask": ([*python, ask], {}),
        "import fll_hbase.recorder": ([*python, "import fll_hbase.recorder"], {}),
        "the modules of the server": ([*python, "import fll_hbase.api.server"], {}),
        "a job": ([sys.executable, str(job)], {}),
        "fll capture run": ([_FLL, "capture", "run", *capture, str(job)], {}),
    }
    rounds = [{name: _cpu_seconds(*start) for name, start in starts.items()} for _ in range(ROUNDS)]
    return {name: min(seconds[name] for seconds in rounds) for name in starts}


def _cpu_seconds(command: Sequence[str], variables: Mapping[str, str]) -> float:
    """Run a command; return the CPU of it and its children."""
    began = _children_seconds()
    subprocess.run(command, stdout=subprocess.DEVNULL, env={**os.environ, **variables}, check=True)
    return _children_seconds() - began


def _children_seconds() -> float:
    """Return the CPU of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
