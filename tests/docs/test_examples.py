"""Every `fll spark` command in examples/ is one that `fll` accepts, with its configuration file."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from fll_hbase.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DAG = EXAMPLES / "airflow" / "lineage_nightly.py"
CRON_JOB = EXAMPLES / "kubernetes" / "lineage-nightly.yaml"
JOBS = ["load", "retention", "check", "export"]


def parse_command(line: str) -> tuple[str, dict[str, Any]]:
    """Parse a line of a shell as `fll` does; returns the job and its parameters. Raises click's errors."""
    program, group, name, *arguments = shlex.split(line)
    assert (program, group) == ("fll", "spark")
    spark = main.all_commands()["spark"]
    assert isinstance(spark, click.Group)
    # With the settings of `fll`: a command keeps the names of its help that it had first.
    root = click.Context(main, **main.context_settings)
    with root, click.Context(spark, parent=root, info_name="spark") as parent:
        return name, spark.all_commands()[name].make_context(name, arguments, parent=parent).params


def dag_commands(reports: Path) -> Iterator[str]:
    """The commands of the DAG on 1 March 2026, without running it: Airflow is not needed."""
    values = {"CONFIG": str(DAG.with_name("lineage.toml")), "REPORTS": str(reports)}
    for node in ast.walk(ast.parse(DAG.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "bash_command":
            text = str(eval(compile(ast.Expression(node.value), "dag", "eval"), values))
            yield text.replace("{{ ds }}", "2026-03-01").replace("{{ macros.ds_add(ds, 1) }}", "2026-03-02")


def cron_commands(config: Path) -> Iterator[str]:
    """The commands of the CronJob, with the configuration file of its ConfigMap."""
    config_map, cron_job = yaml.safe_load_all(CRON_JOB.read_text(encoding="utf-8"))
    config.write_text(config_map["data"]["lineage.toml"], encoding="utf-8")
    pod = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for container in [*pod["initContainers"], *pod["containers"]]:
        (script,) = container["args"]
        command = re.split(r"\|\||;", script)[0]
        yield command.replace("/etc/lineage/lineage.toml", str(config)).replace(
            "/tmp/check.json", "check.json"
        )


def test_the_dag_runs_every_job(tmp_path: Path) -> None:
    jobs = dict(map(parse_command, dag_commands(tmp_path)))
    assert list(jobs) == JOBS
    assert {params["store"].partition(":")[0] for params in jobs.values()} == {"hbase"}
    assert jobs["load"]["namespace"] == "lake"
    assert (jobs["export"]["start"], jobs["export"]["end"]) == ("2026-03-01", "2026-03-02")


def test_the_cron_job_runs_every_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = dict(map(parse_command, cron_commands(tmp_path / "lineage.toml")))
    assert sorted(jobs) == sorted(JOBS)
    assert jobs["load"]["rejects"] == "s3a://lake/rejects"
    assert jobs["retention"]["cutoff_ms"] > 0
    assert jobs["export"]["overwrite"] is True


@pytest.mark.parametrize("line", ["fll spark load --no-such-option", "fll spark retention --before soon"])
def test_other_commands_are_refused(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse_command(line)


def test_examples_are_linked() -> None:
    pages = [
        page.read_text(encoding="utf-8") for page in (EXAMPLES.parent / "docs" / "operate").rglob("*.md")
    ]
    for file in (DAG, CRON_JOB):
        target = f"/blob/main/{file.relative_to(EXAMPLES.parent)})"
        assert any(target in page for page in pages), file
