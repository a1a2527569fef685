"""`fll table`: create and check the HBase table of a store."""

from __future__ import annotations

from collections.abc import Callable

import click

from fll_hbase.cli import groups
from fll_hbase.cli.commands.table_scan import scan
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.output import print_page
from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.runtime import config
from fll_hbase.tables import hbase_schema, hbase_url
from fll_hbase.tables.factory import import_hbase
from fll_hbase.tables.hbase_schema import FOREVER_SECONDS, Family

_COLUMNS = ("family", "versions", "time to live", "bloom filter", "block cache", "compression")
_store = click.option(
    "--store", metavar="URL", help=f"URL of the table, such as {hbase_url.FORM} (default: FLL_STORE)."
)


# `create` defaults to NONE, since a cluster may lack the libraries of a codec. An operator reviews `ddl`.
def _compression(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds --compression with this default."""
    return click.option(
        "--compression",
        type=click.Choice(hbase_schema.COMPRESSIONS),
        default=default,
        show_default=True,
        help="Compression of both families; the region servers must have its codec.",
    )


@groups.group(
    "fll table ddl --store hbase://localhost:9090/field_level_lineage | hbase shell -n",
    "fll table describe --store hbase://localhost:9090/field_level_lineage",
)
def table() -> None:
    """Create and check the table of an HBase store, and look inside a store of any engine."""


@table.command(epilog=groups.examples("fll table create --store hbase://localhost:9090/field_level_lineage"))
@_store
@_compression("NONE")
@click.option("--if-missing", is_flag=True, help="Succeed without a change if the table exists.")
def create(*, store: str | None, compression: str, if_missing: bool) -> None:
    """Create the table through a gateway, with one region, which HBase splits as it grows.

    A large platform creates it with the statement of `fll table ddl`, split and encoded from the start.
    """
    url = _hbase_url(store)
    # happybase is an extra, and `import_hbase` reports its absence with the command that installs it.
    if import_hbase().create(url, compression=compression):
        click.echo(f"{url.table} is created. `fll serve` and `fll sample` can use it.")
        return
    click.echo(f"{url.table} exists already; `fll table describe` shows it.", err=not if_missing)
    if not if_missing:
        click.get_current_context().exit(FAILURE)


@table.command(
    epilog=groups.examples("fll table describe --store hbase://localhost:9090/field_level_lineage")
)
@_store
def describe(*, store: str | None) -> None:
    """Show the column families and the statement that corrects them; exit code 1 if lineage would be lost.

    Regions and data block encoding are not shown: gateways do not report them.
    """
    url = _hbase_url(store)
    families = import_hbase().describe(url)
    print_page(TextTable(_COLUMNS, [_row(family) for _, family in sorted(families.items())]))
    if slow := hbase_schema.suggestions(families):
        print_err(f"Reading would be faster after: {hbase_schema.alter_statement(url.table, slow)}")
    # More versions restore deleted cells, and expiry loses lineage (decision 0011).
    if wrong := hbase_schema.required_fixes(families):
        print_err(
            f"Lineage would be lost; correct it first: {hbase_schema.alter_statement(url.table, wrong)}"
        )
        click.get_current_context().exit(FAILURE)


@table.command(
    epilog=groups.examples(
        "fll table ddl --store hbase://localhost:9090/field_level_lineage --compression ZSTD | hbase shell -n"
    )
)
@_store
@_compression(hbase_schema.COMPRESSION)
def ddl(*, store: str | None, compression: str) -> None:
    """Print the HBase shell statement that creates the table, split and encoded."""
    click.echo(hbase_schema.create_statement(_hbase_url(store).table, compression=compression))


table.add_command(scan)


def _hbase_url(store: str | None) -> hbase_url.HBaseUrl:
    return hbase_url.parse_url(config.from_environment(store=store).store)


def _row(family: Family) -> list[str]:
    """Return the row of a column family in the table of `describe`."""
    expiry = "forever" if family.ttl_seconds == FOREVER_SECONDS else f"{family.ttl_seconds} s"
    cached = "yes" if family.block_cache else "no"
    return [family.name, str(family.versions), expiry, family.bloom_filter, cached, family.compression]
