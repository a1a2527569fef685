"""The command line `fll`: record and query lineage, load a sample, run jobs. `api.command` adds `serve`."""

from __future__ import annotations

import click

from fll_hbase.cli.commands import (
    access,
    catalogue,
    changes,
    export,
    hbase,
    query,
    questions,
    reach,
    record,
    replay,
    report,
    retention,
    sample,
    store,
    tags,
    watch,
)
from fll_hbase.cli.commands.capture import capture
from fll_hbase.cli.commands.spark import spark
from fll_hbase.cli.error_output import CliGroup
from fll_hbase.cli.render.console import print_err
from fll_hbase.runtime import config


@click.group(
    name="fll",
    cls=CliGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="""\b
Examples:
  fll sample
  fll lineage bank DailyTransactions --direction forward --level 5
  fll field hospital PatientRecords patient_medical_score
  fll serve
""",
)
@click.version_option(package_name="fll-hbase")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Field lineage: which runs produced each field, and from what, in exactly the window of the query.

    Commands use a store (--store, default: FLL_STORE) or a server (--server, default: FLL_SERVER).
    Times are `2026-11-01`, `2026-11`, `2026-11-01 06:00`, `yesterday`, epoch seconds or sums such as
    `now-7d`, in --timezone; a day or month is its beginning. The start is included, the end is not.
    """
    for variable, near in config.unknown_variables():
        print_err(f"fll: {variable} is no setting, and ignored; did you mean {near}?")
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for _command in (
    *query.COMMANDS,
    questions.questions,
    reach.reach,
    report.report,
    *changes.COMMANDS,
    *catalogue.COMMANDS,
    *tags.COMMANDS,
    *access.COMMANDS,
    record.record,
    replay.replay,
    watch.watch,
    export.export,
    sample.sample,
    retention.retention,
    spark,
    capture,
    store.store,
    hbase.table,
):
    main.add_command(_command)
