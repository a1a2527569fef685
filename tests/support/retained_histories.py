"""Random histories and retention policies, and what is left after a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.tables import Table, open_table
from tests.support.small_world import CONTENTS, DATASETS, RUNS, STARTS_MS

LATER_MS = 4_000_000_000_000
"""Later than anything is put."""

ALWAYS = Window(0, LATER_MS)


@st.composite
def documents(draw: st.DrawFn) -> RecordedRun:
    run = ProgramRun(
        "n",
        "app",
        "1",
        "t",
        "p",
        draw(st.sampled_from(RUNS)),
        draw(st.sampled_from(STARTS_MS)),
        draw(st.sampled_from([State.COMPLETE, State.COMPLETE, State.FAIL])),
    )
    return RecordedRun(run, draw(st.sampled_from(CONTENTS)))


HISTORIES = st.lists(documents(), min_size=1, max_size=12)
HORIZONS = st.builds(
    RetentionPolicy,
    st.sampled_from((0, *STARTS_MS)),
    st.dictionaries(st.just("n"), st.sampled_from(STARTS_MS), max_size=1),
    st.dictionaries(st.sampled_from(DATASETS), st.sampled_from(STARTS_MS), max_size=2),
)


def recorded(history: Sequence[RecordedRun]) -> tuple[Table, LineageStore]:
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    for document in history:
        store.record([document])
    return table, store


def swept(table: Table, horizons: RetentionPolicy = RetentionPolicy()) -> None:  # noqa: B008
    garbage_collection.purge(table, horizons, until_ms=LATER_MS, grace_ms=0)
    garbage = garbage_collection.find_garbage(table, horizons, until_ms=LATER_MS)
    garbage_collection.remove(table, garbage, horizons, until_ms=LATER_MS)


def listed(store: LineageStore, dataset: Dataset, window: Window = ALWAYS) -> list[object]:
    if not store.catalogue.has_dataset(dataset):
        return []
    return list(store.runs(dataset, window, limit=1_000).runs)


def related(store: LineageStore, dataset: Dataset, window: Window = ALWAYS) -> object:
    if not store.catalogue.has_dataset(dataset):
        return ()
    return store.lineage(dataset, replace(window, failed=True)).entries


def cells(table: Table) -> Iterator[tuple[bytes, bytes, bytes]]:
    """All cells but seals, which readers and retention put; tokens without their random values."""
    for key, row in table.scan(b"", b"\x7f"):
        is_calendar = key.startswith(layout.CALENDARS)
        for column, cell in row.items():
            if not is_calendar or column.startswith(calendars.TOKEN):
                yield key, column, b"" if is_calendar else cell.value
