"""Every engine behaves like a dictionary under any sequence of operations."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count, islice

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fll_hbase.tables import Put, Scan, Sync, Table

PREFIXES = count()
"""Every example has rows of its own in one table."""

rows = st.binary(max_size=2) | st.sampled_from([b"a", b"a\x00", b"b", b"\xff\xff"])
columns = st.sampled_from([b"d:a", b"d:ab", b"d:\xff", b"o:a", b"o:b|x"])
requested_columns = st.lists(columns | st.sampled_from([b"d:", b"o:"]), max_size=3)
batches = st.lists(st.lists(st.tuples(rows, columns, st.binary(max_size=3)), max_size=4), max_size=3)

writes = st.tuples(st.just("write"), batches, st.sampled_from(Sync))
gets = st.tuples(st.just("get"), rows, requested_columns)
many_gets = st.tuples(st.just("rows"), st.lists(rows, max_size=5), requested_columns)
scans = st.tuples(st.just("scan"), rows, rows, requested_columns, st.none() | st.integers(0, 3))
many_scans = st.tuples(
    st.just("scans"),
    st.lists(st.tuples(rows, rows, requested_columns, st.none() | st.integers(0, 3)), max_size=4),
)


class Model:
    """A table as one dictionary of cells."""

    def __init__(self) -> None:
        self._cells: dict[tuple[bytes, bytes], bytes] = {}

    def write(self, batches: list[list[Put]]) -> None:
        for batch in batches:
            self._cells.update({(put.row, put.column): put.value for put in batch})

    def get(self, row: bytes, requested: Collection[bytes]) -> dict[bytes, bytes]:
        return {
            column: value
            for (key, column), value in self._cells.items()
            if key == row and (not requested or column in requested or column[:2] in requested)
        }

    def scan(
        self, start: bytes, stop: bytes, requested: Collection[bytes], limit: int | None
    ) -> list[tuple[bytes, dict[bytes, bytes]]]:
        keys = sorted({key for key, _ in self._cells if start <= key < stop})
        return list(islice(((key, row) for key in keys if (row := self.get(key, requested))), limit))


@given(steps=st.lists(writes | gets | many_gets | scans | many_scans, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_answers_as_a_dictionary_would(table: Table, steps: list[tuple]) -> None:
    prefix, model = b"%06d|" % next(PREFIXES), Model()
    for action, *arguments in steps:
        if action == "write":
            batches = [
                [Put(prefix + row, column, value) for row, column, value in batch] for batch in arguments[0]
            ]
            table.write(batches, sync=arguments[1])
            model.write(batches)
        elif action == "get":
            row, requested = prefix + arguments[0], arguments[1]
            assert plain(table.get(row, columns=requested)) == model.get(row, requested)
        elif action == "rows":
            keys, requested = [prefix + row for row in arguments[0]], arguments[1]
            rows = {key: plain(row) for key, row in table.rows(keys, columns=requested).items()}
            assert rows == {key: row for key in keys if (row := model.get(key, requested))}
        elif action == "scans":
            read = table.scan_many(
                [
                    Scan(prefix + start, prefix + stop, requested, limit)
                    for start, stop, requested, limit in arguments[0]
                ]
            )
            assert [[(key, plain(row)) for key, row in rows] for rows in read] == [
                model.scan(prefix + start, prefix + stop, requested, limit)
                for start, stop, requested, limit in arguments[0]
            ]
        else:
            start, stop, requested, limit = (
                prefix + arguments[0],
                prefix + arguments[1],
                arguments[2],
                arguments[3],
            )
            scanned = [
                (key, plain(row)) for key, row in table.scan(start, stop, columns=requested, limit=limit)
            ]
            assert scanned == model.scan(start, stop, requested, limit)
    everything = [(key, plain(row)) for key, row in table.scan(prefix, prefix + b"\xff" * 3)]
    assert everything == model.scan(prefix, prefix + b"\xff" * 3, (), None)


def plain(row: dict) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.items()}
