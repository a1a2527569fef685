"""A query whose content is deleted meanwhile is executed again; content that stays missing is an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from fll_hbase.errors import NotFound
from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.content_cache import ATTEMPTS_MAX, ContentMissing
from fll_hbase.tables import CellKey, Row
from fll_hbase.tables.base import Columns
from fll_hbase.tables.sqlite import SqliteTable

SOURCE, DESTINATION = Dataset("ns", "source"), Dataset("ns", "destination")
DAY = Window(0, DAY_MS)
LATER_MS = 2**60


class TableWithLoss(SqliteTable):
    """A table in which something happens before contents are read."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.before_contents: Callable[[], None] = lambda: None
        self.reads_of_contents = 0

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        if any(key.startswith(layout.CONTENTS) for key in keys):
            self.reads_of_contents += 1
            self.before_contents()
        return super().rows(keys, columns=columns)

    def remove(self, *keys: bytes) -> None:
        rows = super().rows(keys)
        self.delete([CellKey(key, column) for key, row in rows.items() for column in row], until_ms=LATER_MS)


@pytest.fixture
def table() -> TableWithLoss:
    return TableWithLoss()


@pytest.fixture
def checksum(table: TableWithLoss) -> str:
    info = lineage.build_lineage(
        [
            Read("read", "", SOURCE, "", (Field("f"),)),
            Write("write", "", DESTINATION, "", (InputField("read", "f"),)),
        ]
    )
    LineageStore(table).record([RecordedRun(ProgramRun("ns", "app", "", "spark", "copy", "run", 5), info)])
    table.reads_of_contents = 0
    return info.checksum


def test_a_run_that_is_purged_during_a_query_does_not_show(table: TableWithLoss, checksum: str) -> None:
    def purge() -> None:
        table.remove(layout.run_row("run"))
        table.remove(layout.content_row(checksum))

    store = LineageStore(table)
    table.before_contents = purge
    assert store.lineage(DESTINATION, DAY).entries == ()


def test_a_content_that_stays_missing_is_an_error(table: TableWithLoss, checksum: str) -> None:
    table.remove(layout.content_row(checksum))
    store = LineageStore(table)
    with pytest.raises(ContentMissing, match=checksum):
        store.lineage(DESTINATION, DAY)
    # Each attempt reads it in vain with the others, and then by itself.
    assert table.reads_of_contents == 2 * ATTEMPTS_MAX
    with pytest.raises(NotFound):
        store.lineage(Dataset("ns", "unknown"), DAY)
