"""Files of rows become documents of one run each, in bounded memory; rows out of order are refused."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.registry import format_named
from fll_hbase.ingest.row_documents import RowFile
from fll_hbase.runtime.errors import ConfigurationError, InputError

DATABRICKS = RowFile(format_named("databricks"), "databricks://h")
BYTES_MAX = 10_000


def row(statement: str | None, table: str = "a.b.c", **others: Any) -> dict[str, Any]:
    members = {"statement_id": statement, "source_table_full_name": table, **others}
    return {name: value for name, value in members.items() if value is not None}


def ndjson(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in rows)


def read(raw: bytes | BinaryIO, name: str = "-", bytes_max: int = BYTES_MAX) -> list[InputLine]:
    file = io.BytesIO(raw) if isinstance(raw, bytes) else raw
    return list(DATABRICKS.read(file, name=name, bytes_max=bytes_max))


def contents(lines: list[InputLine]) -> list[tuple[int, Any]]:
    """Line and rows of each document, or the detail of its first error."""
    return [
        (line.number, json.loads(line.raw)["databricks"] if line.error is None else detail(line))
        for line in lines
    ]


def detail(line: InputLine) -> str:
    return str(line.error.errors[0] if isinstance(line.error, InputError) else line.error)


ROWS = [row("1", "a"), row("1", "é,\n\"x'"), row("2", "c"), row("3", "d", created_by="x")]
GROUPED = [(1, ROWS[:2]), (3, ROWS[2:3]), (4, ROWS[3:])]


def as_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, ["statement_id", "source_table_full_name", "created_by"], delimiter=delimiter
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "standard input"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", ["lines", "array", "csv", "csv with a mark", "tsv"])
def test_every_form_of_a_file(form: str, packed: bool, is_named: bool) -> None:
    raw = {
        "lines": ndjson(ROWS),
        "array": json.dumps(ROWS).encode(),
        "csv": as_csv(ROWS),
        "csv with a mark": b"\xef\xbb\xbf" + as_csv(ROWS),
        "tsv": as_csv(ROWS, "\t"),
    }[form]
    name = f"rows.{form[:3]}{'.gz' if packed else ''}" if is_named else "-"
    lines = read(gzip.compress(raw) if packed else raw, name)
    assert [rows for _, rows in contents(lines)] == [rows for _, rows in GROUPED]
    assert json.loads(lines[0].raw)["datasetNamespace"] == "databricks://h"
    if form == "lines":
        assert contents(lines) == GROUPED


def test_parquet(tmp_path: Path) -> None:
    time = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
    rows = [{"created_by": None, **item, "event_time": time, "e": {"f": [1]}} for item in ROWS]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "rows", row_group_size=2)
    with (tmp_path / "rows").open("rb") as file:
        lines = contents(read(file))
    added = {"event_time": "2026-01-31T09:30:00Z", "e": {"f": [1]}}
    assert lines == [(number, [item | added for item in rows]) for number, rows in GROUPED]


@pytest.mark.parametrize("is_int96", [False, True])
def test_times_of_parquet_in_nanoseconds(tmp_path: Path, is_int96: bool) -> None:
    """Spark writes INT96 unless it is configured otherwise, and pandas writes nanoseconds."""
    times = pa.array([1_769_851_800_123_456_789], pa.timestamp("ns"))
    table = pa.table({"statement_id": ["1"], "event_time": times, "d": pa.array([5], pa.duration("ns"))})
    pq.write_table(table, tmp_path / "rows", use_deprecated_int96_timestamps=is_int96)
    with (tmp_path / "rows").open("rb") as file:
        ((_, (item,)),) = contents(read(file))
    assert item["event_time"] == "2026-01-31T09:30:00.123456"


def test_a_time_of_parquet_that_does_not_exist_is_one_error(tmp_path: Path) -> None:
    table = pa.table({"statement_id": ["1"], "event_time": pa.array([2**62], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "rows")
    with (tmp_path / "rows").open("rb") as file:
        ((_, error),) = contents(read(file))
    assert "not Parquet" in error


def test_nulls_of_csv_have_several_texts() -> None:
    raw = b"statement_id,source_table_full_name,source_path\n1,a,\\N\n1,null,b\n1,NULL,\n"
    assert contents(read(raw, "x.csv")) == [
        (2, [row("1", "a"), {"statement_id": "1", "source_path": "b"}, {"statement_id": "1"}])
    ]


def test_broken_parquet_is_one_error(tmp_path: Path) -> None:
    lines = contents(read(b"PAR1 is no Parquet"))
    assert len(lines) == 1
    assert "not Parquet" in lines[0][1]


def test_parquet_needs_a_file_that_can_seek() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(ConfigurationError, match="standard input"):
        read(Pipe(b"PAR1..."))


def test_rows_that_come_apart_are_refused() -> None:
    lines = contents(read(ndjson([row("1"), row("3"), row("2"), row("3"), row("4")])))
    assert [(number, type(rows)) for number, rows in lines] == [
        (1, list), (2, list), (3, str), (4, str), (5, list),
    ]  # fmt: skip
    assert lines[2][1].startswith("statement_id: run '2' follows run '3'")


def test_a_row_that_cannot_be_read_refuses_the_runs_next_to_it() -> None:
    raw = ndjson([row("1")]) + b'{"statement_id":"1"},{}\n\n' + ndjson([row("2"), row("2"), row("3")])
    lines = contents(read(raw))
    assert [number for number, _ in lines] == [1, 2, 4, 6]
    assert "line 2 cannot be read" in lines[0][1]
    assert "line 2 cannot be read" in lines[2][1]
    assert lines[3][1] == [row("3")]


def test_a_row_without_a_run_is_a_document_of_its_own() -> None:
    """Its reader names all of its faults."""
    lines = contents(read(ndjson([row("1"), row(None), row("2"), row("3")])))
    assert [(number, type(rows)) for number, rows in lines] == [(1, str), (2, list), (3, str), (4, list)]


def test_a_run_that_is_too_large_is_refused_and_others_are_not() -> None:
    rows = [row("1"), *[row("2", "t" * 100)] * 100, row("3")]
    lines = contents(read(ndjson(rows)))
    assert [number for number, _ in lines] == [1, 2, 102]
    assert "longer than 10000 bytes" in lines[1][1]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a,b\n1\n", "has 1 values, but the header has 2"),
        (b'a,b\n"1,2\n', "not CSV in UTF-8"),
        (b"a,b\n\xff,2\n", "not CSV in UTF-8"),
        (b"a,b,a\n1,2,3\n", "has 'a' more than once"),
        (b"a,b\n" + b"1," * BYTES_MAX, "a row has more than 10000 characters"),
        (b"a,b\n" + b'"\n",' * BYTES_MAX, "a row has more than 10000 characters"),
        (b'a,b\n"' + b"x\n" * BYTES_MAX, "a row has more than 10000 characters"),
    ],
)
def test_broken_csv_is_an_error_with_its_line(raw: bytes, expected: str) -> None:
    ((number, error),) = contents(read(raw, "x.csv"))
    assert number in (1, 2)
    assert expected in error


def test_another_reader_with_a_lower_limit_changes_nothing() -> None:
    rows = [row(str(number), "t" * 5_000) for number in range(5)]
    lines = DATABRICKS.read(io.BytesIO(as_csv(rows)), name="x.csv", bytes_max=BYTES_MAX)
    first = next(lines)
    assert "a row has more than 10 characters" in detail(read(as_csv(rows), "x.csv", bytes_max=10)[0])
    assert [item for _, group in contents([first, *lines]) for item in group] == rows


@given(st.lists(st.sampled_from(["a", "b", "B", "c", "", None, "é"]), max_size=12))
def test_a_run_is_complete_or_refused(statements: list[str | None]) -> None:
    rows = [row(statement, str(number)) for number, statement in enumerate(statements)]
    lines = contents(read(ndjson(rows)))
    runs = [content[0].get("statement_id") for _, content in lines if isinstance(content, list)]
    ids = [run for run in runs if run]
    assert ids == sorted(set(ids))
    ordered = sorted(
        (item for item in rows if item.get("statement_id")), key=lambda item: item["statement_id"]
    )
    documents = [content for _, content in contents(read(ndjson(ordered)))]
    assert list(itertools.chain.from_iterable(documents)) == ordered
    assert len(documents) == len({item["statement_id"] for item in ordered})


@pytest.mark.parametrize("name", ["x", "x.csv.gz", "x.ndjson.gz"])
@pytest.mark.parametrize("size", [2, 3, 12, 30])
def test_broken_gzip_is_an_error(name: str, size: int) -> None:
    broken = gzip.compress(as_csv(ROWS) if "csv" in name else ndjson(ROWS))[:size]
    *_, (_, error) = contents(read(broken, name))
    assert "not read" in error or "no row was read" in error


def test_json_is_not_read_as_csv() -> None:
    ((_, error),) = contents(read(b'"statement_id", 1\n', "x.ndjson"))
    assert "JSON" in error


@given(st.binary(max_size=100), st.sampled_from(["x.csv", "x", "x.csv.gz", "x.tsv"]))
def test_any_bytes_are_documents_or_errors(raw: bytes, name: str) -> None:
    for line in read(raw, name):
        assert line.raw or line.error


class Generated(io.RawIOBase):
    """A file of `count` rows that exists only in part."""

    def __init__(self, count: int) -> None:
        self._parts = self._chunks(count)
        self._rest = b""

    @staticmethod
    def _chunks(count: int) -> Iterator[bytes]:
        for start in range(0, count, 100):
            stop = min(start + 100, count)
            yield ndjson(
                [row(f"{number // 4:09}", f"main.raw.t{number % 7}") for number in range(start, stop)]
            )

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


@pytest.mark.parametrize("count", [10, 1_000, 50_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_memory_does_not_grow_with_the_file(count: int) -> None:
    tracemalloc.start()
    try:
        file: Any = Generated(count)
        documents = sum(1 for _ in DATABRICKS.read(file, name="-", bytes_max=2**24))
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    print(f"{count:,} rows: {peak_bytes:,} bytes")
    assert documents == -(-count // 4)
    assert peak_bytes < 2 * 2**20
