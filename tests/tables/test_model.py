"""Does every engine answer as a dictionary would, whatever is put and asked in whatever order?"""

from __future__ import annotations

from collections.abc import Collection
from itertools import count, islice

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fll_hbase.tables import Put, Sync, Table

PREFIXES = count()
"""Every example has rows of its own in one table."""

rows = st.binary(max_size=2) | st.sampled_from([b"a", b"a\x00", b"b", b"\xff\xff"])
columns = st.sampled_from([b"d:a", b"d:ab", b"d:\xff", b"o:a", b"o:b|x"])
asked_columns = st.lists(columns | st.sampled_from([b"d:", b"o:"]), max_size=3)
batches = st.lists(st.lists(st.tuples(rows, columns, st.binary(max_size=3)), max_size=4), max_size=3)

writes = st.tuples(st.just("write"), batches, st.sampled_from(Sync))
gets = st.tuples(st.just("get"), rows, asked_columns)
many_gets = st.tuples(st.just("rows"), st.lists(rows, max_size=5), asked_columns)
scans = st.tuples(st.just("scan"), rows, rows, asked_columns, st.none() | st.integers(0, 3))


class Model:
    """A table as one dictionary of cells."""

    def __init__(self) -> None:
        self._cells: dict[tuple[bytes, bytes], bytes] = {}

    def write(self, batches: list[list[Put]]) -> None:
        for batch in batches:
            self._cells.update({(put.row, put.column): put.value for put in batch})

    def get(self, row: bytes, asked: Collection[bytes]) -> dict[bytes, bytes]:
        return {
            column: value
            for (key, column), value in self._cells.items()
            if key == row and (not asked or column in asked or column[:2] in asked)
        }

    def scan(
        self, start: bytes, stop: bytes, asked: Collection[bytes], limit: int | None
    ) -> list[tuple[bytes, dict[bytes, bytes]]]:
        keys = sorted({key for key, _ in self._cells if start <= key < stop})
        return list(islice(((key, row) for key in keys if (row := self.get(key, asked))), limit))


@given(steps=st.lists(writes | gets | many_gets | scans, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_answers_as_a_dictionary_would(table: Table, steps: list[tuple]) -> None:
    prefix, model = b"%06d|" % next(PREFIXES), Model()
    for what, *given_ in steps:
        if what == "write":
            made = [[Put(prefix + row, column, value) for row, column, value in batch] for batch in given_[0]]
            table.write(made, sync=given_[1])
            model.write(made)
        elif what == "get":
            row, asked = prefix + given_[0], given_[1]
            assert plain(table.get(row, columns=asked)) == model.get(row, asked)
        elif what == "rows":
            keys, asked = [prefix + row for row in given_[0]], given_[1]
            found = {key: plain(row) for key, row in table.rows(keys, columns=asked).items()}
            assert found == {key: row for key in keys if (row := model.get(key, asked))}
        else:
            start, stop, asked, limit = prefix + given_[0], prefix + given_[1], given_[2], given_[3]
            scanned = [(key, plain(row)) for key, row in table.scan(start, stop, columns=asked, limit=limit)]
            assert scanned == model.scan(start, stop, asked, limit)
    everything = [(key, plain(row)) for key, row in table.scan(prefix, prefix + b"\xff" * 3)]
    assert everything == model.scan(prefix, prefix + b"\xff" * 3, (), None)


def plain(row: dict) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.items()}
