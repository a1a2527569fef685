"""Jobs of spark-submit on a standalone master are captured in client mode, without a change of the job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fll_hbase.capture import launch
from tests.support.capture.job_runner import JOB
from tests.support.capture.lineage_server import Lineage
from tests.support.commands import FLL
from tests.support.spark_cluster import SPARK, StandaloneCluster

pytestmark = pytest.mark.java


def test_spark_submit_in_client_mode(tmp_path: Path, server: Lineage) -> None:
    """By `fll capture run spark-submit`, and by the hook with a setting of spark-submit."""
    with StandaloneCluster(tmp_path) as cluster:
        submit = [str(SPARK / "bin/spark-submit"), *cluster.options()]
        run = [FLL, "capture", "run", "--server", server.url, "--spool", str(tmp_path / "spool"), *submit]
        done = execute(cluster, [*run, str(JOB), "by_run", str(tmp_path / "run"), "2", "exit"])
        assert done.returncode == 7, done.stderr
        conf = {"url": server.url, "spool": str(tmp_path / "spool"), "namespace": "by_hook"}
        confs = [
            word for name, value in conf.items() for word in ("--conf", f"spark.fll.capture.{name}={value}")
        ]
        hook = tmp_path / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(f"import site; site.addsitedir({str(hook)!r})")
        (hook / launch.PTH).write_text(launch.PTH_LINE)
        done = execute(
            cluster,
            [*submit, *confs, str(JOB), "by_hook", str(tmp_path / "hooked"), "2", "stop"],
            PYTHONPATH=str(hook),
        )
        assert done.returncode == 0, done.stderr
        assert cluster.executors() == 2
    assert len(server.runs("by_run")) == 3
    assert len(server.runs("by_hook")) == 3
    assert not list((tmp_path / "spool").glob("*.plans"))


def execute(
    cluster: StandaloneCluster, command: list[str], **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**cluster.environment, "PYSPARK_DRIVER_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
