"""A standalone Spark cluster of two workers on loopback, and the archive that is shipped to them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from configparser import RawConfigParser
from fnmatch import fnmatch
from importlib.metadata import distribution
from pathlib import Path
from types import TracebackType

import pyspark
from packaging.requirements import Requirement

from fll_hbase import spark
from tests.support.jvm_options import JVM_ENVIRONMENT
from tests.support.waiting import eventually

SPARK = Path(pyspark.__file__).parent
BARE_PYTHON = str(Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}"))
"""A Python without any of our packages, as on unprepared machines."""

ROOT = Path(spark.__file__).parents[2]
PACKAGE = ROOT / "fll_hbase"
EXCLUDED = (ROOT / "tools" / "worker-archive.exclude").read_text(encoding="utf-8").split()

SECONDS_MAX = 600.0


class StandaloneCluster:
    """A master and two workers of one core each; leaving `with` kills them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            **JVM_ENVIRONMENT,
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
        return subprocess.run(
            [SPARK / "bin/spark-submit", *self.options(), *options, script, *arguments],
            capture_output=True,
            text=True,
            env={**self.environment, "PYSPARK_DRIVER_PYTHON": sys.executable},
            check=False,
            timeout=SECONDS_MAX,
        )

    def options(self) -> list[str]:
        """Options of `spark-submit` for a job of this cluster."""
        bound = [f"spark.driver.{name}=127.0.0.1" for name in ("host", "bindAddress")]
        confs = [word for conf in (*bound, "spark.ui.enabled=false") for word in ("--conf", conf)]
        return ["--master", self.url, "--executor-memory", "600m", "--driver-memory", "600m", *confs]

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
                    env=self.environment,
                    start_new_session=True,
                )
            )
        return log


def write_archive(path: Path, *, package: bool = True) -> Path:
    """Write what workers need to a compressed tar file, as the commands of docs/operate/jobs/load.md do.

    Without `package` it has the dependencies alone.
    """
    # The fastest level: it adds a tenth to the size.
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        if package:
            tar.add(PACKAGE, "fll_hbase", filter=_is_needed)
        for name in sorted(_dependencies(_requirements())):
            files = distribution(name).files or ()
            for file in files:
                if ".." not in file.parts and not file.is_absolute():
                    tar.add(file.locate(), str(file), recursive=False, filter=_is_needed)
    return path


def write_package(path: Path) -> Path:
    """Write the package alone to a zip file, for `--py-files`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*.py")):
            archive.write(file, file.relative_to(PACKAGE.parent))
    return path


def _is_needed(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out what the page leaves out; as with tar, a pattern matches a path from any directory on."""
    # Bytecode belongs to it, as with pip: compiling takes three times as long as all other work of a worker.
    parts = info.name.split("/")
    tails = [
        "/".join(parts[start:stop])
        for start in range(len(parts))
        for stop in range(start + 1, len(parts) + 1)
    ]
    return None if any(fnmatch(tail, pattern) for tail in tails for pattern in EXCLUDED) else info


def _requirements() -> list[str]:
    """The dependencies of the package, and those of the extra `worker`."""
    setup = RawConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = f"{setup['options']['install_requires']}\n{setup['options.extras_require']['worker']}"
    return [line for line in lines.split("\n") if line]


def _dependencies(queue: list[str]) -> set[str]:
    """The names of distributions, and of all that they require."""
    names: set[str] = set()
    while queue:
        requirement = Requirement(queue.pop())
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        names.add(name)
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            extras = requirement.extras or {""}
            if not needed.marker or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                queue.append(line)
    return names


def _wait_for(log: Path, pattern: str) -> str:
    """Wait for the pattern in a log; returns its first group."""

    def search() -> re.Match[str] | None:
        return re.search(pattern, log.read_text(errors="replace"))

    eventually(lambda: search() is not None, f"{pattern} is in {log}")
    match = search()
    assert match is not None
    return match[1]
