"""An empty store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table


@pytest.fixture
def store() -> Iterator[LineageStore]:
    """An empty store in memory."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    yield store
    store.close()
