"""Commands that capture Spark jobs."""

from __future__ import annotations

import click

from fll_hbase.cli.groups import CommandGroup


@click.group(
    cls=CommandGroup,
    name="capture",
    modules={name: f"{__name__}.{name}" for name in ("check", "hook", "run", "send")},
    epilog="""\b
Examples:
  fll capture run --server http://lineage:8080 --namespace shop job.py 2026-11-01
  fll capture run --server http://lineage:8080 spark-submit --master spark://host:7077 job.py
  fll capture check --server http://lineage:8080
""",
)
def capture() -> None:
    """Record the field lineage of PySpark jobs, without changing their code.

    Needs PySpark, which is the extra `spark`, in the Python of the jobs. See docs/record/spark.md.
    """
