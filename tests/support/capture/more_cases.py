"""Constructs that are easily resolved wrongly, with the lineage that they must have; records their dumps.

    python -m tests.support.capture.more_cases FILE

`more_cases.json` has tables that all cases share, and cases: `sql` or `pyspark` (an expression) is a query,
or a write of the table or directory `target`; the result of a query is written, with `stream` as a stream.
`tables` are statements before it; `{home}` in SQL, and HOME in Python, is a directory for files. `fields`
are the inputs of each column, `rows` those of all rows, as `table.field KIND`, with `masked` if the value is
hidden. They are worked out by hand from docs/record/captured-lineage.md. Cases of rows that the program
brings are first: after any that collects rows, these have an unknown source.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Window, functions

from tests.support.capture.spark_jobs import Recorder, open_session, save

Json = dict[str, Any]

DOCUMENT = json.loads(Path(__file__).with_name("more_cases.json").read_text(encoding="utf-8"))
CASES: dict[str, Json] = {case["id"]: case for case in DOCUMENT["cases"]}


def run_cases(recorder: Recorder) -> Iterator[tuple[str, list[bytes]]]:
    """Run every case that this Spark can run, each in a database of its own."""
    spark = recorder.spark
    home = str(recorder.home)
    names: Json = {"spark": spark, "F": functions, "Window": Window, "HOME": home}
    for case in CASES.values():
        if case.get("min_spark", "") > spark.version:
            continue
        spark.sql(f"CREATE DATABASE {case['id']}")
        spark.sql(f"USE {case['id']}")
        for statement in [*DOCUMENT["tables"], *case.get("tables", ())]:
            spark.sql(statement.replace("{home}", home))
        recorder.lines()
        query = case.get("sql", "").replace("{home}", home)
        result = spark.sql(query) if query else eval(case["pyspark"], names)
        if "target" not in case:
            _write(result, f"{home}/{case['id']}/out", home)
        yield case["id"], recorder.lines()
        spark.catalog.clearCache()


def _write(frame: DataFrame, path: str, home: str) -> None:
    if not frame.isStreaming:
        frame.write.parquet(path)
        return
    writer = frame.writeStream.option("checkpointLocation", f"{home}/state{path[len(home) :]}")
    query = writer.trigger(availableNow=True).start(path)
    query.awaitTermination(60)


def captured(event: Json) -> Json:
    """Return the lineage of an event in the form of the cases."""
    lineage = event["outputs"][0]["facets"]["columnLineage"]
    fields = {name: _inputs(item["inputFields"]) for name, item in lineage["fields"].items()}
    return {"fields": fields, "rows": _inputs(lineage["dataset"])}


def expected(case: Json) -> Json:
    """Return the lineage of a case in the same order."""
    return {
        "fields": {name: sorted(item) for name, item in case["fields"].items()},
        "rows": sorted(case["rows"]),
    }


def _inputs(items: list[Json]) -> list[str]:
    return sorted(
        f"{item['name'].rpartition('/')[2]}.{item['field']} {kind['subtype']}{' masked' * kind['masking']}"
        for item in items
        for kind in item["transformations"]
    )


def main(target: str) -> None:
    """Record the dumps of all cases."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        recorder = Recorder(open_session(home), home)
        recorded = [("application", recorder.lines()), *run_cases(recorder)]
        save(recorded, Path(target), {str(home): "/data"})
        recorder.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
