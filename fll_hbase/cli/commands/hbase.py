"""Make and look at the table of HBase that a store URL names."""

from __future__ import annotations

from collections.abc import Callable

import click

from fll_hbase import config
from fll_hbase.cli.errors import FAILURE
from fll_hbase.cli.render.console import note, show
from fll_hbase.cli.render.text_table import Sheet
from fll_hbase.tables import hbase_schema, hbase_url
from fll_hbase.tables.factory import hbase_engine
from fll_hbase.tables.hbase_schema import FOREVER_SECONDS, Family

_COLUMNS = ("family", "versions", "time to live", "bloom filter", "block cache", "compression")
_store = click.option(
    "--store", metavar="URL", help=f"URL of the table, such as {hbase_url.FORM}; by default FLL_STORE."
)


def _compression(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--compression",
        type=click.Choice(hbase_schema.COMPRESSIONS),
        default=default,
        show_default=True,
        help="Of both families; the region servers must have it.",
    )


@click.group(
    epilog="""\b
Examples:
  fll table ddl --store hbase://localhost:9090/field_level_lineage | hbase shell -n
  fll table describe --store hbase://localhost:9090/field_level_lineage
""",
)
def table() -> None:
    """The table of an HBase store; a SQLite store needs none of this."""


@table.command(
    epilog="""\b
Example:
  fll table create --store hbase://localhost:9090/field_level_lineage
""",
)
@_store
@_compression("NONE")
@click.option("--if-missing", is_flag=True, help="Where the table is there already, leave it as it is.")
def create(*, store: str | None, compression: str, if_missing: bool) -> None:
    """Make the table through a gateway: one region, which HBase splits as it grows.

    A large platform makes it with the statement of `fll table ddl`, split and encoded from the start.
    """
    place = _place(store)
    if hbase_engine().create(place, compression=compression):
        click.echo(f"{place.table} is made. `fll serve` and `fll sample` can use it.")
        return
    click.echo(f"{place.table} is there already; `fll table describe` tells of it.", err=not if_missing)
    if not if_missing:
        click.get_current_context().exit(FAILURE)


@table.command(
    epilog="""\b
Example:
  fll table describe --store hbase://localhost:9090/field_level_lineage
""",
)
@_store
def describe(*, store: str | None) -> None:
    """Tell the column families, and the statement that mends what is wrong; exit code 1 where that must be.

    Regions and data block encoding are not told: no gateway knows them.
    """
    place = _place(store)
    found = hbase_engine().describe(place)
    show(Sheet(_COLUMNS, [_row(family) for _, family in sorted(found.items())]))
    if slow := hbase_schema.advice(found):
        note(f"Reading would be faster after: {hbase_schema.alter_statement(place.table, slow)}")
    if wrong := hbase_schema.mending(found):
        note(f"Lineage would be lost; mend it first: {hbase_schema.alter_statement(place.table, wrong)}")
        click.get_current_context().exit(FAILURE)


@table.command(
    epilog="""\b
Example:
  fll table ddl --store hbase://localhost:9090/field_level_lineage --compression ZSTD | hbase shell -n
""",
)
@_store
@_compression(hbase_schema.COMPRESSION)
def ddl(*, store: str | None, compression: str) -> None:
    """Print the statement for the HBase shell that makes the table, split and encoded."""
    click.echo(hbase_schema.create_statement(_place(store).table, compression=compression))


def _place(store: str | None) -> hbase_url.Place:
    return hbase_url.parsed(config.from_environment(store=store).store)


def _row(family: Family) -> list[str]:
    expiry = "forever" if family.ttl_seconds == FOREVER_SECONDS else f"{family.ttl_seconds} s"
    cached = "yes" if family.block_cache else "no"
    return [family.name, str(family.versions), expiry, family.bloom_filter, cached, family.compression]
