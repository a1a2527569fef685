"""Cost of capture for a job on Spark: whole processes, interleaved, off / capture / OpenLineage agent."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyspark

from bench.report import print_figure
from bench.server import Server
from fll_hbase.capture import launch

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
WRITES = int(os.environ.get("BENCH_WRITES", "30"))
JOB = Path(__file__).with_name("capture_job.py")
AGENT = Path(__file__).parents[1] / "tests" / "spark_agent" / "target" / "jars"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one job in seconds: of the JVM and of Python, and from start to end."""

    cpu: float
    wall: float


def bench(sizes: Sequence[int]) -> None:
    """Run the job in turns, BENCH_ROUNDS (10) times with BENCH_WRITES (30) writes; sizes are not used."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"sqlite:///{folder}/store.db", workers=1)
        try:
            costs = _measure(Path(folder), f"http://127.0.0.1:{server.port}")
        finally:
            server.stop()
    print_figure("the job without capture, CPU", median(cost.cpu for cost in costs["off"]), "s")
    print_figure("the job without capture, wall", median(cost.wall for cost in costs["off"]), "s")
    for kind, target in (("capture", "at most 1.03"), ("agent", "")):
        pairs = list(zip(costs[kind], costs["off"], strict=True))
        _print_ratios(f"{kind} / off, CPU", [cost.cpu / off.cpu for cost, off in pairs], target)
        _print_ratios(f"{kind} / off, wall", [cost.wall / off.wall for cost, off in pairs], target)


def _measure(folder: Path, url: str) -> dict[str, list[Cost]]:
    """Run the jobs in turns, each kind first in every third round; return the costs of each kind."""
    kinds: dict[str, tuple[dict[str, str], dict[str, str]]] = {
        "off": ({}, {}),
        "capture": _capture(folder, url),
        "agent": _agent(url),
    }
    costs: dict[str, list[Cost]] = {kind: [] for kind in kinds}
    for number in range(ROUNDS):
        first = number % len(kinds)
        # Earlier jobs influence a job: caches of the machine are warm, and the server still stores events.
        for kind in [*kinds, *kinds][first : first + len(kinds)]:
            settings, environment = kinds[kind]
            home = folder / f"{kind}{number}"
            home.mkdir()
            costs[kind].append(_run(home, settings, environment))
        # Minutes pass in a round.
        print(f"round {number + 1} of {ROUNDS} is done", file=sys.stderr, flush=True)
    return costs


def _print_ratios(title: str, ratios: Sequence[float], target: str) -> None:
    print_figure(f"{title}, median of {len(ratios)}", median(ratios), "x", target=target)
    print_figure(f"{title}, least", min(ratios), "x")
    print_figure(f"{title}, greatest", max(ratios), "x")


def _capture(folder: Path, url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings and the environment of a captured job, as `fll capture run` sets them."""
    settings = {"FLL_CAPTURE_URL": url, "FLL_CAPTURE_SPOOL": f"{folder}/spool"}
    return {}, launch.captured_environment({}, settings)


def _agent(url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings of the OpenLineage agent. Raises FileNotFoundError without its jar."""
    jars = sorted(AGENT.glob("*.jar"))
    if not jars:
        raise FileNotFoundError(f"{AGENT} has no agent: mvn -q -B -f tests/spark_agent/pom.xml package")
    return {
        "spark.jars": str(jars[0]),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "bench",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url,
    }, {}


def _run(home: Path, settings: Mapping[str, str], environment: Mapping[str, str]) -> Cost:
    """Run the job to its end; return its cost."""
    # With spark-submit, the JVM waits for Python, so the CPU of both counts for one child process.
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    confs = [word for item in {**SETTINGS, **settings}.items() for word in ("--conf", "=".join(item))]
    command = [str(submit), "--master", "local[2]", *confs, str(JOB), str(home), str(WRITES)]
    variables = {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")},
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        **environment,
    }
    cpu_before, began = _children_seconds(), time.monotonic()
    subprocess.run(command, env=variables, cwd=home, check=True, capture_output=True)
    return Cost(_children_seconds() - cpu_before, time.monotonic() - began)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
