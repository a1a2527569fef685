"""Fixtures: real servers with settings of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import RecordResult
from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Batch, Sync, Table, open_table
from fll_hbase.tables.observed import ObservedTable
from tests.support.server_process import Server
from tests.support.small_documents import document

StartServer = Callable[..., Server]


@pytest.fixture
def start_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartServer]:
    """Starts servers with these variables in their environment, over a store of each."""
    with ExitStack() as stack:

        def start(*, workers: int = 2, **variables: str) -> Server:
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            return stack.enter_context(Server(tmp_path / "store.db", workers=workers))

        yield start


class _Contended(ObservedTable):
    """A table in which another writer adds to a run row while a pass is under way."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._is_first = True

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Write; before the first commit of a run, as another writer records the same run."""
        if sync is Sync.NOW and self._is_first:
            self._is_first = False
            self._record_as_another()
        super().write(batches, sync=sync)

    def _record_as_another(self) -> None:
        store = LineageStore(self._table)
        reader = DocumentReader(columns=store.catalogue.field_names)
        other = document("run\n1", operations=document()["operations"][:1] + _WRITES_ALL)
        read = reader.read(json.dumps(other).encode(), format_named("lineage"), namespace="shop", now_ms=0)
        assert [type(result) for result in ingest(store, [read])] == [RecordResult]


_WRITES_ALL = [
    {
        "type": "WRITE",
        "name": "write",
        "destination": {"name": "copies"},
        "inputs": [{"origin": "read", "name": "net"}],
    }
]


@pytest.fixture
def contended_store() -> Iterator[LineageStore]:
    """A store whose first commit meets another writer."""
    table = open_table("sqlite:///:memory:")
    yield LineageStore(_Contended(table))
    table.close()
