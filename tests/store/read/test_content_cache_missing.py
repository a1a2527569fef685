"""A query whose content is deleted meanwhile is executed again; content that stays missing is an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pytest

from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow, NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.read.content_cache import ATTEMPTS_MAX, ContentMissing
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import CellKey, Row
from fll_hbase.tables.base import Columns
from fll_hbase.tables.sqlite import SqliteTable

SOURCE, DESTINATION = Dataset("ns", "source"), Dataset("ns", "destination")
DAY, LATER = Window(0, DAY_MS), Window(DAY_MS, 2 * DAY_MS)
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

    def purge(self, checksum: str) -> None:
        """Remove the run and its content."""
        self.remove(layout.run_row("run", "ns"), layout.content_row(checksum))


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


FIELD = DatasetField(DESTINATION, "f")
QUESTIONS: dict[str, Callable[[LineageStore], Collection[object]]] = {
    "lineage": lambda store: store.lineage(DESTINATION, DAY).entries,
    "operations": lambda store: store.field_lineage(FIELD, DAY).checksums,
    "derivations": lambda store: store.field_derivations(FIELD, DAY).derivations,
    "reach": lambda store: store.reach(ReachQuery(FIELD, DAY, level=1)).edges,
    "history": lambda store: store.history(FIELD, DAY).stretches,
    "diff": lambda store: store.diff(FIELD, DAY, LATER).gained.operations,  # type: ignore[union-attr]
    "diff of a dataset": lambda store: store.dataset_diff(DESTINATION, DAY, LATER).fields,
    "runs": lambda store: store.runs(DESTINATION, DAY, field="f", limit=10).runs,
    "programs": lambda store: store.programs(DESTINATION, DAY, field="f").programs,
    "programs of operations": lambda store: (
        store.field_programs.read(FIELD, DAY, Direction.BACKWARD).performed
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_run_that_is_purged_during_a_query_does_not_show(
    table: TableWithLoss, checksum: str, name: str
) -> None:
    assert QUESTIONS[name](LineageStore(table))
    store = LineageStore(table)
    table.before_contents = lambda: table.purge(checksum)
    assert not QUESTIONS[name](store)


def test_a_run_that_is_purged_before_its_content_is_read_is_unknown(
    table: TableWithLoss, checksum: str
) -> None:
    view = StoreView(LineageStore(table), Principal("reader", (Grant(Role.READER, "ns"),)))
    # The view looks at the content to decide whether it may show the run, and knows this from now on.
    view.run("run", "ns")
    table.before_contents = lambda: table.purge(checksum)
    with pytest.raises(NotFound):
        view.run_with_content("run", "ns")


def test_a_content_that_stays_missing_is_an_error(table: TableWithLoss, checksum: str) -> None:
    table.remove(layout.content_row(checksum))
    store = LineageStore(table)
    with pytest.raises(ContentMissing, match=checksum):
        store.lineage(DESTINATION, DAY)
    # Each attempt reads it in vain with the others, and then by itself.
    assert table.reads_of_contents == 2 * ATTEMPTS_MAX
    with pytest.raises(NotFound):
        store.lineage(Dataset("ns", "unknown"), DAY)


def test_a_content_without_its_list_of_operations_is_damaged(table: TableWithLoss, checksum: str) -> None:
    table.delete([CellKey(layout.content_row(checksum), layout.OPERATION_NAMES)], until_ms=LATER_MS)
    with pytest.raises(CorruptRow, match="o:n"):
        LineageStore(table).field_derivations(FIELD, DAY)
