"""`fll retention`: delete expired runs, then collect unreferenced rows, in this process."""

from __future__ import annotations

from contextlib import closing

import click

from fll_hbase.cli import groups
from fll_hbase.cli.output import JSON, TABLE, format_options
from fll_hbase.cli.render.console import print_json
from fll_hbase.cli.render.progress_bar import progress_bar
from fll_hbase.cli.retention_options import closing_note, policy_options
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime import config
from fll_hbase.store.factory import check_grace, open_store_table
from fll_hbase.store.maintenance.retention import apply_retention
from fll_hbase.store.rows import calendar_mark


@groups.command(
    "fll retention --dry-run",
    "fll retention --before now-400d",
    "fll retention --before now-30d --namespace scratch",
)
@policy_options
@click.option("--store", metavar="URL", help=STORE_HELP)
@format_options(TABLE, JSON, listed=False)
def retention(*, rules: RetentionPolicy, dry_run: bool, store: str | None, output_format: str) -> None:
    """Delete runs that started before their cut-off, then collect rows that no run references.

    The rules, options and numbers are the same as for `fll spark retention`, whose help shows a policy. This
    command needs no Spark, but enough memory for what the runs refer to: use it for up to a few million runs.
    Cut-offs come from --before or --policy, and from requests (DELETE /v3/lineage). Without any of them, only
    unreferenced rows are collected. Rows written within the grace period (one hour) always stay, so the
    command is safe while writers run.
    """
    settings = config.from_environment(store=store)
    check_grace(settings)
    with closing(open_store_table(settings, create=False)) as table, progress_bar(None) as bar:
        calendar_mark.require(table)
        report = apply_retention(
            table,
            rules,
            grace_ms=settings.grace_ms,
            dry_run=dry_run,
            report=lambda kind, rows: bar.update(rows, f"{rows:,} rows read, {kind}"),
        )
    hint = closing_note(settings.store, rules, report)
    if output_format == JSON:
        print_json({**report.summary(), "next": hint})
    else:
        click.echo(f"{report}\n{hint}".rstrip())
