"""A standalone Spark cluster of two workers on loopback, and the archive that is shipped to them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from types import TracebackType

import pyspark
from packaging.requirements import Requirement

from fll_hbase import spark

SPARK = Path(pyspark.__file__).parent
BARE_PYTHON = str(Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}"))
"""A Python without any of our packages, as on unprepared machines."""

SECONDS_MAX = 120.0


class StandaloneCluster:
    """A master and two workers of one core each; leaving `with` kills them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "PYSPARK_PYTHON": BARE_PYTHON,
            "SPARK_HOME": str(SPARK),
            "SPARK_LOCAL_DIRS": str(home / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def __enter__(self) -> StandaloneCluster:
        deploy = "org.apache.spark.deploy"
        log = self._start("master", f"{deploy}.master.Master", "--port", "0", "--webui-port", "0")
        self.url = _wait_for(log, r"Starting Spark master at (spark://\S+)")
        for name in ("worker-1", "worker-2"):
            options = ["--cores", "1", "--memory", "700m", "--work-dir", str(self._home / name)]
            self._start(name, f"{deploy}.worker.Worker", *options, "--webui-port", "0", self.url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def submit(
        self, script: Path, arguments: Sequence[str], *options: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a job as `spark-submit` does, with a driver of the Python that runs this."""
        bound = [f"spark.driver.{name}=127.0.0.1" for name in ("host", "bindAddress")]
        confs = [word for conf in (*bound, "spark.ui.enabled=false") for word in ("--conf", conf)]
        small = ["--executor-memory", "600m", "--driver-memory", "600m"]
        return subprocess.run(
            [SPARK / "bin/spark-submit", "--master", self.url, *small, *confs, *options, script, *arguments],
            capture_output=True,
            text=True,
            env={**self._environment, "PYSPARK_DRIVER_PYTHON": sys.executable},
            check=False,
            timeout=SECONDS_MAX,
        )

    def executors(self) -> int:
        """The number of workers that ran an executor."""
        return sum(any(self._home.glob(f"{name}/app-*")) for name in ("worker-1", "worker-2"))

    def _start(self, name: str, kind: str, *arguments: str) -> Path:
        log = self._home / f"{name}.log"
        with log.open("wb") as out:
            self._processes.append(
                subprocess.Popen(
                    [SPARK / "bin/spark-class", kind, "--host", "127.0.0.1", *arguments],
                    stdout=out,
                    stderr=out,
                    env=self._environment,
                    start_new_session=True,
                )
            )
        return log


def write_archive(path: Path) -> Path:
    """Write the package and its dependencies to a tar file, laid out as by `pip install --target`."""
    with tarfile.open(path, "w") as tar:
        tar.add(Path(spark.__file__).parents[1], "fll_hbase", filter=_without_extras)
        for name in sorted(_dependencies("fll-hbase") | _dependencies("pyarrow") | _dependencies("pandas")):
            package = distribution(name)
            for file in package.files or ():
                if ".." not in file.parts and not file.is_absolute():
                    tar.add(package.locate_file(file), str(file), recursive=False, filter=_without_extras)
    return path


def _without_extras(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out files for compilers and tests, which are most of them."""
    # Bytecode belongs to it, as with pip: compiling takes three times as long as all other work of a worker.
    return None if set(Path(info.name).parts) & {"tests", "include"} else info


def _dependencies(name: str) -> set[str]:
    """A distribution and all that it requires, without this one, whose files are added from the source."""
    names: set[str] = set()
    queue = [name]
    while queue:
        required = re.sub(r"[-_.]+", "-", queue.pop()).lower()
        if required not in names:
            names.add(required)
            requirements = map(Requirement, distribution(required).requires or ())
            queue += [
                requirement.name
                for requirement in requirements
                if not requirement.marker or requirement.marker.evaluate({"extra": ""})
            ]
    return names - {"fll-hbase"}


def _wait_for(log: Path, pattern: str) -> str:
    """Wait for the pattern in a log; returns its first group."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        if match := re.search(pattern, log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.05)
    raise AssertionError(f"not in time: {log.read_text(errors='replace')}")
