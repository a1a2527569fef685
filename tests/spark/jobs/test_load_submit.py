"""Loads run under spark-submit, on workers that have only Spark and Python."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.load_inputs import plain, rows_of_one_call, write_files
from tests.support.spark_cluster import BARE_PYTHON, StandaloneCluster, write_archive, write_package
from tests.support.stream_process import documents, rows

pytestmark = pytest.mark.java

PAGE = (Path(__file__).parents[3] / "docs" / "operate" / "jobs" / "load.md").read_text(encoding="utf-8")

ARCHIVE_BYTES_MAX = 60_000_000


@pytest.mark.parametrize("is_complete", [True, pytest.param(False, marks=pytest.mark.long)])
def test_loads_on_two_workers(tmp_path: Path, is_complete: bool) -> None:
    """With the script and the options of the page: the package in the archive, or by `--py-files`.

    The second one also shows the refusal of a late setting, which without a JVM is a test of `cli`.
    """
    script = tmp_path / "fll.py"
    script.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    options = re.findall(r"^    (--(?:archives|conf) \S+) ", PAGE, re.MULTILINE)
    assert len(options) == 2
    archive = write_archive(tmp_path / "shipped.tar.gz", package=is_complete)
    assert archive.stat().st_size < ARCHIVE_BYTES_MAX
    arguments = " ".join(options).replace("deps.tar.gz", str(archive)).split()
    if not is_complete:
        arguments += ["--py-files", str(write_package(tmp_path / "fll_hbase.zip"))]
    lines = documents(0, 200)
    write_files(tmp_path / "in", lines)
    (tmp_path / "in" / "bad").write_bytes(plain([b"{}"]))
    url, summary = f"sqlite:///{tmp_path}/store.db", tmp_path / "summary.json"
    load = ["spark", "load", str(tmp_path / "in"), "--store", url, "--rejects", str(tmp_path / "rejects")]
    load += ["--summary", str(summary)]
    with StandaloneCluster(tmp_path) as cluster:
        done = cluster.submit(script, load, *arguments)
        assert done.returncode == 3, done.stderr
        report = json.loads(done.stdout)
        assert (report["read"], report["recorded"], report["rejected"]) == (201, 200, 1)
        assert json.loads(summary.read_text()) == report
        assert rows(url) == rows_of_one_call(lines)
        assert cluster.executors() == 2
        if not is_complete:
            refused = cluster.submit(script, [*load, "--driver-memory", "2g"])
            assert refused.returncode == 2
            # spark-submit joins the two outputs of a driver.
            assert "spark.driver.memory has no effect any more" in refused.stdout


def test_workers_cannot_import_the_package_by_themselves() -> None:
    command = [BARE_PYTHON, "-c", "import fll_hbase"]
    assert subprocess.run(command, capture_output=True, check=False, cwd="/").returncode != 0
