"""Jobs on Spark in processes of their own, with and without capture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import FLL
from tests.support.jvm_options import SPARK_JVM

JOB = Path(__file__).with_name("job.py")
SECONDS_MAX = 180

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    **SPARK_JVM,
}


@dataclass(frozen=True)
class JobRunner:
    """Runs jobs whose lineage goes to a server, by way of a spool in a directory."""

    home: Path
    seconds_max: int = SECONDS_MAX

    @property
    def spool(self) -> Path:
        return self.home / "spool"

    def run(
        self,
        name: str,
        writes: int,
        end: str,
        *options: str,
        url: str = "",
        file_kib_max: int = 0,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run the job, captured if there is a URL; files of more than `file_kib_max` cannot be written."""
        arguments = [str(JOB), name, str(self.home / name), str(writes), end, *options]
        capture = [FLL, "capture", "run", "--server", url, "--spool", str(self.spool)]
        command = [*capture, *arguments] if url else [sys.executable, *arguments]
        if file_kib_max:
            command = ["bash", "-c", f'ulimit -f {file_kib_max}; exec "$@"', "job", *command]
        return self.execute(command, **environment)

    def execute(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command with the settings of all jobs."""
        confs = " ".join(f'--conf "{name}={value}"' for name, value in SETTINGS.items())
        variables = {
            **{name: value for name, value in os.environ.items() if name != "SPARK_HOME"},
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": f"--master local[2] {confs} pyspark-shell",
            **environment,
        }
        return subprocess.run(
            command,
            cwd=self.home,
            env=variables,
            capture_output=True,
            text=True,
            timeout=self.seconds_max,
            check=False,
        )

    def fll(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of `fll` in a process of its own."""
        return self.execute([FLL, *arguments])

    def send(self) -> subprocess.CompletedProcess[str]:
        """Run `fll capture send`, after the time in which a JVM may still write."""
        for path in self.spool.glob("*.plans"):
            os.utime(path, (0, 0))
        return self.fll("capture", "send", str(self.spool))

    def plans(self) -> list[Path]:
        """The plan files that wait."""
        return sorted(self.spool.glob("*.plans"))


LOG_LINE = re.compile(
    r"^(\d\d/\d\d/\d\d .*|Setting default log level.*|To adjust logging level.*|Using Spark's .*)\n", re.M
)


def own_output(stderr: str) -> str:
    """The output of the job itself, without the log of Spark."""
    return LOG_LINE.sub("", stderr)
