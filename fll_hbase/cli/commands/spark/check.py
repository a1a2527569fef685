"""`fll spark check`: check the consistency of a table, and repair it."""

from __future__ import annotations

import click

from fll_hbase.cli import groups
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.error_output import FAILURE
from fll_hbase.cli.summary_file import print_summary
from fll_hbase.runtime.config import Settings


@groups.command(
    "fll spark check", "fll spark check --repair --store hbase://gateway:9090/field_level_lineage"
)
@click.option("--repair", is_flag=True, help="Repair what can be repaired; delete nothing.")
@common.job_options
def check(*, repair: bool, settings: Settings, launch: common.LaunchOptions) -> None:
    """Check every row of the table: its references to other rows, and its value against its key.

    Reports inconsistencies by kind, with examples, and what garbage collection will remove, which is not an
    inconsistency. The exit code is 1 if something is wrong and was not repaired. Safe while writers run.
    """
    with common.spark_job("check", settings, launch, any_release=True) as spark:
        # Imported here, because PySpark is an extra that other `fll` commands do not need.
        from fll_hbase.spark.jobs import check as job

        report = job.check(spark, settings, repair=repair)
    print_summary(report.summary(), lambda: str(report), launch.summary)
    if report.errors_left:
        click.get_current_context().exit(FAILURE)
