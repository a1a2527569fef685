"""The command line `fll`: record and query lineage, load a sample, run jobs. `api.command` adds `serve`."""

from __future__ import annotations

import click

from fll_hbase.cli.error_output import CliGroup, print_err
from fll_hbase.runtime import config, release

_SECTIONS = {
    "Record": {
        "record": "Record a file: documents, events, SQL, a pipeline or dbt",
        "capture": "Record the lineage of PySpark jobs, without changing them",
        "replay": "Send what a program could not send, from its spool",
        "sample": "Load a sample: ninety days of a bank and a hospital",
        "watch": "Documents that a server received recently, and refused ones",
    },
    "Ask": {
        "find": "Datasets and fields by a part of their name",
        "ls": "Namespaces, the datasets of one, the fields of a dataset",
        "dataset": "A dataset: description, first and last run",
        "report": "Reports: readers and derived fields, sources of a field",
        "reach": "Fields that lead to a field or come from it, over many hops",
        "field": "The operations that produced a field, or used it: one hop",
        "lineage": "The fields that a dataset comes from, or that come from it",
        "consumers": "The programs that read a dataset or field",
        "programs": "The programs that wrote or read a dataset, with their runs",
        "runs": "The runs of a dataset, a namespace, or all",
        "run": "All that is recorded about one run",
        "history": "When the way that a field is produced changed",
        "diff": "How a field or dataset is produced now, and was not before",
        "impact": "What a change would change, before it is merged",
        "questions": "Many questions of the REST API, answered together",
        "export": "The runs of a dataset as OpenLineage events",
    },
    "Govern": {
        "tag": "Tags of fields, such as PII: set, remove, list",
        "policy": "How long data may live, and where it must not go",
        "token": "Tokens for programs that use a server",
        "grant": "Rights of users and groups of an identity provider",
    },
    "Run": {
        "serve": "Serve the REST API and the web page",
        "mcp": "Serve queries as tools of an assistant (MCP)",
        "spark": "Jobs on Spark: load, stream, retention, check, export",
        "config": "The settings in effect, with the source of each",
    },
    "Store": {
        "store": "Check, back up, copy or migrate a store",
        "retention": "Delete old runs, and rows that no run references",
        "table": "An HBase table; stored rows of any engine",
    },
}
"""Commands by purpose. The top layer, `api.command`, adds `serve`."""

_SHARED_MODULES = {
    "access": ("token", "grant"),
    "catalogue": ("consumers", "ls", "dataset", "run"),
    "changes": ("history", "diff"),
    "hbase": ("table",),
    "query": ("lineage", "field", "reach", "runs", "programs", "find"),
    "settings": ("config",),
    "tags": ("tag", "policy"),
}
"""Modules of commands that are not named after their command."""

_MODULE_NAMES = {name: module for module, names in _SHARED_MODULES.items() for name in names}
_MODULES = {
    name: f"fll_hbase.cli.commands.{_MODULE_NAMES.get(name, name)}"
    for section in _SECTIONS.values()
    for name in section
    if name != "serve"
}


def _print_version(context: click.Context, _: click.Parameter, is_given: bool) -> None:
    """Print `fll 0.1.0`, with the commit if it is known, and exit."""
    if is_given and not context.resilient_parsing:
        click.echo(f"fll {release.describe_release()}")
        context.exit()


@click.group(
    name="fll",
    cls=CliGroup,
    sections=_SECTIONS,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="""\b
Examples:
  fll sample                                         # something to ask about
  fll find uid                                       # fields of this name
  fll report consumption bank/DailyTransactions.UID  # who read it, made what
  fll report provenance bank/RiskScores.risk_band    # where it comes from
  fll reach bank/RiskScores.risk_band --causal       # the same, hop by hop
  fll serve                                          # the API and the page
""",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Field lineage: which runs produced each field, and from what, in exactly the window of the query.

    A dataset is NS/NAME, a field NS/NAME.FIELD, or each name apart. Commands use a store (--store, default:
    FLL_STORE) or a server (--server, default: FLL_SERVER). Without a window they ask about the last 30 days:
    `--window 2026-11` is a day or month; --start (included) and --end (excluded) are times such as
    `2026-11-01`, `2026-11-01 06:00`, `yesterday`, `now-7d` or epoch seconds, in --timezone.
    """
    for variable, near in config.unknown_variables():
        print_err(f"fll: unknown setting {variable} is ignored; did you mean {near}?")
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
