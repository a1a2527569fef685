"""Run a list of captured jobs on several releases of Spark, each in an environment of its own.

    python tools/capture_matrix.py 3.5 4.0 4.1 newest

Makes `.venv-capture-<release>` with the latest PySpark of each release, starts a server, runs the jobs of
tests/support/capture/matrix_job.py in each environment, and asks the server for their lineage. Exits with 1
if any release has other lineage than the list in that file says.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import requests

from fll_hbase.runtime.retry import RetryPolicy

ROOT = Path(__file__).resolve().parents[1]
JOB = ROOT / "tests" / "support" / "capture" / "matrix_job.py"
RELEASES = ("3.5", "4.0", "4.1", "newest")
JOB_SECONDS_MAX = 600.0


def main(releases: list[str]) -> int:
    """Run the jobs on each release, and print a line for each; return the exit code."""
    with tempfile.TemporaryDirectory() as directory, _server(Path(directory)) as url:
        faults = [_run(release, Path(directory), url) for release in releases or RELEASES]
    return int(any(faults))


def _run(release: str, home: Path, url: str) -> bool:
    """Run the jobs on one release; return whether any part of it failed."""
    python = _environment(release)
    folder = home / release
    folder.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python),
        "FLL_CAPTURE_URL": url,
        "FLL_CAPTURE_SPOOL": str(home / f"spool-{release}"),
    }
    environment.pop("SPARK_HOME", None)
    done = subprocess.run(  # noqa: S603 (an environment that this script made)
        [python, JOB, folder],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=JOB_SECONDS_MAX,
        check=False,
    )
    if done.returncode:
        print(f"{release}: the jobs failed\n{done.stderr[-4_000:]}", flush=True)
        return True
    outcome = json.loads(done.stdout.splitlines()[-1])
    expected = {name: {tuple(edge) for edge in edges} for name, edges in outcome["expected"].items()}
    wrong = {name: _edges(url, folder / name) ^ edges for name, edges in expected.items()}
    exact = sum(not difference for difference in wrong.values())
    print(f"{release}: Spark {outcome['version']}: {exact} of {len(expected)} outputs exact", flush=True)
    for name, difference in wrong.items():
        for edge in sorted(difference):
            print(f"  {name}: {'missing' if edge in expected[name] else 'extra'} {edge}", flush=True)
    return exact < len(expected)


def _edges(url: str, path: Path) -> set[tuple[str, str, str, str]]:
    """Return the edges into a dataset: the last part of the source, both fields, direct or indirect."""
    name = quote(str(path.resolve()), safe="")
    answer = requests.get(
        f"{url}/v3/namespaces/file/endpoints/{name}/fields/lineage",
        {"direction": "backward", "start": "now-1h", "end": "now+1h"},
        timeout=30,
    )
    if answer.status_code == 404:
        return set()
    answer.raise_for_status()
    return {
        (
            entry["source"]["name"].rpartition("/")[2],
            pair["from"],
            pair["to"],
            pair.get("influence", "direct"),
        )
        for entry in answer.json()
        if entry["source"]
        for pair in entry["fieldmap"]
        if "from" in pair and pair["to"]
    }


def _environment(release: str) -> Path:
    """Return the Python of an environment with PySpark of a release, made on first use."""
    folder = ROOT / f".venv-capture-{release}"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        print(f"{release}: installing PySpark into {folder.name}: about 800 MB", flush=True)
        spark = "pyspark" if release == "newest" else f"pyspark=={release}.*"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)  # noqa: S603
        packages = ["-r", str(_requirements()), spark, "pandas<3", "pyarrow", "setuptools"]
        command = [str(python), "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(command, check=True)  # noqa: S603 (the same)
        (folder / "installed").touch()
    return python


def _requirements() -> Path:
    """Return the requirements of the package itself, whose source is on the path of the jobs."""
    setup = RawConfigParser()
    setup.read(ROOT / "setup.cfg")
    path = ROOT / "build" / "capture-requirements.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(setup["options"]["install_requires"].strip() + "\n", encoding="utf-8")
    return path


@contextmanager
def _server(home: Path) -> Iterator[str]:
    """Start a server of this environment over an empty store; return its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    fll = str(Path(sys.executable).with_name("fll"))
    command = [fll, "serve", "--store", f"sqlite:///{home}/store.db", "--port", port, "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 (our own command)
    try:
        url = f"http://127.0.0.1:{port}"
        RetryPolicy(timeout_seconds=30.0).retrying(requests.ConnectionError)(requests.get, f"{url}/readyz")
        yield url
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
