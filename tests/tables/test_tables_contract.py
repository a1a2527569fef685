"""The contract of the Table interface, promise by promise."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count, islice, pairwise
from pathlib import Path

import pytest

from fll_hbase.tables import Batch, CellKey, Put, Row, Scan, StampedPut, Sync, Table, open_table


def put(row: bytes, column: bytes = b"d:x", value: bytes = b"1") -> Put:
    return Put(row, column, value)


def values(row: Row) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.items()}


def scanned(
    table: Table,
    start: bytes,
    stop: bytes,
    *,
    columns: Collection[bytes] = (),
    limit: int | None = None,
) -> list[tuple[bytes, dict[bytes, bytes]]]:
    return [(key, values(row)) for key, row in table.scan(start, stop, columns=columns, limit=limit)]


def keys(table: Table, start: bytes, stop: bytes, *, limit: int | None = None) -> list[bytes]:
    return [key for key, _ in table.scan(start, stop, limit=limit)]


MIXED = [
    put(b"a", b"d:m", b"map"),
    put(b"a", b"d:mm", b"not map"),
    put(b"a", b"o:n", b"names"),
    put(b"a", b"o:op|b", b"op"),
    put(b"b", b"o:n", b"names of b"),
    put(b"c", b"d:m", b"map of c"),
]


def test_a_row_that_is_not_there_is_empty(table: Table) -> None:
    assert table.get(b"a") == {}
    assert table.rows([b"a", b"b"]) == {}
    assert scanned(table, b"a", b"z") == []


def test_what_was_put_is_read_back(table: Table) -> None:
    table.write([[put(b"a", b"d:x", b"1"), put(b"a", b"o:y", b"2"), put(b"b", b"d:x", b"3")]])
    assert values(table.get(b"a")) == {b"d:x": b"1", b"o:y": b"2"}
    assert {key: values(row) for key, row in table.rows([b"b", b"a"]).items()} == {
        b"a": {b"d:x": b"1", b"o:y": b"2"},
        b"b": {b"d:x": b"3"},
    }
    assert scanned(table, b"a", b"z") == [(b"a", {b"d:x": b"1", b"o:y": b"2"}), (b"b", {b"d:x": b"3"})]


def test_stamps_are_when_a_cell_was_put_last(table: Table) -> None:
    before_ms = time.time_ns() // 1_000_000
    table.write([[put(b"a", b"d:old"), put(b"a", b"d:new")]])
    first = table.get(b"a")
    time.sleep(0.005)
    table.write([[put(b"a", b"d:new", b"2")]])
    second = table.get(b"a")
    assert second[b"d:old"] == first[b"d:old"]
    assert second[b"d:new"].stamp_ms > first[b"d:new"].stamp_ms
    apart_ms = first[b"d:old"].stamp_ms - before_ms
    assert abs(apart_ms) < 60_000
    assert dict(table.scan(b"a", b"b"))[b"a"] == table.rows([b"a"])[b"a"] == second


def test_a_put_replaces_its_cell_and_no_other(table: Table) -> None:
    table.write([[put(b"a", b"d:x", b"old"), put(b"a", b"d:y", b"kept")]])
    table.write([[put(b"a", b"d:x", b"new")]])
    table.write([[put(b"a", b"d:x", b"new")]])
    assert values(table.get(b"a")) == {b"d:x": b"new", b"d:y": b"kept"}


def test_the_last_put_of_a_cell_in_one_batch_wins(table: Table) -> None:
    table.write([[put(b"a", value=b"1"), put(b"b"), put(b"a", value=b"3"), put(b"a", value=b"2")]])
    assert values(table.get(b"a")) == {b"d:x": b"2"}


def test_the_last_batch_wins(table: Table) -> None:
    table.write([[put(b"a", value=b"3")], [put(b"a", value=b"2")], [], [put(b"a", value=b"1"), put(b"b")]])
    assert values(table.get(b"a")) == {b"d:x": b"1"}
    assert values(table.get(b"b")) == {b"d:x": b"1"}


@pytest.mark.parametrize("batches", [[], [[]], [[], []]])
def test_nothing_to_write_is_no_error(table: Table, batches: list[Batch]) -> None:
    table.write(batches)
    assert scanned(table, b"", b"\xff") == []


def test_what_is_durable_later_is_visible_at_once(table: Table) -> None:
    table.write([[put(b"a")]], sync=Sync.LATER)
    assert values(table.get(b"a")) == {b"d:x": b"1"}
    table.write([[put(b"b")]], sync=Sync.NOW)
    assert keys(table, b"a", b"z") == [b"a", b"b"]


def test_columns_by_name(table: Table) -> None:
    table.write([MIXED])
    assert values(table.get(b"a", columns=[b"d:m"])) == {b"d:m": b"map"}
    assert values(table.get(b"a", columns=(b"d:m", b"o:n"))) == {b"d:m": b"map", b"o:n": b"names"}
    assert table.get(b"a", columns={b"d:none"}) == {}
    assert values(table.get(b"a", columns=[b"d:m", b"d:m", b"d:none"])) == {b"d:m": b"map"}


def test_columns_by_family(table: Table) -> None:
    table.write([MIXED])
    assert values(table.get(b"a", columns=[b"d:"])) == {b"d:m": b"map", b"d:mm": b"not map"}
    assert values(table.get(b"a", columns=[b"o:", b"d:mm"])) == {
        b"d:mm": b"not map",
        b"o:n": b"names",
        b"o:op|b": b"op",
    }
    assert values(table.get(b"a", columns=[b"d:", b"o:"])) == values(table.get(b"a"))
    assert table.get(b"b", columns=[b"d:"]) == {}


def test_a_column_that_ends_in_a_colon_is_no_family(table: Table) -> None:
    table.write([[put(b"a", b"o:op|a:", b"1"), put(b"a", b"o:op|a:b", b"2")]])
    assert values(table.get(b"a", columns=[b"o:op|a:"])) == {b"o:op|a:": b"1"}


def test_columns_with_any_bytes(table: Table) -> None:
    columns = [b"d:" + bytes([byte]) for byte in range(256) if byte != ord(":")] + [
        b"o:b|x:y|z",
        b"o:\x00\xff",
    ]
    table.write([[put(b"a", column, column) for column in columns]])
    assert values(table.get(b"a")) == {column: column for column in columns}
    for column in columns:
        assert values(table.get(b"a", columns=[column])) == {column: column}
    assert len(table.get(b"a", columns=[b"d:"])) == 255


def test_thousands_of_columns_at_once(table: Table) -> None:
    columns = [b"o:op|%05d" % number for number in range(10_001)]
    table.write([[put(b"a", column) for column in columns]])
    assert table.get(b"a", columns=columns).keys() == set(columns)
    assert table.get(b"a", columns=columns[5000:]).keys() == set(columns[5000:])


def test_rows_without_any_of_the_columns_are_left_out(table: Table) -> None:
    table.write([MIXED])
    rows = table.rows([b"a", b"b", b"c", b"d"], columns=[b"d:"])
    assert {key: set(row) for key, row in rows.items()} == {b"a": {b"d:m", b"d:mm"}, b"c": {b"d:m"}}
    assert set(table.rows([b"a", b"b", b"c"], columns=[b"o:n"])) == {b"a", b"b"}


@pytest.mark.parametrize("many", [0, 1, 249, 250, 251, 1_000, 1_001])
def test_any_number_of_rows_in_one_call(table: Table, many: int) -> None:
    row_keys = [b"row%05d" % number for number in range(1_001)]
    table.write([[put(key, value=key) for key in row_keys[::2]]])
    rows = table.rows(row_keys[:many])
    assert {key: values(row)[b"d:x"] for key, row in rows.items()} == {key: key for key in row_keys[:many:2]}


def test_a_key_asked_for_twice_is_one_row(table: Table) -> None:
    table.write([[put(b"a")]])
    assert table.rows([b"a"] * 600).keys() == {b"a"}


def test_a_scan_holds_its_start_and_not_its_stop(table: Table) -> None:
    row_keys = [b"a", b"a\x00", b"a\x00b", b"ab", b"b", b"b\xff", b"c"]
    table.write([[put(key) for key in reversed(row_keys)]])
    assert keys(table, b"a", b"c") == row_keys[:-1]
    assert keys(table, b"a\x00", b"b") == [b"a\x00", b"a\x00b", b"ab"]
    assert keys(table, b"", b"\xff") == row_keys


@pytest.mark.parametrize(("start", "stop"), [(b"a", b"a"), (b"b", b"a"), (b"", b""), (b"b", b"")])
def test_a_scan_whose_start_is_not_before_its_stop_is_empty(table: Table, start: bytes, stop: bytes) -> None:
    table.write([[put(b"a"), put(b"b")]])
    assert scanned(table, start, stop) == []


def test_a_scan_is_in_the_order_of_bytes(table: Table) -> None:
    row_keys = [bytes(pair) for first in range(256) for pair in ((first,), (first, 0), (first, 255))]
    table.write([[put(b"k" + key) for key in sorted(row_keys, key=lambda key: key[::-1])]])
    assert keys(table, b"k", b"l") == sorted(b"k" + key for key in row_keys)


def test_a_limit_counts_rows_that_have_any_of_the_columns(table: Table) -> None:
    table.write([MIXED])
    assert keys(table, b"a", b"z", limit=2) == [b"a", b"b"]
    assert keys(table, b"a", b"z", limit=9) == [b"a", b"b", b"c"]
    assert keys(table, b"a", b"z", limit=0) == []
    rows = scanned(table, b"a", b"z", columns=[b"d:"], limit=2)
    assert rows == [(b"a", {b"d:m": b"map", b"d:mm": b"not map"}), (b"c", {b"d:m": b"map of c"})]
    assert scanned(table, b"a", b"z", columns=[b"d:mm"], limit=1) == [(b"a", {b"d:mm": b"not map"})]
    assert scanned(table, b"a", b"z", columns=[b"d:none"]) == []


def test_a_scan_goes_on_from_beyond_the_last_key(table: Table) -> None:
    row_keys = [b"row%04d" % number for number in range(2_500)]
    table.write([[put(key) for key in row_keys]])
    scanned_keys: list[bytes] = []
    start = b"row"
    while page := keys(table, start, b"rox", limit=999):
        scanned_keys += page
        start = page[-1] + b"\x00"
    assert scanned_keys == row_keys
    assert keys(table, b"row", b"rox") == row_keys


def test_a_scan_is_as_long_as_its_limit(table: Table) -> None:
    row_keys = [b"row%04d" % number for number in range(2_500)]
    table.write([[put(key, column) for key in row_keys for column in (b"d:x", b"o:y")]])
    for limit in (1, 999, 1_000, 1_001, 2_000, 2_500, 2_501):
        assert keys(table, b"row", b"rox", limit=limit) == row_keys[:limit]
    rows = table.scan(b"row", b"rox", columns=[b"o:"], limit=1_500)
    assert [(key, set(row)) for key, row in rows] == [(key, {b"o:y"}) for key in row_keys[:1_500]]


@pytest.mark.slow
def test_many_scans_are_as_one_by_one(table: Table) -> None:
    row_keys = [b"row%04d" % number for number in range(2_500)]
    table.write([MIXED, [put(key, column) for key in row_keys for column in (b"d:x", b"o:y")]])
    scans = [
        Scan(b"row", b"rox"),
        Scan(b"a", b"z", [b"d:"], 2),
        Scan(b"row", b"rox", (b"o:",), 1_500),
        Scan(b"b", b"a"),
        Scan(b"a", b"a"),
        Scan(b"row", b"rox", limit=0),
        Scan(b"row", b"rox", limit=1_000),
        Scan(b"row", b"rox", limit=1_001),
        Scan(b"row0000", b"row1000"),
        Scan(b"none", b"nonf"),
        Scan(b"a", b"z", {b"d:none"}),
        Scan(b"row", b"rox"),
    ]
    assert table.scan_many(scans) == [
        list(table.scan(start, stop, columns=columns, limit=limit)) for start, stop, columns, limit in scans
    ]
    assert [len(rows) for rows in table.scan_many(scans)] == [
        *(2_500, 2, 1_500, 0, 0, 0, 1_000, 1_001, 1_000, 0, 0, 2_500)
    ]


@pytest.mark.parametrize("many", [0, 1, 31, 32, 33, 300])
def test_any_number_of_scans_in_one_call(table: Table, many: int) -> None:
    row_keys = [b"row%04d" % number for number in range(600)]
    table.write([[put(key) for key in row_keys]])
    scans = [Scan(row_keys[2 * number], row_keys[2 * number] + b"~") for number in range(many)]
    assert [[key for key, _ in rows] for rows in table.scan_many(scans)] == [
        [row_keys[2 * number]] for number in range(many)
    ]


def test_a_scan_may_be_left_half_read(table: Table) -> None:
    table.write([[put(b"row%04d" % number) for number in range(2_000)]])
    for _ in range(50):
        assert len(list(islice(table.scan(b"row", b"rox"), 3))) == 3
    table.write([[put(b"row0000", value=b"2")]])
    assert values(table.get(b"row0000")) == {b"d:x": b"2"}


def test_writes_may_come_between_the_rows_of_a_scan(table: Table) -> None:
    row_keys = [b"row%04d" % number for number in range(1_200)]
    table.write([[put(key) for key in row_keys]])
    scanned_keys = []
    for key, _ in table.scan(b"row", b"rox"):
        scanned_keys.append(key)
        if len(scanned_keys) % 100 == 0:
            table.write([[put(b"aside"), put(key, b"d:seen")]])
    assert scanned_keys == row_keys
    assert len([row for _, row in table.scan(b"row", b"rox") if b"d:seen" in row]) == 12


def test_reads_between_the_rows_of_a_scan_see_what_was_written_meanwhile(table: Table) -> None:
    table.write([[put(b"row%04d" % number) for number in range(10)]])
    with closing(table.scan(b"row", b"rox")) as scan:
        next(scan)
        table.write([[put(b"aside", value=b"written since")]])
        assert values(table.get(b"aside")) == {b"d:x": b"written since"}


def test_rows_and_values_hold_any_bytes(table: Table) -> None:
    all_bytes = bytes(range(256))
    rows = {b"\x00": b"", b"\xff" * 10: all_bytes, all_bytes: b"\x00", b"k" * 32_767: all_bytes * 4096}
    table.write([[put(key, value=value) for key, value in rows.items()]])
    for key, value in rows.items():
        assert values(table.get(key)) == {b"d:x": value}
    assert dict(scanned(table, b"\x00", b"\xff" * 11)) == {
        key: {b"d:x": value} for key, value in rows.items()
    }
    assert keys(table, b"\x00", b"\xff" * 11) == sorted(rows)


def in_threads(work: Callable[[int], object], *, threads: int = 4) -> None:
    """Run the work in several threads at once; an error in any of them is raised here."""
    ready = threading.Barrier(threads)

    def begin(number: int) -> None:
        ready.wait()
        work(number)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(begin, range(threads)))


def test_threads_share_a_table(table: Table) -> None:
    def work(number: int) -> None:
        mine = b"thread%d|" % number
        for step in range(40):
            table.write([[put(mine + b"%03d" % step, value=b"%d" % step), put(b"all", b"d:%d" % number)]])
            assert values(table.get(mine + b"%03d" % step)) == {b"d:x": b"%d" % step}
            assert len(keys(table, mine, mine + b"\xff")) == step + 1
        assert len(table.rows([b"thread%d|000" % other for other in range(4)])) >= 1

    in_threads(work)
    assert len(keys(table, b"thread", b"thrf")) == 160
    assert values(table.get(b"all")) == {b"d:%d" % number: b"1" for number in range(4)}


def test_a_reader_never_sees_a_batch_before_the_one_ahead_of_it(table: Table) -> None:
    done = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            for step in range(150):
                table.write([[put(b"first", value=b"%d" % step)], [put(b"second", value=b"%d" % step)]])
            done.set()
            return
        for _ in count():
            behind, ahead = table.get(b"second"), table.get(b"first")
            if behind:
                assert int(ahead[b"d:x"].value) >= int(behind[b"d:x"].value)
            if done.is_set():
                return

    in_threads(work, threads=3)


def test_a_put_of_one_row_is_seen_whole(table: Table) -> None:
    columns = [b"d:%d" % number for number in range(20)]
    done = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            for step in range(100):
                table.write([[put(b"row", column, b"%d" % step) for column in columns]])
            done.set()
        while not done.is_set():
            for row in (table.get(b"row"), *(row for _, row in table.scan(b"row", b"rox"))):
                assert len(row) in (0, len(columns))
                assert len(set(values(row).values())) <= 1

    in_threads(work, threads=3)


def test_a_batch_is_taken_when_those_before_it_are_there_or_none_is(table: Table) -> None:
    """An engine of one transaction takes them all first; any other must not take one early."""
    seen: list[bool] = []

    def batches() -> Iterator[Batch]:
        yield [put(b"a")]
        seen.append(bool(table.get(b"a")))
        yield [put(b"b")]

    table.write(batches())
    assert len(seen) == 1
    assert keys(table, b"a", b"z") == [b"a", b"b"]


def test_what_is_raised_between_batches_ends_the_write(table: Table) -> None:
    def batches() -> Iterator[Batch]:
        yield [put(b"a")]
        raise TimeoutError

    with pytest.raises(TimeoutError):
        table.write(batches())
    table.write([[put(b"b")]])
    assert keys(table, b"b", b"z") == [b"b"]


def test_a_deleted_cell_is_gone_and_no_other(table: Table) -> None:
    table.write([[put(b"a", b"d:x"), put(b"a", b"d:xx"), put(b"a", b"o:x"), put(b"b", b"d:x")]])
    stamp_ms = max(cell.stamp_ms for row in table.rows([b"a", b"b"]).values() for cell in row.values())
    table.delete([CellKey(b"b", b"d:x"), CellKey(b"a", b"d:x"), CellKey(b"none", b"d:x")], until_ms=stamp_ms)
    assert scanned(table, b"a", b"z") == [(b"a", {b"d:xx": b"1", b"o:x": b"1"})]
    assert table.get(b"b") == {}


def test_what_was_put_later_is_not_deleted(table: Table) -> None:
    table.write([[put(b"a", b"d:x", b"old"), put(b"b", b"d:x", b"old")]])
    stamp_ms = max(row[b"d:x"].stamp_ms for row in table.rows([b"a", b"b"]).values())
    time.sleep(0.005)
    table.write([[put(b"a", b"d:x", b"new")]])
    table.delete([CellKey(b"a", b"d:x"), CellKey(b"b", b"d:x")], until_ms=stamp_ms)
    assert scanned(table, b"a", b"z") == [(b"a", {b"d:x": b"new"})]
    table.delete([CellKey(b"a", b"d:x")], until_ms=stamp_ms - 1)
    assert values(table.get(b"a")) == {b"d:x": b"new"}


def test_a_deleted_cell_can_be_put_again(table: Table) -> None:
    table.write([[put(b"a")]])
    stamp_ms = table.get(b"a")[b"d:x"].stamp_ms
    table.delete([CellKey(b"a", b"d:x")], until_ms=stamp_ms)
    time.sleep(0.005)
    table.write([[put(b"a", b"d:x", b"again")]])
    assert values(table.get(b"a")) == {b"d:x": b"again"}


def test_many_cells_are_deleted(table: Table) -> None:
    rows = [b"%05d" % number for number in range(15_000)]
    table.write([[put(row) for row in rows]])
    stamp_ms = max(cell.stamp_ms for row in table.rows(rows).values() for cell in row.values())
    table.delete([CellKey(row, b"d:x") for row in rows[1:]], until_ms=stamp_ms)
    assert keys(table, b"", b"z") == rows[:1]


def test_splits_are_keys_in_order_within_their_bounds(table: Table) -> None:
    assert table.splits(b"a", b"z", parts=4) == []
    table.write([[put(b"%03d" % number) for number in range(200)]])
    splits = table.splits(b"050", b"150", parts=5)
    assert splits == sorted(set(splits))
    assert all(b"050" < key < b"150" for key in splits)
    assert len(splits) < 5


def test_splits_part_rows_evenly(path: Path) -> None:
    """By cells, where the engine does not say itself how it keeps them."""
    with closing(open_table(f"sqlite:///{path}")) as table:
        table.write(
            [[put(b"%04d" % number, b"d:%d" % column) for number in range(1000) for column in range(3)]]
        )
        table.write([[put(b"0500", b"d:%04d" % column) for column in range(3000)]])
        bounds = [b"", *table.splits(b"", b"z", parts=6), b"z"]
        sizes = [sum(len(row) for _, row in table.scan(start, stop)) for start, stop in pairwise(bounds)]
        assert len(sizes) == 4
        assert max(sizes) <= 3000 + 6000 // 6 + 3
        assert min(sizes) >= 400


def test_a_put_with_a_time_of_its_own_has_it(table: Table) -> None:
    """In rows of no other test: on HBase a delete hides puts with an earlier time."""
    table.put_stamped(
        [
            StampedPut(b"timed-a", b"d:x", b"1", 1_442_863_938_000),
            StampedPut(b"timed-a", b"d:y", b"2", 1_442_863_939_000),
            StampedPut(b"timed-b", b"d:x", b"3", 1_442_863_938_000),
        ]
    )
    assert {key: dict(row) for key, row in table.rows([b"timed-a", b"timed-b"]).items()} == {
        b"timed-a": {b"d:x": (b"1", 1_442_863_938_000), b"d:y": (b"2", 1_442_863_939_000)},
        b"timed-b": {b"d:x": (b"3", 1_442_863_938_000)},
    }


def test_a_later_put_hides_one_with_an_earlier_time(table: Table) -> None:
    table.put_stamped([StampedPut(b"timed-a", b"d:x", b"1", 1_442_863_938_000)])
    table.write([[put(b"timed-a", value=b"2")]])
    assert values(table.get(b"timed-a")) == {b"d:x": b"2"}
