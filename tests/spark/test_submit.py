"""Loads run under spark-submit, on workers that have only Spark and Python."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from spark.cluster import BARE_PYTHON, StandaloneCluster, write_archive
from spark.load_inputs import plain, rows_of_one_call, write_files
from spark.stream_process import documents, rows

PAGE = (Path(__file__).parents[2] / "docs" / "spark" / "load.md").read_text(encoding="utf-8")


def test_a_load_on_two_workers(tmp_path: Path) -> None:
    """With the script and the options of the page."""
    script = tmp_path / "fll.py"
    script.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    options = re.findall(r"^    (--(?:archives|conf) \S+) ", PAGE, re.MULTILINE)
    assert len(options) == 2
    shipped = write_archive(tmp_path / "deps.tar")
    arguments = " ".join(options).replace("deps.tar.gz", str(shipped)).split()
    lines = documents(0, 200)
    write_files(tmp_path / "in", lines)
    (tmp_path / "in" / "bad").write_bytes(plain([b"{}"]))
    url, rejects = f"sqlite:///{tmp_path}/lineage.db", tmp_path / "rejects"
    load = ["spark", "load", str(tmp_path / "in"), "--store", url, "--rejects", str(rejects)]
    with StandaloneCluster(tmp_path) as cluster:
        done = cluster.submit(script, load, *arguments)
        workers = cluster.executors()
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert (report["read"], report["recorded"], report["rejected"]) == (201, 200, 1)
    assert workers == 2
    assert rows(url) == rows_of_one_call(lines)


def test_workers_cannot_import_the_package_by_themselves() -> None:
    command = [BARE_PYTHON, "-c", "import fll_hbase"]
    assert subprocess.run(command, capture_output=True, check=False, cwd="/").returncode != 0
