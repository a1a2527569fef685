"""Exports to Delta and Iceberg in a Spark of its own, which has their jars; prints what the tables have.

python tests/support/lake/process.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.exports.lake_tables import DeltaTables, IcebergTables, LakeFormat
from fll_hbase.spark.jobs.export_changes import ChangesSpec, export_changes
from fll_hbase.spark.session import session
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.jvm_options import SPARK_JVM

JARS = Path(__file__).parent / "target/jars"
SETTINGS = {
    "spark.jars": ",".join(map(str, sorted(JARS.glob("*.jar")))),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    **SPARK_JVM,
}
TABLES = ("runs", "edges", "catalogue")


def record(store: LineageStore, field: str, *runs: str) -> None:
    """Record runs that copy a field, or replace them."""
    operations = [
        Read("r", "", Dataset("ns", "a"), "", (Field(field),)),
        Write("w", "", Dataset("ns", "b"), "", (InputField("r", field),)),
    ]
    info = lineage.build_lineage(operations)
    store.record([RecordedRun(ProgramRun("ns", "app", "1", "spark", "p", run, 5), info) for run in runs])


class KilledError(Exception):
    """Ends an export where a process was killed."""


def export_killed(spark: Any, spec: ChangesSpec) -> None:
    """Export, but end after the first table was published."""
    tables: Any = DeltaTables if spec.form is LakeFormat.DELTA else IcebergTables
    append, appended = tables.append, []

    def append_first(self: Any, staged: Any, table: str, batch: Any) -> None:
        append(self, staged, table, batch)
        appended.append(table)
        raise KilledError

    tables.append = append_first
    try:
        export_changes(spark, spec)
    except KilledError:
        print("killed at", appended, file=sys.stderr)
    finally:
        tables.append = append


def export_batches(folder: Path, form: LakeFormat, spark: Any) -> dict[str, Any]:
    """Export twice, the second time after a kill; returns the rows of each table."""
    url, out = f"sqlite:///{folder}/{form.value}.db", str(folder / form.value)
    out = "lake.nightly.lineage" if form is LakeFormat.ICEBERG else out
    spec = ChangesSpec(Settings(store=url), out, f"{folder}/{form.value}-state", form)
    store = LineageStore(open_table(url))
    record(store, "x", "one", "two")
    export_changes(spark, spec)
    record(store, "y", "two", "three")
    export_killed(spark, spec)
    record(store, "z", "four")
    export_changes(spark, spec)
    store.close()
    if form is LakeFormat.DELTA:
        frames = [spark.read.format("delta").load(f"{out}/{table}") for table in TABLES]
    else:
        frames = [spark.table(f"{out}.{table}") for table in TABLES]
    keys = (["batch", "run", "day"], ["batch", "run", "source_field"], ["batch", "name", "field"])
    return {
        table: sorted(map(list, frame.select(*key).collect()), key=repr)
        for table, frame, key in zip(TABLES, frames, keys, strict=True)
    }


def main() -> None:
    """Export to both formats."""
    folder = Path(sys.argv[1])
    warehouse = {"spark.sql.catalog.lake.warehouse": f"file://{folder}/warehouse"}
    spark = session("lake", master="local[2]", settings={**SETTINGS, **warehouse})
    results = {}
    for form in (LakeFormat.DELTA, LakeFormat.ICEBERG):
        results[form.value] = export_batches(folder, form, spark)
    spark.stop()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
