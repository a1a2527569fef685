"""Commands that run jobs on Spark."""

from __future__ import annotations

from fll_hbase.cli import groups


@groups.group(
    "fll spark load 'history/*.ndjson.gz' --rejects rejected",
    "fll spark load hdfs:///lineage/2025 --rejects rejected --store hbase://gateway:9090/field_level_lineage",
    "fll spark retention --before now-400d --dry-run",
    name="spark",
    modules={name: f"{__name__}.{name}" for name in ("export", "load", "stream")}
    | dict.fromkeys(("check", "retention"), f"{__name__}.maintenance"),
)
def spark() -> None:
    """Run jobs on Spark: on all cores of this machine, or under spark-submit on a cluster.

    The jobs need PySpark, which is the extra `spark`, and a JDK.
    """
