"""Rows of a newer release: a column that this one does not know changes no answer, and is never touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.row_kinds import is_known
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.run_events import EventType
from fll_hbase.model.window import DAY_MS, Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import CellKey, Put, Table, open_table
from tests.support.audit_runner import findings, repaired, wrong
from tests.support.copy_runs import DESTINATION, copying
from tests.support.event_runs import ALIAS, NOW_MS, SOURCE, TARGET, event, part
from tests.support.table_cells import ALWAYS, LATER_MS, cells, comparable_cells

FUTURE = b"d:future", b"o:future", b"d:v2|00000001", b"d:"
"""Columns of both families, some of which begin like known ones."""

PREFIXES = (
    layout.CONTENTS,
    layout.RUNS,
    *layout.REFERENCES,
    layout.WAYS,
    layout.CALENDARS,
    layout.PROPERTIES,
    layout.RUN_INDEX,
    layout.DATASETS,
    layout.ALIASES,
    layout.EVENT_BODIES,
)


def history() -> list[RunInput]:
    """A replaced run, a failed one and a run of events with an alias: rows of every kind."""
    return [
        copying("one", start_ms=5),
        copying("one", start_ms=6, field="g"),
        copying("two", start_ms=DAY_MS),
        event(EventType.START, part("a", aliases=(ALIAS,)), run="three"),
        event(EventType.FAIL, part("a", "b", aliases=(ALIAS,)), run="three", later_ms=5),
    ]


def stored() -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history())
    return table


def upgraded() -> Table:
    """The same table after a newer release put more columns into every row."""
    table = stored()
    keys = [key for key, _ in table.scan(b"", b"\xff")]
    table.write([[Put(key, column, b"any value") for key in keys for column in FUTURE]])
    return table


def known_cells(table: Table) -> dict[CellKey, bytes]:
    return {cell: value for cell, value in comparable_cells(table).items() if is_known(*cell)}


def unknown_cells(table: Table) -> set[CellKey]:
    return {cell for cell in cells(table) if not is_known(*cell)}


def answers(table: Table) -> Iterator[object]:
    """Every query of the store, about every dataset."""
    every_run = replace(ALWAYS, failed=True)
    store = LineageStore(table)
    for namespace in store.catalogue.namespaces():
        yield namespace, list(store.catalogue.datasets(namespace))
    for dataset in (SOURCE, TARGET, ALIAS, DESTINATION):
        page = store.runs(dataset, ALWAYS, limit=100)
        yield store.catalogue.fields(dataset), page, store.run_details(page)
        yield store.lineage(dataset, every_run, level=3)
        for name in store.catalogue.field_names(dataset) or ():
            field = DatasetField(dataset, name)
            for direction in Direction:
                yield store.field_lineage(field, every_run, direction=direction)
    yield store.field_derivations(DatasetField(DESTINATION, "g"), ALWAYS)
    yield store.catalogue.search("a", start_after=None, limit=100, datasets_max=100)


def test_every_kind_of_row_has_unknown_columns() -> None:
    table = upgraded()
    assert {cell.row[:2] for cell in unknown_cells(table)} == set(PREFIXES)
    assert known_cells(table) == comparable_cells(stored())


def test_no_answer_changes() -> None:
    assert list(answers(upgraded())) == list(answers(stored()))


def test_recording_goes_on() -> None:
    old, new = stored(), upgraded()
    for table in (old, new):
        store = LineageStore(table)
        store.record(history())
        store.record([copying("two", start_ms=7), copying("four", start_ms=8)])
    assert known_cells(new) == comparable_cells(old)


@pytest.mark.parametrize("column", FUTURE)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_audit_reports_the_column_and_nothing_else(prefix: bytes, column: bytes) -> None:
    table = stored()
    notes = [(finding.kind, finding.row) for finding in findings(table)]
    key = next(key for key, _ in table.scan(prefix, prefix + b"\xff"))
    table.write([[Put(key, column, b"any value")]])
    after_upgrade = findings(table)
    assert not wrong(after_upgrade)
    assert sorted((finding.kind.value, finding.row) for finding in after_upgrade) == sorted(
        [(kind.value, row) for kind, row in notes] + [(Kind.UNKNOWN_COLUMN.value, key)]
    )
    (note,) = [finding for finding in after_upgrade if finding.kind is Kind.UNKNOWN_COLUMN]
    assert note.detail == column.decode()


def test_damage_beside_unknown_columns_is_found_and_repaired() -> None:
    table = upgraded()
    intact = cells(table)
    damaged = [
        next(cell for cell in known_cells(table) if cell.row.startswith(prefix))
        for prefix in (*layout.REFERENCES, layout.WAYS, layout.RUN_INDEX)
    ]
    # That of run two: on other days the first calendar has what a replaced run left.
    token = calendars.day_column(calendars.TOKEN, 1)
    damaged.append(next(cell for cell in known_cells(table) if cell.column == token))
    table.delete(damaged, until_ms=LATER_MS)
    assert {
        Kind.MISSING_REFERENCE,
        Kind.MISSING_WAY,
        Kind.MISSING_DAY,
        Kind.MISSING_RUN_INDEX,
    } <= wrong(findings(table))
    assert not wrong(repaired(table))
    assert cells(table).keys() == intact.keys()


def test_repair_leaves_unknown_columns_alone() -> None:
    table = upgraded()
    before_repair = comparable_cells(table)
    assert {finding.kind for finding in repaired(table)} >= {Kind.UNKNOWN_COLUMN}
    assert comparable_cells(table) == before_repair


@pytest.mark.parametrize("policy", [RetentionPolicy(), RetentionPolicy(NOW_MS), RetentionPolicy(LATER_MS)])
def test_garbage_collection_deletes_the_same_cells(policy: RetentionPolicy) -> None:
    old, new = stored(), upgraded()
    for table in (old, new):
        garbage_collection.purge(table, policy, until_ms=LATER_MS, grace_ms=0)
        garbage = garbage_collection.find_garbage(table, policy, until_ms=LATER_MS)
        garbage_collection.remove(table, garbage, policy, until_ms=LATER_MS)
    assert known_cells(new) == comparable_cells(old)
    rows_left = {cell.row for cell in cells(old)}
    unknown = {cell for cell in unknown_cells(upgraded()) if cell.row in rows_left}
    assert unknown <= unknown_cells(new)
