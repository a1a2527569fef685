"""Run real clients of OpenLineage against a real server, and keep what they sent (README.md).

    PYTHONPATH=. python tests/clients/record.py [airflow] [dbt] [flink]

Each client gets an environment of its own below build/clients. Airflow and Flink need an empty PostgreSQL
database, `CLIENTS_POSTGRES=user@host:port/database`, and Flink the broker of tests/support/kafka.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.support.commands import serving
from tests.support.kafka.broker import Broker

FOLDER = Path(__file__).parent
ENVIRONMENTS = FOLDER.parents[1] / "build" / "clients"
NAMESPACE = "shop"
DATABASE = "db.example:5432"
DAY = "2026-11-01"
"""The day of all recordings: a run that has not ended has another state on its own day than later."""
SECONDS_MAX = 400
EVENTS_OF_AIRFLOW = 28
EVENTS_OF_FLINK = 6
CONNECTION_STRING = os.environ.get("CLIENTS_POSTGRES", "")
FLINK_LISTENER = "io.openlineage.flink.listener.OpenLineageJobStatusChangedListenerFactory"
FLINK_OPENS = (
    "util lang lang.reflect time util.concurrent net io nio text util.stream"  # what bin/sql-client.sh opens
)


def record_dbt(home: Path, url: str) -> None:
    """Build the project with dbt-ol."""
    shutil.copytree(FOLDER / "dbt" / "project", home, dirs_exist_ok=True)
    transports = {
        "server": {"type": "http", "url": url},
        "copy": {"type": "file", "log_file_path": str(home / "events.ndjson"), "append": True},
    }
    (home / "openlineage.yml").write_text(
        json.dumps({"transport": {"type": "composite", "transports": transports}})
    )
    environment = {
        "OPENLINEAGE_CONFIG": str(home / "openlineage.yml"),
        "OPENLINEAGE_NAMESPACE": NAMESPACE,
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    packages = _python("dbt")
    _run([packages / "dbt-ol", "build", "--profiles-dir", "."], home, environment, packages)


def record_airflow(home: Path, url: str) -> None:
    """Run the DAG in a standalone Airflow until all of its events are there."""
    (home / "dags").mkdir()
    shutil.copy(FOLDER / "airflow" / "shop.py", home / "dags")
    user, _, rest = CONNECTION_STRING.partition("@")
    transports = {
        "server": {"type": "http", "url": url},
        "copy": {"type": "file", "log_file_path": str(home / "events.ndjson"), "append": True},
    }
    environment = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://{user}@{rest}",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": NAMESPACE,
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "composite", "transports": transports}),
        "AIRFLOW_CONN_WAREHOUSE": f"postgres://{CONNECTION_STRING}",
        "AIRFLOW_CONN_LOCAL": json.dumps({"conn_type": "sqlite", "host": str(home / "local.db")}),
    }
    packages = _python("airflow")
    airflow = packages / "airflow"
    with _background([airflow, "standalone"], home, environment, packages):
        _until(lambda: "shop" in _output([airflow, "dags", "list"], home, environment, packages), 120)
        for command in (["unpause"], ["trigger"]):
            _run([airflow, "dags", *command, "shop"], home, environment, packages)
        _until(lambda: _count(home) >= EVENTS_OF_AIRFLOW, SECONDS_MAX)


def record_flink(home: Path, url: str) -> None:
    """Run the job of Flink's SQL client in one process, with a Kafka of its own."""
    jars = FOLDER / "flink" / "target" / "jars"
    subprocess.run(["mvn", "-q", "-B", "-f", FOLDER / "flink" / "pom.xml", "package"], check=True)
    (home / "config.yaml").write_text(
        f"""\
execution.target: local
rest.bind-address: 127.0.0.1
taskmanager.numberOfTaskSlots: 4
execution.job-status-changed-listeners: {FLINK_LISTENER}
openlineage.job.namespace: {NAMESPACE}
openlineage.transport.type: composite
openlineage.transport.transports.server.type: http
openlineage.transport.transports.server.url: {url}
openlineage.transport.transports.copy.type: file
openlineage.transport.transports.copy.location: {home}/events.ndjson
"""
    )
    (home / "kafka").mkdir()
    with Broker(home / "kafka") as broker:
        broker.create("paid", partitions=1)
        user, _, database = CONNECTION_STRING.partition("@")
        job = (FOLDER / "flink" / "job.sql").read_text()
        for name, value in {
            "HOME": home,
            "POSTGRES": database,
            "USER": user,
            "KAFKA": broker.address,
        }.items():
            job = job.replace(f"@{name}@", str(value))
        (home / "job.sql").write_text(job)
        opens = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in FLINK_OPENS.split()]
        main = ["org.apache.flink.table.client.SqlClient", "-f", home / "job.sql"]
        command = ["java", *opens, "-cp", f"{jars}/*", *main]
        # The thread that asks for checkpoints keeps the process alive after the last job.
        with _background(command, home, {"FLINK_CONF_DIR": str(home)}, home):
            _until(lambda: _count(home) >= EVENTS_OF_FLINK, SECONDS_MAX)


CLIENTS = {"airflow": record_airflow, "dbt": record_dbt, "flink": record_flink}


def main(clients: list[str]) -> None:
    """Record the events of the clients, by default of all."""
    for client in clients or CLIENTS:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "client"
            home.mkdir()
            with serving(f"sqlite:///{folder}/store.db", Path(folder)) as url:
                CLIENTS[client](home, url)
            lines = [clean(line, home) for line in (home / "events.ndjson").read_text().splitlines()]
        text = "".join(f"{line}\n" for line in lines)
        (FOLDER / client / "events.ndjson.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{client}: {len(lines)} events")


def clean(line: str, home: Path) -> str:
    """Replace what names a machine in one event, which was sent today: folders, servers and the day."""
    database = CONNECTION_STRING.partition("@")[2].partition("/")[0]
    for private, public in (
        (str(home), "/srv/client"),
        (str(ENVIRONMENTS), "/srv/environments"),
        (database or DATABASE, DATABASE),
    ):
        line = line.replace(private, public)
    line = re.sub(r"kafka://127\.0\.0\.1:\d+", "kafka://broker.example:9092", line)
    line = line.replace(datetime.now(UTC).strftime("%Y-%m-%d"), DAY)
    event = json.loads(line)
    error = event["run"].get("facets", {}).get("errorMessage", {})
    if "stackTrace" in error:
        # Its lines are the files of an installation.
        error["stackTrace"] = error["stackTrace"].splitlines()[-1]
    return json.dumps(event)


def _python(client: str) -> Path:
    """Return the programs of an environment with the packages of a client, made on first use."""
    folder = ENVIRONMENTS / client
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        packages = FOLDER / client / "requirements.txt"
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "-r", packages], check=True)
        (folder / "installed").touch()
    return folder / "bin"


def _environment(more: dict[str, str], packages: Path) -> dict[str, str]:
    return {**os.environ, "TZ": "UTC", "PATH": f"{packages}:{os.environ['PATH']}", **more}


def _run(command: list[str | Path], home: Path, more: dict[str, str], packages: Path) -> None:
    environment = _environment(more, packages) | {"HOME": str(home)}
    subprocess.run(command, cwd=home, env=environment, timeout=SECONDS_MAX, check=True)


def _output(command: list[str | Path], home: Path, more: dict[str, str], packages: Path) -> str:
    environment = _environment(more, packages) | {"HOME": str(home)}
    done = subprocess.run(
        command, cwd=home, env=environment, timeout=SECONDS_MAX, check=False, capture_output=True, text=True
    )
    return done.stdout


@contextmanager
def _background(
    command: list[str | Path], home: Path, more: dict[str, str], packages: Path
) -> Iterator[None]:
    environment = _environment(more, packages) | {"HOME": str(home)}
    with (home / "client.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(120)


def _count(home: Path) -> int:
    events = home / "events.ndjson"
    return len(events.read_bytes().splitlines()) if events.exists() else 0


def _until(holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1:])
