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

PAGE = (Path(__file__).parents[3] / "docs" / "spark" / "load.md").read_text(encoding="utf-8")

ARCHIVE_BYTES_MAX = 60_000_000


def test_loads_on_two_workers(tmp_path: Path) -> None:
    """With the script and the options of the page: the package in the archive, then by `--py-files`."""
    script = tmp_path / "fll.py"
    script.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    options = re.findall(r"^    (--(?:archives|conf) \S+) ", PAGE, re.MULTILINE)
    assert len(options) == 2
    complete = write_archive(tmp_path / "complete.tar.gz")
    assert complete.stat().st_size < ARCHIVE_BYTES_MAX
    dependencies = write_archive(tmp_path / "dependencies.tar.gz", package=False)
    package = write_package(tmp_path / "fll_hbase.zip")
    lines = documents(0, 200)
    write_files(tmp_path / "in", lines)
    (tmp_path / "in" / "bad").write_bytes(plain([b"{}"]))
    summary = tmp_path / "summary.json"
    with StandaloneCluster(tmp_path) as cluster:
        for number, shipped in enumerate((complete, dependencies)):
            arguments = " ".join(options).replace("deps.tar.gz", str(shipped)).split()
            py_files = ["--py-files", str(package)] if shipped is dependencies else []
            url, rejects = f"sqlite:///{tmp_path}/{number}.db", tmp_path / f"rejects-{number}"
            load = ["spark", "load", str(tmp_path / "in"), "--store", url, "--rejects", str(rejects)]
            load += ["--summary", str(summary)]
            done = cluster.submit(script, load, *arguments, *py_files)
            assert done.returncode == 3, done.stderr
            report = json.loads(done.stdout)
            assert (report["read"], report["recorded"], report["rejected"]) == (201, 200, 1)
            assert json.loads(summary.read_text()) == report
            assert rows(url) == rows_of_one_call(lines)
        assert cluster.executors() == 2
        refused = cluster.submit(script, [*load, "--driver-memory", "2g"])
    assert refused.returncode == 2
    # spark-submit joins the two outputs of a driver.
    assert "spark.driver.memory has no effect any more" in refused.stdout


def test_workers_cannot_import_the_package_by_themselves() -> None:
    command = [BARE_PYTHON, "-c", "import fll_hbase"]
    assert subprocess.run(command, capture_output=True, check=False, cwd="/").returncode != 0
