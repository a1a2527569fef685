"""Lookups in a SQLite file beside long values: in cells, and in a table of their own (decision 120)."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from bench.queries import median_ms
from bench.report import print_figure
from fll_hbase.tables import Put, Table
from fll_hbase.tables.base import Columns
from fll_hbase.tables.sqlite import SqliteTable
from fll_hbase.tables.sqlite_cells import SCHEMA, VERSIONS
from fll_hbase.tables.sqlite_connection import CHECKSUM_BYTES, connect

ROWS = ((2_000, 5_000), (20_000, 2_000), (200_000, 500))
"""Bytes of the long value of each row, and rows."""

ROWS_PER_READ, ROWS_PER_WRITE = 4, 50
SHORT = tuple(b"d:%d" % number for number in range(4))


def bench(sizes: Sequence[int]) -> None:
    """Measure both layouts for each length of values; the sizes of histories play no part."""
    del sizes
    for bytes_of_value, count in ROWS:
        for title, version in (("cells", VERSIONS[1]), ("a table of their own", VERSIONS[2])):
            with tempfile.TemporaryDirectory() as folder:
                _measure(
                    f"values of {bytes_of_value:,} B in {title}", Path(folder), version, bytes_of_value, count
                )


def _measure(title: str, folder: Path, version: int, bytes_of_value: int, count: int) -> None:
    """Print medians of reads of ROWS_PER_READ rows, and the size of the file."""
    path = folder / "values.db"
    if version < VERSIONS[2]:
        _create_without_long_values(path, version)
    chosen = random.Random(0)
    keys = [b"c|%032x" % chosen.getrandbits(128) for _ in range(count)]
    with closing(SqliteTable(str(path))) as table:
        for begin in range(0, count, ROWS_PER_WRITE):
            puts = [
                put
                for key in keys[begin : begin + ROWS_PER_WRITE]
                for put in (
                    *(Put(key, column, bytes(100)) for column in SHORT),
                    Put(key, b"o:op", chosen.randbytes(bytes_of_value)),
                )
            ]
            table.write([puts])
    with closing(SqliteTable(str(path))) as table:
        for cells, columns in (("short cells", (b"d:",)), ("whole rows", ())):
            median = median_ms(partial(_read, table, chosen, keys, columns))
            print_figure(f"{title}: {cells} of {ROWS_PER_READ}, p50", 1_000 * median, "us")
    print_figure(f"{title}: file of {count:,} rows", path.stat().st_size / 2**20, "MiB")


def _read(table: Table, chosen: random.Random, keys: Sequence[bytes], columns: Columns) -> None:
    """Read rows at random."""
    table.rows(chosen.sample(keys, ROWS_PER_READ), columns=columns)


def _create_without_long_values(path: Path, version: int) -> None:
    """Create a file as development versions before 0.1.0 did."""
    with closing(connect(str(path), busy_seconds=1, cache_kib=100)) as connection:
        connection.reserve_bytes(reserve=CHECKSUM_BYTES)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(SCHEMA).fetchall()
        connection.execute("DROP TRIGGER deleted; DROP TRIGGER replaced; DROP TABLE long_values").fetchall()
        connection.execute(f"PRAGMA user_version = {version}")
