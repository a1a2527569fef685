"""Documents of files in every form, compression and chunking, and their batches."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.cli.commands.record import BATCH_DOCUMENTS
from fll_hbase.ingest.document_batches import LocatedDocument, batch_documents
from fll_hbase.ingest.ndjson import InputLine, open_stream, read_documents
from fll_hbase.runtime.batches import BATCH_BYTES_MAX
from fll_hbase.runtime.errors import TooLarge

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
blanks = st.sampled_from([b"", b"\n", b" \n", b"\r\n\n"])
BYTES_MAX = 10_000


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time, as a pipe may."""

    def __init__(self, raw: bytes, size: int) -> None:
        self._raw = io.BytesIO(raw)
        self._size = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._raw.read(self._size if size < 0 else min(size, self._size))


def read(raw: bytes, *, packed: bool = False, size: int = 7) -> list[InputLine]:
    stream: Any = Trickle(gzip.compress(raw) if packed else raw, size)
    return list(read_documents(stream, bytes_max=BYTES_MAX))


@given(st.lists(st.tuples(objects, blanks), min_size=1, max_size=5), st.booleans(), st.integers(2, 50))
def test_one_a_line(items: list[tuple[Any, bytes]], packed: bool, size: int) -> None:
    raw = b"".join(blank + json.dumps(value).encode() + b"\n" for value, blank in items)
    lines = read(raw, packed=packed, size=size)
    assert [json.loads(line.raw) for line in lines] == [value for value, _ in items]
    raw_lines = raw.split(b"\n")
    assert all(json.loads(raw_lines[line.number - 1]) == json.loads(line.raw) for line in lines)


@given(objects.filter(bool), st.booleans(), st.integers(2, 50), st.sampled_from([1, "\t"]))
def test_one_over_many_lines(items: Any, packed: bool, size: int, indent: Any) -> None:
    (line,) = read(b"\n" + json.dumps(items, indent=indent).encode() + b"\n", packed=packed, size=size)
    assert (json.loads(line.raw), line.number) == (items, 2)


@given(
    st.lists(objects, min_size=1, max_size=3), st.sampled_from([None, 1]), st.booleans(), st.integers(2, 50)
)
def test_a_byte_order_mark_before_all_is_no_part_of_it(
    items: list[Any], indent: int | None, packed: bool, size: int
) -> None:
    for raw in (
        b"\n".join(json.dumps(item).encode() for item in items),
        json.dumps(items, indent=indent).encode(),
    ):
        lines = read(codecs.BOM_UTF8 + raw, packed=packed, size=size)
        assert lines == read(raw, packed=packed, size=size)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_documents_or_refusals(raw: bytes, packed: bool) -> None:
    for line in read(raw, packed=packed):
        assert line.error or line.raw.strip()


@given(st.integers(1, 20), st.integers(0, 200))
def test_truncated_gzip_is_reported_after_the_lines_that_are_whole(count: int, size: int) -> None:
    packed = gzip.compress(b"".join(b'{"a": %d}\n' % number for number in range(count)))
    cut = packed[: min(size, len(packed) - 1)]
    *good, last = [*read_documents(io.BytesIO(cut), bytes_max=BYTES_MAX)] or [InputLine(0, b"")]
    assert [json.loads(line.raw) for line in good] == [{"a": number} for number in range(len(good))]
    assert last.error is not None or len(cut) < 2


def test_a_bad_first_line_of_many_stays_one_line() -> None:
    lines = read(b'{"a": 1\n{"a": 2}\n{"a": 3}\n')
    assert [line.number for line in lines] == [1, 2, 3]


def test_a_line_may_be_as_long_as_the_limit() -> None:
    exact = json.dumps("x" * (BYTES_MAX - 2)).encode()
    for end in (b"", b"\n", b"\r\n"):
        (line,) = read(exact + end, size=1000)
        assert line.error is None
    one_more, following = read(b" " + exact + b"\n{}\n", size=1000)
    assert "longer than" in str(one_more.error)
    assert (following.number, following.raw) == (2, b"{}\n")


def batches(raws: Iterable[bytes]) -> list[list[LocatedDocument]]:
    lines = [InputLine(number, raw) for number, raw in enumerate(raws)]
    return list(batch_documents(lines, namespace="", documents_max=BATCH_DOCUMENTS))


def test_batches_are_bounded_and_lose_nothing() -> None:
    raws = [b'{"run": {"run": "%d"}}' % number for number in range(2 * BATCH_DOCUMENTS + 1)]
    result = batches(raws)
    assert [len(batch) for batch in result] == [BATCH_DOCUMENTS, BATCH_DOCUMENTS, 1]
    assert [document.line.raw for batch in result for document in batch] == raws
    large = [b" " * (BATCH_BYTES_MAX // 2 + 1)] * 3
    assert [len(batch) for batch in batches(large)] == [1, 1, 1]


def test_a_run_is_never_twice_in_a_batch() -> None:
    names = ["a", "b", "a", "c", "c", ""]
    result = batches(json.dumps({"run": {"run": name}}).encode() for name in names)
    runs = [[document.head.run for document in batch] for batch in result]
    assert runs == [["a", "b"], ["a", "c"], ["c", ""]]


class TestCostOfDecompression:
    """Bytes that decompress to next to nothing are given up after bounded work."""

    HEAD = b"\x1f\x8b\x08%c\0\0\0\0\0\xff"

    def refused(self, data: bytes) -> None:
        """Reading stops early, long before the end of the data."""
        source = io.BytesIO(data)
        stream = open_stream(source.read, gzipped=True, ratio_max=100)
        with pytest.raises(TooLarge):
            stream.read(2**24)
        assert len(source.read()) > len(data) / 2

    def test_a_name_without_end(self) -> None:
        self.refused(self.HEAD % 8 + b"a" * 2**20)

    def test_a_comment_without_end(self) -> None:
        self.refused(self.HEAD % 16 + b"a" * 2**20)

    def test_empty_members(self) -> None:
        self.refused(gzip.compress(b"") * 50_000)

    def test_extra_fields(self) -> None:
        member = self.HEAD % 4 + b"\xff\xff" + b"x" * 0xFFFF + gzip.compress(b"")[10:]
        self.refused(member * 20)

    def test_members_of_one_byte(self) -> None:
        self.refused(gzip.compress(b"a") * 50_000)

    def test_members_of_lines_are_read(self) -> None:
        line = b"x" * 200 + b"\n"
        stream = open_stream(io.BytesIO(gzip.compress(line) * 20_000).read, gzipped=True, ratio_max=100)
        assert stream.read(2**24) == line * 20_000
