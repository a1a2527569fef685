"""Apps for golden requests: over the sample, over a store made to be hard, and over others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from flask import Flask

from api import create_app
from fll_hbase.model.access import Grant, Role
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.sample import load
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.tables import Put, Table
from fll_hbase.tables.sqlite import SqliteTable
from tests.support.golden_http import GOLDEN, GoldenFile, read_file
from tests.support.sealing import seal_all

SHARED = ("sample", "hard")
"""Stores that no file changes."""

NOW_MS = 1_760_000_000_000
"""2025-10-09T08:53:20Z: the end of the sample, and the time of requests."""

PURGED_MS = 1_751_328_000_000
"""2025-07-01: runs of these datasets that started before are deleted from the hard store."""

PURGED = (Dataset("open", "archive"), Dataset("open", "archive_in"))

GRANTS = {
    "reader": [Grant(Role.READER, "open*"), Grant(Role.READER, "odd*")],
    "recorder": [Grant(Role.RECORDER, "open")],
    "steward": [Grant(Role.STEWARD, "open*"), Grant(Role.RECORDER, "open*")],
    "admin": [Grant(Role.ADMIN, "*")],
    "expired": [Grant(Role.ADMIN, "*")],
}
"""What the tokens allow that requests name as `<reader>` and so on."""


class FailingTable(SqliteTable):
    """A table whose every call raises an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(":memory:")
        self._error = error

    def rows(self, *_: Any, **__: Any) -> Any:
        """Raise the error."""
        raise self._error

    scan = scan_many = write = rows


class Clock:
    """The time of all requests, in milliseconds since 1970."""

    def __init__(self) -> None:
        self._ms = NOW_MS

    def __call__(self) -> int:
        return self._ms

    @contextmanager
    def showing(self, time: str) -> Iterator[None]:
        """Show another time, in ISO 8601; "" changes nothing."""
        self._ms = int(datetime.fromisoformat(time).timestamp() * 1000) if time else NOW_MS
        try:
            yield
        finally:
            self._ms = NOW_MS


class GoldenStores:
    """Apps by what a file says that its requests are sent to. Stores that files share are made once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._opened: list[Table] = []
        self._tables: dict[str, Table] = {}
        self._apps: dict[str, Flask] = {}
        self.tokens: dict[str, str] = {}

    def answers(self, golden: GoldenFile) -> GoldenFile:
        """The file with the answers of its app. Requests to an `empty` store follow each other."""
        app = self.app(golden)
        with self._clock.showing(golden.about.get("Now", "")):
            return golden.answered(app, self.tokens)

    def app(self, golden: GoldenFile) -> Flask:
        """The app of a file; files that only read one store with the default settings share it."""
        store, settings = golden.about["Store"], golden.about.get("Settings", "")
        if settings or store not in SHARED:
            return self._app(store, settings)
        if store not in self._apps:
            self._apps[store] = self._app(store, settings)
        return self._apps[store]

    def close(self) -> None:
        for table in self._opened:
            table.close()

    def _app(self, store: str, settings: str) -> Flask:
        # A busy machine changes no answer.
        values: dict[str, Any] = {"request_seconds": 600}
        for pair in settings.split():
            name, _, value = pair.partition("=")
            values[name] = int(value) if value.isdigit() else value
        config = Settings(**values)
        return create_app(LineageStore(self._table(store), config, clock=self._clock), config)

    def _table(self, store: str) -> Table:
        if store in self._tables:
            return self._tables[store]
        make: Callable[[], Table] = getattr(self, f"_{store}")
        table = make()
        if store in SHARED:
            self._tables[store] = table
        return table

    def _empty(self) -> Table:
        self._opened.append(SqliteTable(":memory:"))
        return self._opened[-1]

    def _away(self) -> Table:
        self._opened.append(FailingTable(StoreUnavailable("the table is away")))
        return self._opened[-1]

    def _broken(self) -> Table:
        self._opened.append(FailingTable(RuntimeError("of the inside, which no answer may show")))
        return self._opened[-1]

    def _corrupt(self) -> Table:
        """The hard store with other values in all of its columns."""
        table = self._purged()
        cells = ((row, column) for row, columns in table.scan(b"", b"\xff") for column in columns)
        table.write([[Put(row, column, b"\xffno value")] for row, column in list(cells)])
        return table

    def _sample(self) -> Table:
        table = self._empty()
        load(LineageStore(table, clock=self._clock), NOW_MS)
        return table

    def _hard(self) -> Table:
        """The store that hard/store.txt records, after a purge, with tokens."""
        table = self._purged()
        for name, grants in GRANTS.items():
            # Expired long ago on any clock: whoever checks a token does not ask this one.
            expiry, clock = (1, lambda: 0) if name == "expired" else (None, self._clock)
            access = LineageStore(table, clock=clock).access
            _, secret = access.create_token(name, grants, lifetime_ms=expiry)
            self.tokens[name] = secret.text()
        return table

    def _purged(self) -> Table:
        table = self._empty()
        golden = read_file(GOLDEN / "hard" / "store.txt")
        with self._clock.showing(golden.about["Now"]):
            golden.answered(create_app(LineageStore(table, clock=self._clock)), {})
        policy = RetentionPolicy(datasets_ms=dict.fromkeys(PURGED, PURGED_MS))
        garbage_collection.purge(table, policy, until_ms=NOW_MS, grace_ms=0)
        garbage = garbage_collection.find_garbage(table, policy, until_ms=NOW_MS)
        garbage_collection.remove(table, garbage, policy, until_ms=NOW_MS)
        # As questions would in the background, sooner or later.
        seal_all(table)
        return table
