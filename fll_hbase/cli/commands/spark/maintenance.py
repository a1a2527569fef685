"""`fll spark check` and `fll spark retention`: check and repair a table, and delete what has expired."""

from __future__ import annotations

import click

from fll_hbase.cli import groups
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.error_output import FAILURE
from fll_hbase.cli.retention_options import closing_note, policy_options
from fll_hbase.cli.summary_file import print_summary
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import check_grace


@groups.command(
    "fll spark retention --dry-run",
    "fll spark retention --before now-400d",
    "fll spark retention --before now-30d --namespace scratch",
    """fll spark retention --policy retention.json
A policy: {"before": "now-400d", "namespaces": {"scratch": "now-30d"},
           "endpoints": [{"namespace": "hr", "name": "people", "before": "now-90d"}]}""",
)
@policy_options
@common.job_options
def retention(
    *, rules: RetentionPolicy, dry_run: bool, settings: Settings, launch: common.LaunchOptions
) -> None:
    """Delete runs that started before their cut-off, then collect rows that no run references.

    A run is deleted when it started before the cut-offs of all its datasets. If it started before some
    cut-offs only, it stays, but the datasets with those cut-offs lose their references to it. Cut-offs come
    from --before or --policy, and from requests (DELETE /v3/lineage). Without any of them, only unreferenced
    rows are collected. Rows written within the grace period (one hour) always stay, so the job is safe while
    writers run. A shorter grace period is refused while other processes use the store.
    """
    check_grace(settings)
    with common.spark_job("retention", settings, launch) as spark:
        from fll_hbase.spark.jobs import retention as job

        report = job.apply_retention(spark, settings, rules, dry_run=dry_run)
    hint = closing_note(settings.store, rules, report)
    members = {**report.summary(), "next": hint}
    print_summary(members, lambda: f"{report}\n{hint}".rstrip(), launch.summary)


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
