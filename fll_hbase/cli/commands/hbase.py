"""`fll table`: create and check the HBase table of a store, and print stored rows of any engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any
from urllib.parse import quote_from_bytes

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE, print_err
from fll_hbase.cli.options import current_zone, zone_option
from fll_hbase.cli.output import JSON, TABLE, format_options, print_page
from fll_hbase.cli.render.aligned_rows import StoredRows, row_json, row_lines
from fll_hbase.cli.render.console import print_json
from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.keys.row_kinds import EVERYTHING
from fll_hbase.runtime import config
from fll_hbase.runtime.escape import escape_control
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows.row_view import view_row
from fll_hbase.tables import Row, Table, hbase_schema, hbase_url
from fll_hbase.tables.factory import import_hbase
from fll_hbase.tables.hbase_schema import FOREVER_SECONDS, Family

_COLUMNS = ("family", "versions", "time to live", "bloom filter", "block cache", "compression")
ROWS_DEFAULT, ROWS_MAX = 100, 10_000
PAGE_ROWS = 10
"""Rows per call; the number is low because each content may have megabytes."""

# All characters of keys: separators, escapes, packed runs and characters that are not escaped.
_KEY_CHARACTERS = "|%+-/:@=,"
_RAW_BYTE = re.compile(rb"\\x([0-9a-f]{2})")
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


@table.command(
    epilog=groups.examples(
        "fll table scan", "fll table scan 'b|bank|Statements' --limit 20", "fll table scan 'r|' --format json"
    )
)
@click.argument("prefix", metavar="[PREFIX]", default="")
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option(
    "--limit",
    metavar="COUNT",
    type=click.IntRange(1, ROWS_MAX),
    default=ROWS_DEFAULT,
    show_default=True,
    help="Maximum number of rows.",
)
@click.option("--after", "last", metavar="KEY", default="", help="Only rows after this key.")
@zone_option
@format_options(TABLE, JSON)
def scan(*, prefix: str, store: str | None, limit: int, last: str, output_format: str) -> None:
    """Print the rows of a store whose keys begin with PREFIX, as docs/reference/row-keys.md writes them.

    Each row is its key, its kind and what the key names, and a line for each of its first cells: when it was
    put, its column, and its value, decoded and cut. Unreadable parts are printed as they are, and marked.
    """
    settings = config.from_environment(store=store)
    with closing(open_store_table(settings, create=False)) as table:
        rows = _rows(table, _key(prefix), _key(last))
        # Decode each row at once, because rows may have megabytes, unlike their views.
        views = [view_row(key, row) for key, row in islice(rows, limit)]
        following = views[-1].key if next(rows, None) is not None else ""
    advice = f"fll: {limit} rows of more; continue with --after '{following}'"
    more = [escape_control(advice)] if following else []
    if output_format == JSON:
        body: dict[str, Any] = {"rows": [row_json(view) for view in views]}
        print_json(body | ({"after": following} if following else {}))
    elif views:
        zone = current_zone().key
        print_page(StoredRows([list(row_lines(view, zone)) for view in views], zone), *more)
    else:
        print_err("fll: no rows")
    for line in more:
        # On standard error, so that the rows stay parseable.
        print_err(line)


def _rows(table: Table, prefix: bytes, last: bytes) -> Iterator[tuple[bytes, Row]]:
    """Yield the rows with a prefix ("" for all), after the key `last` unless it is empty."""
    start = max(prefix, last + b"\x00") if last else prefix
    stop = prefix + b"\xff" if prefix else EVERYTHING[1]
    while start < stop:
        page = list(table.scan(start, stop, limit=PAGE_ROWS))
        yield from page
        if len(page) < PAGE_ROWS:
            return
        start = page[-1][0] + b"\x00"


def _key(text: str) -> bytes:
    r"""Return the bytes of a key, or of its beginning, from text as typed or as `to_text` writes it.

    In a text with `\xNN`, these are bytes, and the rest is unchanged. In others, all but ASCII letters,
    digits, `.`, `_`, `~` and _KEY_CHARACTERS is percent-encoded.
    """
    # Names may be typed as they are, except the separator and `%`, which begins an escape.
    typed = text.encode("utf-8", "surrogateescape")
    if _RAW_BYTE.search(typed):
        return _RAW_BYTE.sub(lambda match: bytes([int(match[1], 16)]), typed)
    return quote_from_bytes(typed, safe=_KEY_CHARACTERS).encode()


def _hbase_url(store: str | None) -> hbase_url.HBaseUrl:
    return hbase_url.parse_url(config.from_environment(store=store).store)


def _row(family: Family) -> list[str]:
    """Return the row of a column family in the table of `describe`."""
    expiry = "forever" if family.ttl_seconds == FOREVER_SECONDS else f"{family.ttl_seconds} s"
    cached = "yes" if family.block_cache else "no"
    return [family.name, str(family.versions), expiry, family.bloom_filter, cached, family.compression]
