"""Sending a call again gives the rows of sending it once, wherever it was interrupted."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import layout
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.tables import Put, Table, open_table
from tests.support.copy_runs import copying
from tests.support.passing_table import Through

DOCUMENTS = [copying(run, start_ms=start, field=field) for run in "ab" for start in (1, 2) for field in "fg"]
CALLS = st.sampled_from([DOCUMENTS, DOCUMENTS[:2]]).flatmap(
    lambda documents: st.lists(st.sampled_from(documents), min_size=1, max_size=6)
)


class Ending(Through):
    """A table that is gone after so many batches."""

    def __init__(self, table: Table, batches: int) -> None:
        super().__init__(table)
        self._left = batches

    def write(self, batches: object, **options: object) -> None:
        for batch in batches:  # type: ignore[attr-defined]
            if self._left == 0:
                raise StoreUnavailable("gone")
            self._left -= 1
            super().write([batch])


class Stalling(Through):
    """A table at which the first document is stored after the deadline, and its second put lands later."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.now_ms = now_ms()
        self.under_way: list[Put] = []
        self._documents = 0

    def write(self, batches: object, **options: object) -> None:
        for batch in batches:  # type: ignore[attr-defined]
            puts = list(batch)
            if any(put.column.startswith(layout.DOCUMENT) for put in puts):
                self._documents += 1
                if self._documents == 2:
                    self.under_way = puts
                    raise StoreUnavailable("gone")
                self.now_ms += DEFAULTS.grace_ms
            super().write([puts])


def values(table: Table) -> dict[tuple[bytes, bytes], bytes]:
    return {
        # The tokens of days are random.
        (key, column): b"" if key.startswith(layout.CALENDARS) else cell.value
        for key, row in table.scan(b"", b"\x7f")
        for column, cell in row.items()
    }


@given(call=CALLS, batches=st.integers(0, 60))
def test_a_call_cut_off_anywhere_and_sent_again_comes_to_the_same_rows(
    call: list[RecordedRun], batches: int
) -> None:
    once, twice = open_table("sqlite:///:memory:"), open_table("sqlite:///:memory:")
    LineageStore(once).record(call)
    with suppress(StoreUnavailable):
        LineageStore(Ending(twice, batches)).record(call)
    LineageStore(twice).record(call)
    assert values(once) == values(twice)


@pytest.mark.parametrize("fields", ["fg", "gf"])
def test_a_put_that_lands_after_its_call_was_sent_again_changes_nothing(fields: str) -> None:
    """Whichever document has the greater digest: it decides between two of one number."""
    call = [copying("a", field=field) for field in fields]
    table = open_table("sqlite:///:memory:")
    stalling = Stalling(table)
    with suppress(StoreUnavailable):
        LineageStore(stalling, clock=lambda: stalling.now_ms).record(call)
    store = LineageStore(table, clock=lambda: stalling.now_ms)
    store.record(call)
    recorded = values(table)
    assert stalling.under_way
    table.write([stalling.under_way])
    assert values(table) == recorded
    assert store.run("a").committed.checksum == call[-1].info.checksum


@given(call=CALLS)
def test_one_call_comes_to_the_rows_of_many(call: list[RecordedRun]) -> None:
    once, many = open_table("sqlite:///:memory:"), open_table("sqlite:///:memory:")
    LineageStore(once).record(call)
    for document in call:
        LineageStore(many).record([document])
    assert values(once) == values(many)


@given(call=CALLS)
def test_a_call_sent_again_is_known_whole(call: list[RecordedRun]) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    store.record(call)
    again = store.record(call)
    assert [answer.recorded for answer in again if isinstance(answer, CommitResult)] == [False] * len(call)


def test_an_older_document_sent_alone_is_recorded_again() -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    first, second = copying("a", field="f"), copying("a", field="g")
    store.record([first, second])
    (answer,) = store.record([first])
    assert isinstance(answer, CommitResult)
    assert (answer.recorded, answer.replaced) == (True, True)
    assert store.run("a").committed.checksum == first.info.checksum
