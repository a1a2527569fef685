"""`fll ls`, `fll dataset`, `fll run` and `fll consumers`: the catalogue, a run, and readers of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fll_hbase.cli import groups
from fll_hbase.cli.empty_answers import last_run_note, programs_note
from fll_hbase.cli.name_arguments import Reading
from fll_hbase.cli.options import (
    RUN,
    Target,
    catalogue_arguments,
    current_zone,
    dataset_arguments,
    dataset_or_field_arguments,
    limit_option,
    target_options,
    window_options,
    zone_option,
)
from fll_hbase.cli.output import (
    CSV,
    JSON,
    TABLE,
    format_options,
    print_answer,
    shows_checksums,
    verbose_option,
)
from fll_hbase.cli.render import listings
from fll_hbase.client.answers import TableAnswer
from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.errors import NotFound

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection


@groups.command(
    "fll consumers bank/DailyTransactions.UID", "fll consumers bank DailyTransactions --start now-7d --failed"
)
@dataset_or_field_arguments
@window_options
@click.option("--failed", is_flag=True, help="Include failed and aborted runs.")
@target_options
@format_options(TABLE, JSON, CSV)
def consumers(
    *,
    namespace: str,
    name: str,
    field: str,
    window: WindowText,
    failed: bool,
    target: Target,
    output_format: str,
) -> None:
    """List the programs that read a dataset, or one field of it, newest run first."""
    with target.open() as client:
        answer = client.programs(
            namespace,
            name,
            field=field,
            start=window.start,
            end=window.end,
            direction="forward",
            failed=failed,
        )
        dataset = Dataset(namespace, name)
        note = last_run_note(client, dataset, window, output_format) if not answer.rows else ""
    subject = str(Reading(namespace, name, field))
    print_answer(
        answer,
        output_format,
        table=lambda: listings.consumers_page(answer.rows, subject, window.answered(answer.window), note),
        note=programs_note(answer.body, listed=failed),
    )


@groups.command("fll ls", "fll ls bank", "fll ls bank/DailyTransactions")
@catalogue_arguments
@limit_option
@zone_option
@target_options
@format_options(TABLE, JSON, CSV)
def ls(*, namespace: str, name: str, limit: int, target: Target, output_format: str) -> None:
    """List the namespaces, the datasets of NS, or the fields of NS/NAME."""
    zone = current_zone().key
    with target.open() as client:
        answer = _list(client, namespace, name, limit)
    print_answer(answer, output_format, table=lambda: listings.names_table(answer, zone))


def _list(client: Connection, namespace: str, name: str, limit: int) -> TableAnswer[Any]:
    """Return a dataset's fields, a namespace's datasets (raises NotFound without any) or all namespaces."""
    if name:
        return client.fields(namespace, name, limit=limit)
    if not namespace:
        return client.namespaces(limit=limit)
    answer = client.datasets(namespace, limit=limit)
    # The API returns an empty list for an unknown namespace, since datasets may have any namespace.
    if not answer.rows:
        raise NotFound(f"namespace {namespace!r} not found: no dataset is in it")
    return answer


@groups.command("fll dataset bank/DailyTransactions")
@dataset_arguments
@zone_option
@target_options
@format_options(TABLE, JSON, listed=False)
def dataset(*, namespace: str, name: str, target: Target, output_format: str) -> None:
    """Show what is known about a dataset: description, number of fields, its first and last run."""
    zone = current_zone().key
    with target.open() as client:
        answer = client.dataset(namespace, name)
    print_answer(answer, output_format, table=lambda: listings.dataset_page(answer.body, zone))


@groups.command("fll run 0b956c1f-6ee9-50a7-bb53-894b4d78385f")
@click.argument("run", metavar="ID", type=RUN)
@zone_option
@verbose_option
@target_options
@format_options(TABLE, JSON)
def run(*, run: str, target: Target, output_format: str) -> None:
    """Show all that is recorded about one run: its program, state, datasets and operations."""
    zone = current_zone().key
    with target.open() as client:
        answer = client.run(run)
    print_answer(
        answer, output_format, table=lambda: listings.run_page(answer.body, zone, checksums=shows_checksums())
    )
