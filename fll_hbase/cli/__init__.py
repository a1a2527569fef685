"""The command line: record lineage, ask about it, try it with a sample, serve it."""

from __future__ import annotations

import click

from fll_hbase.cli.commands import export, hbase, query, record, sample, serve
from fll_hbase.cli.commands.spark import group
from fll_hbase.cli.errors import OneLineErrors


@click.group(
    name="fll",
    cls=OneLineErrors,
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
    """Field lineage: who made each field, from what, in exactly the window asked about.

    Questions and records go to a store (--store, by default that of FLL_STORE) or to a server (--server).
    Times are epoch seconds or sums such as `now-7d`; START is included, END is not.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for _command in (
    *query.COMMANDS,
    record.record,
    export.export,
    sample.sample,
    serve.serve,
    group.spark,
    hbase.table,
):
    main.add_command(_command)
