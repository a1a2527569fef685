"""Stores of each engine for tests: files and memory for SQLite, a real cluster for HBase."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import count

import happybase

from fll_hbase.tables import hbase, hbase_url

ENGINES = ("sqlite", "hbase")
ROWS_DELETED_MAX = 1_000
"""Deleted in one call. A gateway on a slow machine does not delete ten thousand rows in its time."""
CLEAR_SECONDS = 0.005
"""A delete hides puts of the same millisecond."""


class Hbase:
    """A running HBase, and tables in it for tests."""

    def __init__(self, gateways: str) -> None:
        """`gateways` is `host:port[,host:port]`."""
        self.gateways = gateways
        self._prefix = f"test_{time.time_ns():x}"
        self._numbers = count()
        self._emptied: list[str] = []

    @property
    def target(self) -> hbase_url.HBaseUrl:
        """Its gateways, and a table that need not be there."""
        return hbase_url.parse_url(self.url("any"))

    def url(self, table: str) -> str:
        return f"hbase://{self.gateways}/{table}"

    def unused(self) -> str:
        """The URL of a table that is not there."""
        return self.url(f"{self._prefix}_{next(self._numbers)}")

    def fresh(self) -> str:
        """The URL of a table that was never used."""
        url = self.unused()
        self.make(url)
        return url

    def make(self, url: str) -> None:
        assert hbase.create(hbase_url.parse_url(url), compression="NONE")

    def drop(self, url: str) -> None:
        target = hbase_url.parse_url(url)
        with closing(happybase.Connection(*target.gateways[0])) as connection:
            connection.delete_table(target.table, disable=True)

    def emptied(self, number: int = 0) -> str:
        """The URL of a table without rows, by number the same while it has few: making one takes a second."""
        while len(self._emptied) <= number:
            self._emptied.append(self.fresh())
        url = self._emptied[number]
        target = hbase_url.parse_url(url)
        with closing(happybase.Connection(*target.gateways[0])) as connection:
            table = connection.table(target.table)
            rows = table.scan(filter="KeyOnlyFilter()", limit=ROWS_DELETED_MAX + 1)
            keys = [key for key, _ in rows]
            with table.batch() as batch:
                for key in keys:
                    batch.delete(key)
        if len(keys) > ROWS_DELETED_MAX:
            self.drop(url)
            self._emptied[number] = self.fresh()
        time.sleep(CLEAR_SECONDS if keys else 0)
        return self._emptied[number]
