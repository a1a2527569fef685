"""`fll store`: copy, back up and check a store, and migrate a store of an earlier release."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.output import JSON, TABLE, format_options, print_page
from fll_hbase.cli.render.console import print_json
from fll_hbase.cli.render.progress_bar import ProgressBar, progress_bar
from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.cli.summary_file import SummaryFile, print_summary
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.runtime import config
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.escape import escape_control
from fll_hbase.store.copying.store_copy import PASSES_MAX, CopyReport, CopyRequest, copy_store
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.maintenance import migration
from fll_hbase.store.maintenance.audit import check as audit_check
from fll_hbase.store.maintenance.audit.local_auditor import local_auditor
from fll_hbase.tables import back_up, canonical_url, store_exists
from fll_hbase.tables.factory import MEMORY_URL, check_creatable, is_in_memory, naming_damage

LINE_SECONDS = 60.0
"""How often a line shows the progress without a terminal."""

_COLUMNS = ("kind", "rows", "cells", "mark of the source", "mark of the copy")


@groups.group(
    "fll store copy --from sqlite:///data/lineage.db --to hbase://localhost:9090/field_level_lineage",
    "fll store backup backups/lineage-2026-11-21.db",
    "fll store check --repair",
    "fll store migrate --store sqlite:///data/lineage.db",
)
def store() -> None:
    """Check a store, move it to another engine, keep copies of it, take it over from an earlier release."""


@store.command(
    epilog=groups.examples(
        "fll store copy --from sqlite:///data/lineage.db --to hbase://localhost:9090/field_level_lineage",
        "fll store copy --from hbase://localhost:9090/field_level_lineage --to sqlite:///copy.db",
    )
)
@click.option("--from", "source", metavar="URL", required=True, help="URL of the store to copy.")
@click.option(
    "--to", "target", metavar="URL", required=True, help="URL of a new or empty store, or of a copy."
)
@click.option(
    "--passes",
    type=click.IntRange(min=1),
    default=PASSES_MAX,
    show_default=True,
    help="Compare both stores at most so many times.",
)
@click.option(
    "--update",
    is_flag=True,
    help="Make a complete copy equal to its source again; deletes what was recorded in it.",
)
@format_options(TABLE, JSON, listed=False)
def copy(*, source: str, target: str, passes: int, update: bool, output_format: str) -> None:
    """Copy all rows of a store into another one, of any engine, while writers of the source run.

    Each pass reads both stores as a whole and puts what differs. The copy is complete when a pass finds no
    difference; the exit code is 1 if the last one still did, because the source was written meanwhile.
    After an interruption, run the same command again. No other process may write to the copy before it is
    complete.
    """
    settings = config.from_environment()
    origin = canonical_url(source)
    if origin == canonical_url(target):
        raise ConfigurationError(f"{source} and {target} are one store")
    if is_in_memory(source) or is_in_memory(target):
        raise ConfigurationError(f"{MEMORY_URL} is in memory of one process: name a file")
    if not store_exists(target):
        check_creatable(target)
    request = CopyRequest(origin, settings.grace_ms, passes_max=passes, update=update)
    with (
        closing(open_store_table(replace(settings, store=source), create=False)) as source_table,
        closing(open_store_table(replace(settings, store=target), create=True)) as target_table,
        progress_bar(None) as bar,
    ):
        shown = _Shown(bar)
        report = copy_store(source_table, target_table, request, report=shown.report)
    _print(report, output_format)
    if not report.is_complete:
        print_err(
            f"fll: not complete: the last of {report.passes} passes found what was written meanwhile. The"
            " copy can be read; end the writers of the source, and run the same command again."
        )
        click.get_current_context().exit(FAILURE)


@store.command(
    epilog=groups.examples(
        "fll store backup backups/lineage-2026-11-21.db",
        "fll store backup backups/latest.db --overwrite --store sqlite:///data/lineage.db",
    )
)
@click.argument("path", metavar="PATH", type=click.Path(dir_okay=False))
@click.option("--store", "url", metavar="URL", help=STORE_HELP)
@click.option("--overwrite", is_flag=True, help="Replace an earlier backup at PATH.")
@click.option(
    "--damaged", is_flag=True, help="Also copy damaged pages, to rescue the rest. Check the copy afterwards."
)
def backup(*, path: str, url: str | None, overwrite: bool, damaged: bool) -> None:
    """Copy the file of a SQLite store, as it is now, to PATH, while readers and writers run.

    PATH appears when it is complete. An HBase table has snapshots (docs/operate/backup.md).
    """
    settings = config.from_environment(store=url)
    with progress_bar(None) as bar:
        size_bytes = back_up(
            settings.store,
            path,
            overwrite=overwrite,
            report=lambda done, pages: bar.update(done, f"{done:,} of {pages:,} pages"),
            damaged=damaged,
        )
    click.echo(escape_control(f"{path}: {size_bytes / 2**20:,.1f} MiB of {settings.store}"))


@store.command(
    epilog=groups.examples(
        "fll store migrate", "fll store migrate --store hbase://localhost:9090/field_level_lineage"
    )
)
@click.option("--store", "url", metavar="URL", help=STORE_HELP)
@format_options(TABLE, JSON, listed=False)
def migrate(*, url: str | None, output_format: str) -> None:
    """Give a store of an earlier release the calendars that queries of this one read.

    End all servers, jobs and other writers of the earlier release first: this release would not find what
    they record later. Servers and jobs of this release refuse the store until the command has ended.

    The command reads all runs once, and deletes nothing. After an interruption, run the same command again.
    It does no harm to a store that is empty or already migrated.
    """
    settings = config.from_environment(store=url)
    with closing(open_store_table(settings, create=False)) as table, progress_bar(None) as bar:
        shown = _Shown(bar)
        report = migration.migrate(
            table, report=lambda kind, rows: shown.show(rows, f"{rows:,} rows read, {kind}")
        )
    if output_format == JSON:
        print_json(report.summary())
    else:
        click.echo(report)


@store.command(
    epilog=groups.examples(
        "fll store check", "fll store check --repair --store hbase://gateway:9090/field_level_lineage"
    )
)
@click.option("--repair", is_flag=True, help="Repair what can be repaired; delete nothing.")
@click.option("--store", "url", metavar="URL", help=STORE_HELP)
@click.option("--summary", metavar="FILE", type=SummaryFile(), help="Also write the report to FILE, as JSON.")
def check(*, repair: bool, url: str | None, summary: Path | None) -> None:
    """Check every row of the store: its references to other rows, and its value against its key.

    Reports what `fll spark check` reports, and repairs what it repairs, without Spark: in one process, with
    temporary files of up to about the size of the store. The exit code is 1 if something is wrong and was not
    repaired. Safe while writers run.
    """
    settings = config.from_environment(store=url)
    if is_in_memory(settings.store):
        raise ConfigurationError(f"{MEMORY_URL} is in memory of one process: name a file")
    with (
        progress_bar(None) as bar,
        naming_damage(settings.store),
        local_auditor(settings, report=_Shown(bar).show) as auditor,
    ):
        report = audit_check.check(auditor, settings, repair=repair)
    print_summary(report.summary(), lambda: str(report), summary)
    if report.errors_left:
        click.get_current_context().exit(FAILURE)


class _Shown:
    """Progress of a command: a bar on a terminal, else an occasional line."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._next_line = time.monotonic() + LINE_SECONDS

    def report(self, number: int, kind: str, rows: int) -> None:
        """Show how many rows pass `number` has compared, and their kind."""
        self.show(rows, f"pass {number}: {rows:,} rows, {kind}")

    def show(self, rows: int, status: str) -> None:
        """Show a status on the bar. Without a terminal print it at most once in LINE_SECONDS."""
        self._bar.update(rows, status)
        if not self._bar.is_shown and time.monotonic() >= self._next_line:
            print_err(f"fll: {status}")
            self._next_line = time.monotonic() + LINE_SECONDS


def _print(report: CopyReport, output_format: str) -> None:
    """Print the report of a copy as JSON, or as a table with a line on whether it is complete."""
    if output_format == JSON:
        print_json(report.summary())
        return
    lines = [
        [name, f"{r.source.rows:,}", f"{r.source.cells:,}", f"{r.source.hash:016x}", f"{r.target.hash:016x}"]
        for name, r in report.kinds.items()
    ]
    print_page(TextTable(_COLUMNS, lines))
    state = "complete" if report.is_complete else "not complete"
    click.echo(f"{state} after {report.passes} passes: {report.put:,} cells put, {report.deleted:,} deleted")
