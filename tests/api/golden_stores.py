"""What golden requests are sent to: apps over the sample, over a store made to be hard, and others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from golden_http import GOLDEN, GoldenFile, read_file

from api import create_app
from fll_hbase.config import Settings
from fll_hbase.errors import StoreUnavailable
from fll_hbase.model.access import Grant, Role
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.sample import load
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.tables import Table
from fll_hbase.tables.sqlite import SqliteTable

Json = dict[str, Any]

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


class AwayTable(SqliteTable):
    """A table that does not answer."""

    def rows(self, *_: Any, **__: Any) -> Any:
        """Raise StoreUnavailable."""
        raise StoreUnavailable("the table is away")


class Clock:
    """The time of all requests, in milliseconds since 1970."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


class GoldenStores:
    """Apps by what a file says that its requests are sent to. Stores that files share are made once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tables: dict[str, Table] = {}
        self.tokens: dict[str, str] = {}

    def answers(self, golden: GoldenFile) -> GoldenFile:
        """The file with the answers of its app; the requests of one file to an `empty` store follow each other."""
        settings: dict[str, Any] = {}
        for pair in golden.about.get("Settings", "").split():
            name, _, value = pair.partition("=")
            settings[name] = int(value) if value.isdigit() else value
        table = self._table(golden.about["Store"])
        self._clock.ms = _milliseconds(golden.about.get("Now"))
        try:
            config = Settings(**settings)
            app = create_app(LineageStore(table, config, clock=self._clock), config)
            return golden.answered(app, self.tokens)
        finally:
            self._clock.ms = NOW_MS

    def app(self, store: str) -> Any:
        """An app over a store, with the default settings."""
        return create_app(LineageStore(self._table(store), clock=self._clock))

    def close(self) -> None:
        for table in self._tables.values():
            table.close()

    def _table(self, store: str) -> Table:
        make: Callable[[], Table] = getattr(self, f"_{store}")
        if store == "empty":
            return make()
        if store not in self._tables:
            self._tables[store] = make()
        return self._tables[store]

    def _empty(self) -> Table:
        return SqliteTable(":memory:")

    def _away(self) -> Table:
        return AwayTable(":memory:")

    def _sample(self) -> Table:
        table = self._empty()
        load(LineageStore(table, clock=self._clock), NOW_MS)
        return table

    def _hard(self) -> Table:
        """The store that hard/store.txt records, after a purge, with tokens."""
        golden = read_file(GOLDEN / "hard" / "store.txt")
        table = self._empty()
        self._clock.ms = _milliseconds(golden.about.get("Now"))
        golden.answered(create_app(LineageStore(table, clock=self._clock)), {})
        self._clock.ms = NOW_MS
        policy = RetentionPolicy(datasets_ms=dict.fromkeys(PURGED, PURGED_MS))
        assert garbage_collection.purge(table, policy, until_ms=NOW_MS).rows
        for name, grants in GRANTS.items():
            # Expired long ago on any clock: whoever checks a token does not ask this one.
            expiry, clock = (1, lambda: 0) if name == "expired" else (None, self._clock)
            access = LineageStore(table, clock=clock).access
            _, secret = access.create_token(name, grants, lifetime_ms=expiry)
            self.tokens[name] = secret.text()
        return table


def _milliseconds(time: str | None) -> int:
    return NOW_MS if time is None else int(datetime.fromisoformat(time).timestamp() * 1000)
