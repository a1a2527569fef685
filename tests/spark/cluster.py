"""A standalone Spark of two workers on loopback, and what is shipped to them."""

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
"""A Python without any of our packages, as on machines that nobody prepared."""

SECONDS_MAX = 120.0


class Standalone:
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

    def __enter__(self) -> Standalone:
        deploy = "org.apache.spark.deploy"
        log = self._start("master", f"{deploy}.master.Master", "--port", "0", "--webui-port", "0")
        self.url = _said(log, r"Starting Spark master at (spark://\S+)")
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
        """How many workers ran one."""
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


def archive(path: Path) -> Path:
    """The package and all it needs, as `pip install --target` would lay them out."""
    with tarfile.open(path, "w") as tar:
        tar.add(Path(spark.__file__).parents[1], "fll_hbase", filter=_wanted)
        for name in sorted(_needed("fll-hbase") | _needed("pyarrow") | _needed("pandas")):
            found = distribution(name)
            for file in found.files or ():
                if ".." not in file.parts and not file.is_absolute():
                    tar.add(found.locate_file(file), str(file), recursive=False, filter=_wanted)
    return path


def _wanted(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without what only compilers and tests look at, which is most of the files."""
    parts = set(Path(info.name).parts)
    return None if parts & {"__pycache__", "tests", "include"} else info


def _needed(name: str) -> set[str]:
    """The distributions that one needs, and itself; ours is no file of any."""
    found: set[str] = set()
    ahead = [name]
    while ahead:
        one = re.sub(r"[-_.]+", "-", ahead.pop()).lower()
        if one not in found:
            found.add(one)
            said = map(Requirement, distribution(one).requires or ())
            ahead += [each.name for each in said if not each.marker or each.marker.evaluate({"extra": ""})]
    return found - {"fll-hbase"}


def _said(log: Path, pattern: str) -> str:
    """What a process says once it is up."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"not in time: {log.read_text(errors='replace')}")
