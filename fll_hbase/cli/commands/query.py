"""Query commands, with the parameters and defaults of the REST contract."""

from __future__ import annotations

from collections.abc import Callable

import click
from rich.console import RenderableType

from fll_hbase.cli.options import (
    NAME,
    Command,
    dataset_arguments,
    open_target,
    target_options,
    window_options,
)
from fll_hbase.cli.render import console, tables, tree
from fll_hbase.client import Answer, FieldQuery, LineageQuery, WindowText
from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset, DatasetField

_json = click.option("--json", "as_json", is_flag=True, help="Print the JSON of the API.")
_limit = click.option(
    "--limit",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=Settings().list_limit,
    show_default=True,
    help="Maximum number of results.",
)
_failed = click.option("--failed", is_flag=True, help="Include failed and aborted runs.")
_indirect = click.option(
    "--indirect/--no-indirect",
    default=True,
    show_default=True,
    help="Include indirect dependencies, such as filters and joins.",
)


def _directions(*words: str) -> Callable[[Command], Command]:
    return click.option("--direction", type=click.Choice(words), default=words[0], show_default=True)


@click.command(
    epilog="""\b
Examples:
  fll lineage bank DailyTransactions --direction forward --level 5
  fll lineage myns mytableds --start now-90d --json
""",
)
@dataset_arguments
@click.option(
    "--level",
    metavar="HOPS",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Maximum number of hops in each direction.",
)
@_directions("both", "backward", "forward")
@window_options
@_indirect
@_failed
@target_options
@_json
def lineage(
    *,
    namespace: str,
    name: str,
    level: int,
    direction: str,
    window: WindowText,
    indirect: bool,
    failed: bool,
    store: str | None,
    server: str | None,
    as_json: bool,
) -> None:
    """Show which fields of other datasets produce the fields of NAME, and which are produced from them."""
    query = LineageQuery(Dataset(namespace, name), window, level, direction, indirect, failed)
    with open_target(store, server) as client:
        answer = client.lineage(query)
    _print(answer, lambda: tables.lineage_tables(answer.body, query), as_json=as_json)


@click.command(
    epilog="""\b
Examples:
  fll field hospital PatientRecords patient_medical_score
  fll field bank DailyTransactions UID --direction forward --view simple
""",
)
@dataset_arguments
@click.argument("field", metavar="FIELD", type=NAME)
@_directions("backward", "forward")
@click.option("--view", type=click.Choice(("detailed", "simple")), default="detailed", show_default=True)
@window_options
@_indirect
@_failed
@target_options
@_json
def field(
    *,
    namespace: str,
    name: str,
    field: str,
    direction: str,
    view: str,
    window: WindowText,
    indirect: bool,
    failed: bool,
    store: str | None,
    server: str | None,
    as_json: bool,
) -> None:
    """Show the operations that produced FIELD (backward), or that used it (forward): one hop."""
    dataset_field = DatasetField(Dataset(namespace, name), field)
    query = FieldQuery(dataset_field, window, direction, view, indirect, failed)
    with open_target(store, server) as client:
        answer = client.field(query)
    _print(answer, lambda: tree.field_tree(answer.body, query), as_json=as_json)


@click.command(
    epilog="""\b
Example:
  fll runs bank DailyTransactions --start now-1d
""",
)
@dataset_arguments
@window_options
@_limit
@target_options
@_json
def runs(
    *,
    namespace: str,
    name: str,
    window: WindowText,
    limit: int,
    store: str | None,
    server: str | None,
    as_json: bool,
) -> None:
    """List the runs that read or wrote NAME, failed ones included, newest first."""
    with open_target(store, server) as client:
        answer = client.runs(Dataset(namespace, name), window, limit=limit)
    _print(answer, lambda: tables.runs_table(answer.body, window), as_json=as_json)


@click.command(
    epilog="""\b
Example:
  fll find uid
""",
)
@click.argument("text", metavar="TEXT", type=NAME)
@_limit
@target_options
@_json
def find(*, text: str, limit: int, store: str | None, server: str | None, as_json: bool) -> None:
    """Find datasets and fields whose names contain TEXT, in any case."""
    with open_target(store, server) as client:
        answer = client.find(text, limit=limit)
    _print(answer, lambda: tables.search_table(answer.body, text), as_json=as_json)


def _print(answer: Answer, render: Callable[[], RenderableType], *, as_json: bool) -> None:
    # Rendered only if it is printed: an answer may have a quarter of a million rows.
    if as_json:
        console.print_json(answer.body)
    else:
        console.print_renderable(render())
    # On standard error, so that standard output stays parseable, with exit code 0: the answer is usable.
    if answer.incomplete:
        console.print_err(f"fll: not complete: {answer.incomplete}.")


COMMANDS = (lineage, field, runs, find)
