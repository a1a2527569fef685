"""`fll table scan`: print stored rows of any engine in readable form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any
from urllib.parse import quote_from_bytes

import click

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import current_zone, zone_option
from fll_hbase.cli.output import JSON, TABLE, format_options, print_page
from fll_hbase.cli.render.aligned_rows import StoredRows, row_json, row_lines
from fll_hbase.cli.render.console import print_json
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.keys.row_kinds import EVERYTHING
from fll_hbase.runtime import config
from fll_hbase.runtime.escape import escape_control
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows.row_view import view_row
from fll_hbase.tables import Row, Table

ROWS_DEFAULT, ROWS_MAX = 100, 10_000
PAGE_ROWS = 10
"""Rows per call; the number is low because each content may have megabytes."""

# All characters of keys: separators, escapes, packed runs and characters that are not escaped.
_KEY_CHARACTERS = "|%+-/:@=,"
_RAW_BYTE = re.compile(rb"\\x([0-9a-f]{2})")


@groups.command(
    "fll table scan", "fll table scan 'b|bank|Statements' --limit 20", "fll table scan 'r|' --format json"
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
    """Yield the rows with a prefix, a page at a time, after the key `last`."""
    start = max(prefix, last + b"\x00") if last else prefix
    stop = prefix + b"\xff" if prefix else EVERYTHING[1]
    while start < stop:
        page = list(table.scan(start, stop, limit=PAGE_ROWS))
        yield from page
        if len(page) < PAGE_ROWS:
            return
        start = page[-1][0] + b"\x00"


def _key(text: str) -> bytes:
    """Return a key, or the beginning of one, as typed or as `to_text` writes it."""
    # Names may be typed as they are, except the separator and `%`, which begins an escape.
    typed = text.encode("utf-8", "surrogateescape")
    if _RAW_BYTE.search(typed):
        return _RAW_BYTE.sub(lambda match: bytes([int(match[1], 16)]), typed)
    return quote_from_bytes(typed, safe=_KEY_CHARACTERS).encode()
