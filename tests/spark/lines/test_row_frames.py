"""Loads of rows record what `fll record` records, from every form of a file and in any order."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fll_hbase.ingest.registry import format_named
from fll_hbase.ingest.row_documents import RowFile
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs.load import CSV, PARQUET, TEXT, load
from fll_hbase.spark.lines.worker_ingest import Target
from fll_hbase.tables import open_table
from tests.support.commands import fll
from tests.support.stream_process import rows_of

ROWS = RowFile(format_named("databricks"), "databricks://h")
COLUMNS = [
    *("statement_id", "event_time", "source_table_full_name", "source_column_name"),
    *("target_table_full_name", "target_column_name", "source_path"),
]


def row(statement: str, column: str, time: str = "2026-01-31T09:30:00Z") -> dict[str, Any]:
    values = (statement, time, "main.raw.orders", column, "main.gold.totals", f'{column},"\n', None)
    return dict(zip(COLUMNS, values, strict=True))


GOOD = [row(statement, column) for statement in ("a", "A", "b", "c") for column in ("x", "y", "z")]
BAD = [row("d", "x"), row("d", "y", "noon")]


def write(path: Path, form: str, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    if form == TEXT:
        path.write_text("\n\n".join(map(json.dumps, rows)))
    elif form == PARQUET:
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            # Snowflake writes a null in this way.
            writer.writerows(
                {name: r"\N" if value is None else value for name, value in r.items()} for r in rows
            )


@pytest.mark.parametrize("form", [TEXT, PARQUET, CSV])
def test_a_load_in_any_order_records_what_a_sorted_file_does(
    form: str, spark: SparkSession, tmp_path: Path
) -> None:
    online = f"sqlite:///{tmp_path}/online.db"
    write(tmp_path / "sorted.json", TEXT, sorted(GOOD, key=lambda item: str(item["statement_id"])))
    names = ("--namespace", "history", "--dataset-namespace", "databricks://h", "--store", online)
    assert fll("record", "--databricks", str(tmp_path / "sorted.json"), *names).exit_code == 0
    shuffled = [*GOOD, *BAD]
    random.Random(7).shuffle(shuffled)
    for number in (0, 1):
        write(tmp_path / "in" / str(number), form, shuffled[number::2])
    bulk = f"sqlite:///{tmp_path}/bulk.db"
    target = Target(Settings(store=bulk), "history")
    rejects = tmp_path / "rejects"
    report = load(spark, [f"{tmp_path}/in"], target, rejects=str(rejects), form=form, rows=ROWS)
    # The runs `a` and `A` share a document.
    assert (report.counts.recorded, report.counts.rejected) == (3, 1)
    (rejected,) = [
        json.loads(line) for part in rejects.glob("*.json") for line in part.read_text().splitlines()
    ]
    assert rejected["faults"][0].endswith("'noon' is not a time such as 2026-01-31T09:30:00.000Z")
    assert rows_of(open_table(bulk)) == rows_of(open_table(online))
