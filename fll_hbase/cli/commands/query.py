"""The questions of the command line, in the words and with the defaults of the REST contract."""

from __future__ import annotations

from collections.abc import Callable

import click
from rich.console import RenderableType

from fll_hbase.cli.options import (
    NAME,
    Command,
    WindowText,
    end_point_arguments,
    place_options,
    window_options,
)
from fll_hbase.cli.render import console, tables, tree
from fll_hbase.client import factory
from fll_hbase.client.queries import Answer, FieldAsked, LineageAsked
from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset, DatasetField

LIMIT = Settings().list_limit

_json = click.option("--json", "as_json", is_flag=True, help="Print what the API answers.")
_limit = click.option(
    "--limit",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    help="How many at most.",
)
_failed = click.option("--failed", is_flag=True, help="Count failed and aborted runs too.")
_indirect = click.option(
    "--indirect/--no-indirect",
    default=True,
    show_default=True,
    help="Show what shaped rows and groups, not values.",
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
@end_point_arguments
@click.option(
    "--level",
    metavar="HOPS",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How far to go each way.",
)
@_directions("both", "backward", "forward")
@window_options
@_indirect
@_failed
@place_options
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
    """Which fields of which end points made which: those before and after NAME, many hops each way."""
    asked = LineageAsked(Dataset(namespace, name), window, level, direction, indirect, failed)
    with factory.opened(store, server) as side:
        answer = side.lineage(asked)
    _show(answer, lambda: tables.lineage(answer.body, asked), as_json=as_json)


@click.command(
    epilog="""\b
Examples:
  fll field hospital PatientRecords patient_medical_score
  fll field bank DailyTransactions UID --direction forward --view simple
""",
)
@end_point_arguments
@click.argument("field", metavar="FIELD", type=NAME)
@_directions("backward", "forward")
@click.option("--view", type=click.Choice(("detailed", "simple")), default="detailed", show_default=True)
@window_options
@_indirect
@_failed
@place_options
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
    """By which operations FIELD was made, or what was made of it: one hop."""
    of = DatasetField(Dataset(namespace, name), field)
    asked = FieldAsked(of, window, direction, view, indirect, failed)
    with factory.opened(store, server) as side:
        answer = side.field(asked)
    _show(answer, lambda: tree.field(answer.body, asked), as_json=as_json)


@click.command(
    epilog="""\b
Example:
  fll runs bank DailyTransactions --start now-1d
""",
)
@end_point_arguments
@window_options
@_limit
@place_options
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
    """Every run that read or wrote NAME, failed ones too, newest first."""
    with factory.opened(store, server) as side:
        answer = side.runs(Dataset(namespace, name), window, limit=limit)
    _show(answer, lambda: tables.runs(answer.body, window), as_json=as_json)


@click.command(
    epilog="""\b
Example:
  fll find uid
""",
)
@click.argument("text", metavar="TEXT", type=NAME)
@_limit
@place_options
@_json
def find(*, text: str, limit: int, store: str | None, server: str | None, as_json: bool) -> None:
    """End points and fields whose names hold TEXT, in any case."""
    with factory.opened(store, server) as side:
        answer = side.find(text, limit=limit)
    _show(answer, lambda: tables.found(answer.body, text), as_json=as_json)


def _show(answer: Answer, rendered: Callable[[], RenderableType], *, as_json: bool) -> None:
    if as_json:
        console.show_json(answer.body)
    else:
        console.show(rendered())
    if answer.bound:
        console.note(f"fll: not complete: {answer.bound}.")


COMMANDS = (lineage, field, runs, find)
