"""Pages of lists: every item is on one page, and a client reads pages until it has its limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase import queries
from fll_hbase.client.connection import LIMIT_REACHED, Connection, truncation_hint
from fll_hbase.client.opening import open_client
from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.operations import Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.queries.catalogue import Datasets
from fll_hbase.queries.derivations import Derivations
from fll_hbase.queries.pages import Paged, decode_cursor, first_page
from fll_hbase.queries.query import Query
from fll_hbase.queries.reports.field_report import Consumption, ConsumptionAnswer, Provenance, SubjectField
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.damage import DAMAGED
from fll_hbase.runtime.errors import InvalidQuery
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from tests.support.copy_runs import DESTINATION, SOURCE, copying

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


def test_joined_pages_name_what_cuts_any_of_them(store: LineageStore, client: Connection) -> None:
    damaged = layout.dataset_row(Dataset("ns", NAMES[0]))
    store.components.table.write([[Put(damaged, layout.DESCRIPTION + b"d", b"\xff")]])
    answers = [client.datasets("ns", limit=limit) for limit in (9, 4)]
    assert [row["name"] for row in answers[0]] == NAMES[1:]
    assert [answer.incomplete for answer in answers] == [
        truncation_hint([DAMAGED]),
        f"{truncation_hint([DAMAGED])}; {LIMIT_REACHED}",
    ]
    assert [bool(page.incomplete) for page in client.pages(Datasets("ns"))] == [True, *3 * [False]]


def test_joined_pages_of_runs_count_the_unknown_columns_of_all(
    store: LineageStore, client: Connection
) -> None:
    content = lineage.build_lineage(
        [Read("read", "", SOURCE, "", ()), Write("write", "", DESTINATION, "", ())]
    )
    for number in range(5):
        store.record_one(copying(f"copy {number}", start_ms=10 * number))
        peek = ProgramRun("ns", "app", "", "spark", "peek", f"peek {number}", 10 * number + 5)
        store.record_one(RecordedRun(peek, content))
    for limit in (4, 5):
        answer = client.runs(SOURCE.namespace, SOURCE.name, field="f", start=0, end=1, limit=limit)
        assert (len(answer.body.runs), answer.body.runs_with_unknown_columns) == (limit, limit)


def test_a_joined_report_has_the_limits_and_the_horizon_of_all_pages() -> None:
    field = SubjectField(namespace="ns", name="d", field="f")
    first = ConsumptionAnswer(
        report="consumption", field=field, verdict="yes", runs=(), truncated=False, more_runs=True
    )
    last = ConsumptionAnswer(
        report="consumption",
        field=field,
        runs=(),
        truncated=True,
        truncated_by=(DAMAGED,),
        more_runs=False,
        retained_from=7,
    )
    assert Consumption("ns", "d", "f").join([first, last], []) == msgspec.structs.replace(last, verdict="yes")


@pytest.mark.parametrize("query", [Derivations("ns", "d", "f"), Provenance("ns", "d", "f")])
def test_an_answer_that_is_not_a_list_has_no_items(client: Connection, query: Query[Any]) -> None:
    with pytest.raises(InvalidQuery, match="is not a list: use ask"):
        next(client.items(query))


def test_every_list_has_its_items_in_its_answer() -> None:
    classes = [getattr(queries, name) for name in queries.__all__]
    lists = [query for query in classes if issubclass(query, Paged) and query.joins_pages]
    assert lists
    for query in lists:
        body = query.body_type()
        assert query.items in body.__struct_fields__ if query.items else get_origin(body) is tuple


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
