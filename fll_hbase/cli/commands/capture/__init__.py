"""Commands that capture Spark jobs."""

from __future__ import annotations

from fll_hbase.cli import groups


@groups.group(
    "fll capture run --server http://lineage:8080 --namespace shop job.py 2026-11-01",
    "fll capture run --server http://lineage:8080 spark-submit --master spark://host:7077 job.py",
    "fll capture check --server http://lineage:8080",
    name="capture",
    modules={name: f"{__name__}.{name}" for name in ("check", "run", "send")} | {"hook": f"{__name__}.run"},
)
def capture() -> None:
    """Record the field lineage of PySpark jobs, without changing their code.

    Needs PySpark, which is the extra `spark`, in the Python of the jobs. See docs/record/spark.md.
    """
