"""Pages of lists: every item is on one page, and a client reads pages until it has its limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.client.connection import Connection
from fll_hbase.client.opening import open_client
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.queries.catalogue import Datasets
from fll_hbase.queries.pages import decode_cursor, first_page
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import InvalidQuery
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

NAMES = [f"d{number}" for number in range(9)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LineageStore]:
    settings = Settings(list_limit=2, list_limit_max=3)
    with closing(open_table(f"sqlite:///{tmp_path}/store.db")) as table:
        store = LineageStore(table, settings)
        store.put_metadata(DatasetMetadata(Dataset("ns", name), fields=(Field("f"),)) for name in NAMES)
        yield store


@pytest.fixture
def client(store: LineageStore) -> Connection:
    return open_client(store)


@given(names=st.lists(st.text(min_size=1), unique=True), limit=st.integers(1, 5))
def test_pages_hold_every_item_once(names: list[str], limit: int) -> None:
    names.sort()
    pages, start_after = [], ""
    while True:
        entries = (name for name in names if name > start_after)
        page, cursor = first_page(entries, limit, lambda name: (name,))
        pages.append(page)
        if not cursor:
            break
        (start_after,) = decode_cursor(cursor, 1)
    assert [name for page in pages for name in page] == names
    assert all(len(page) == limit for page in pages[:-1])
    assert pages[-1] or not names


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (4, 4), (9, 9), (100, 9)])
def test_a_client_reads_pages_up_to_its_limit(client: Connection, limit: int, count: int) -> None:
    answer = client.datasets("ns", limit=limit)
    assert [row["name"] for row in answer] == NAMES[:count]
    assert bool(answer.incomplete) is (count < len(NAMES))
    assert bool(answer.next_page) is (count < len(NAMES))


def test_the_next_page_continues(client: Connection) -> None:
    first = client.ask(Datasets("ns", limit=4))
    rest = client.datasets("ns", **first.next_page)
    assert [row["name"] for row in [*first, *rest]] == NAMES


@pytest.mark.parametrize(("limit", "size"), [(None, 2), (1, 1), (3, 3), (50, 3)])
def test_a_page_has_the_limits_of_the_store(store: LineageStore, limit: int | None, size: int) -> None:
    answer = Datasets("ns", limit=limit).answer(store, now_ms=0)
    assert len(answer.body.datasets) == size
    assert answer.cursor


@pytest.mark.parametrize("cursor", ["", "x", "W10", "WyJhIiwiYiJd"])
def test_a_cursor_that_no_page_gave_is_refused(client: Connection, cursor: str) -> None:
    with pytest.raises(InvalidQuery):
        client.datasets("ns", cursor=cursor)
