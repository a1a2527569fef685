"""Records the dumps of the jobs of the warehouse, on the PySpark that is installed.

    python -m tests.support.capture.warehouse.record FILE

The directory of the machine is removed, so that paths begin with `/warehouse`, as those of the shared events.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.capture.spark_jobs import Job, Recorder, open_session, save
from tests.support.capture.warehouse import features, medallion, retail
from tests.support.capture.warehouse.landing import write_landing, write_sources

JOBS: list[Job] = [
    medallion.med_bronze,
    medallion.med_silver,
    medallion.med_gold,
    medallion.med_ddl,
    features.feat_failing,
    features.feat_failing_analysis,
    features.feat_jdbc,
    features.feat_stream_file,
    features.feat_formats_names,
    features.feat_rdds,
    features.feat_wide,
    features.feat_legacy_layout,
    features.feat_logical_plan,
    features.feat_parallel,
]


def run_jobs(recorder: Recorder) -> Iterator[tuple[str, list[bytes]]]:
    """Run every job; the daily ones are named by their first day, such as `retail_daily_clean_orders 17`."""
    spark, root = recorder.spark, f"{recorder.home}/warehouse"
    for number in retail.BRONZE:
        write_landing(spark, root, number)
        recorder.lines()
        for task in retail.TASKS:
            task(spark, root, number)
            yield f"retail_daily_{task.__name__} {number}", recorder.lines()
    write_sources(spark, root)
    recorder.lines()
    for job in JOBS:
        job(spark, root)
        yield job.__name__, recorder.lines()


def main(target: str) -> None:
    """Record the dumps with a Hive catalogue on an embedded Derby."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        catalogue = f"jdbc:derby:;databaseName={home}/metastore_db;create=true"
        settings = {
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": catalogue,
        }
        recorder = Recorder(open_session(home, **settings), home)
        recorded = [("application", recorder.lines()), *run_jobs(recorder)]
        save(recorded, Path(target), {str(home): ""})
        recorder.spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
