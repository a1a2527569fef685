"""Every row that is stored can be read by people; what is not a row of ours is shown as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.tags import TagNote
from fll_hbase.store.access import AccessStore
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rows.row_view import CELLS_MAX, VALUE_CHARACTERS_MAX, view_row
from fll_hbase.tables import Cell, open_table
from tests.support.strategies import recorded_runs


@given(runs=st.lists(recorded_runs, min_size=1, max_size=3))
def test_every_row_of_a_store_is_readable(runs: list[RecordedRun]) -> None:
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    store.record(runs)
    for dataset in runs[0].info.sources:
        for name in list(store.catalogue.field_names(dataset) or ())[:1]:
            store.tags.put(DatasetField(dataset, name), "P|I", TagNote("me", "why"))
    access = AccessStore(table)
    access.create_token("etl", [Grant(Role.READER, "shop.*")])
    access.set_grants(Subject(SubjectKind.GROUP, "P|I"), [Grant(Role.RECORDER, "*")])
    kinds, parts = set(), []
    for key, row in table.scan(b"", b"\xff"):
        view = view_row(key, row)
        assert view.is_readable, view
        assert view.key.encode() == key
        kinds.add(view.kind)
        parts.append(view.parts)
    assert {"group": "P|I"} in parts
    assert {"runs", "contents", "datasets", "properties", "run index rows", "ways", "calendars"} <= kinds


def test_parts_are_decoded() -> None:
    view = view_row(b"b|s3://a|b%7Cc|7ffffeb00e9b862f|0b6f", {b"d:c|x": Cell(b"shop|1%7C4|spark|nightly", 5)})
    assert view.parts == {"namespace": "s3://a", "name": "b|c", "startMs": 1442863938000, "run": "0b6f"}
    assert view.cells[0].value == "shop 1|4 spark nightly"


def test_ways_horizons_and_days_are_decoded() -> None:
    checksum = "79655ecae1889b9a7c9d61af2fd3489b"
    way = view_row(b"w|b|s3://a|b%7Cc|7fffdf6|" + checksum.encode(), {b"d:w": Cell(b"", 5)})
    period_ms = 521 * 32 * 86_400_000
    by_name = {"namespace": "s3://a", "name": "b|c"}
    assert way.parts == {**by_name, "direction": "backward", "checksum": checksum, "periodMs": period_ms}
    assert view_row(b"w|h|s3://a|b%7Cc", {b"d:h|0000014ff16479d0": Cell(b"", 5)}).parts == by_name
    seal = b'["00c0ffee00c0ffee",[["n|app|1|spark|night%7Cly",1,[[5,"a"],[7,"b"]],9]]]'
    row = {b"d:z1f": Cell(b"00c0ffee00c0ffee", 5), b"d:s1f": Cell(seal, 5), b"o:r1f": Cell(b"{}", 5)}
    calendar = view_row(b"u|%b|7fffdf6" % checksum.encode(), row)
    assert calendar.parts == {"checksum": checksum, "periodMs": period_ms}
    shown = {cell.column: cell.value for cell in calendar.cells if cell.is_readable}
    assert shown == {"d:s1f": "9 failed of n app 1 spark night|ly: a b", "d:z1f": "00c0ffee00c0ffee"}
    assert not view_row(b"w|x|s3://a|b%7Cc|7fffdf6|" + checksum.encode(), {}).is_readable


@given(key=st.binary(max_size=60), value=st.binary(max_size=300), prefix=st.sampled_from("crbfwuneaptgyvkx"))
def test_anything_is_shown(key: bytes, value: bytes, prefix: str) -> None:
    for stored in (key, prefix.encode() + b"|" + key):
        view = view_row(stored, {b"d:c|x": Cell(value, 5), b"d:z|\xff": Cell(value, 2**62)})
        assert view.key.isascii()
        assert all(len(cell.value) <= max(VALUE_CHARACTERS_MAX, 10) for cell in view.cells)


def test_a_wide_row_is_cut() -> None:
    view = view_row(b"e|n|a", {b"d:b|%04d" % n: Cell(b"", 5) for n in range(5_000)})
    assert (len(view.cells), view.cells_total) == (CELLS_MAX, 5_000)
