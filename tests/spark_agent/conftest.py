"""One run of the job under the agent, shared by all tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.agent_settings import AGENT
from tests.support.commands import serving
from tests.support.jvm_options import SPARK_JVM

FOLDER = Path(__file__).parent
JARS = FOLDER / "target" / "jars"
JOB_SECONDS_MAX = 900


SPARK = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    **SPARK_JVM,
}


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A job that ran: its directory, the URL of the server, the events the agent sent, and the log."""

    home: Path
    url: str
    events: list[dict[str, Any]]
    log: str

    def name(self, folder: str) -> str:
        """The name of the dataset in a folder."""
        return str(self.home / folder)

    def get(self, path: str, **query: str) -> Any:
        """The JSON answer to a GET request."""
        answer = requests.get(f"{self.url}{path}", query, timeout=120)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FinishedJob]:
    home = tmp_path_factory.mktemp("spark")
    with serving(f"sqlite:///{home}/store.db", home) as url:
        log = _run(home, url)
        lines = (home / "events.ndjson").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        yield FinishedJob(home, url, events, log)


def _run(home: Path, url: str) -> str:
    """Run the job; returns its log."""
    jars = sorted(JARS.glob("*.jar"))
    assert len(jars) == 1, f"{JARS} should contain the agent: `mvn -q -B -f {FOLDER / 'pom.xml'} package`"
    settings = AGENT | SPARK
    settings["spark.jars"] = str(jars[0])
    settings["spark.openlineage.transport.transports.server.url"] = url
    settings["spark.openlineage.transport.transports.copy.location"] = str(home / "events.ndjson")
    settings["spark.sql.warehouse.dir"] = str(home / "warehouse")
    confs = " ".join(f'--conf "{name}={value}"' for name, value in settings.items())
    environment = {
        **os.environ,
        "HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    environment["PYSPARK_SUBMIT_ARGS"] = f"--master local[2] {confs} pyspark-shell"
    environment.pop("SPARK_HOME", None)
    job = subprocess.run(
        [sys.executable, str(FOLDER / "job.py"), str(home)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=JOB_SECONDS_MAX,
    )
    assert job.returncode == 0, job.stderr
    return job.stdout + job.stderr
