"""Items of a JSON array are those that a JSON parser finds, wherever the chunks are cut."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.ingest.ndjson import read_documents, read_items

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\[]{},\n é', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]), st.integers(1, 40))
def test_items_are_those_of_the_array(items: list[Any], indent: int | None, chunk_bytes: int) -> None:
    text = f"\n {json.dumps(items, indent=indent)}\n".encode()
    chunks = [text[start : start + chunk_bytes] for start in range(0, len(text), chunk_bytes)]
    read = list(read_items(chunks, bytes_max=10_000))
    assert not any(item.error for item in read)
    assert [json.loads(item.raw) for item in read] == items
    lines = text.split(b"\n")
    assert all(lines[item.number - 1].strip() for item in read)


def _documents(raw: bytes, bytes_max: int = 100) -> list[tuple[int, bytes | str]]:
    lines = read_documents(io.BytesIO(raw), bytes_max=bytes_max)
    return [(line.number, str(line.error) if line.error else line.raw) for line in lines]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_with_an_array_has_its_items_as_documents(pack: Any) -> None:
    raw = b'[\n {"a": "]"},\n\n {\n"b": [1, 2]}\n]\n'
    assert _documents(pack(raw)) == [(2, b'{"a": "]"}'), (4, b'{\n"b": [1, 2]}')]


def test_an_array_without_items_has_no_document() -> None:
    assert _documents(b" [ ] ") == []


def test_an_item_that_is_too_long_does_not_cost_the_others() -> None:
    (_, first), (number, error), (_, last) = _documents(b'[{"a": 1},\n"%b",\n{"b": 2}]' % (b"x" * 200_000))
    assert (first, last) == (b'{"a": 1}', b'{"b": 2}')
    assert number == 2
    assert "longer than 100 bytes" in str(error)


def test_an_item_that_is_too_long_is_named_by_its_first_line() -> None:
    part = b"x" * 200_000
    (number, error), (_, last) = _documents(b'[{"a": "%b",\n"b": "%b"},\n{"c": 1}]' % (part, part))
    assert (number, last) == (1, b'{"c": 1}')
    assert "longer than 100 bytes" in str(error)


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b'[{"a": 1}, {"b"', "the array does not end"),
        (b'[{"a": 1}', "the array does not end"),
        (b'[{"a": 1}] {"b": 2}', "something follows the array"),
        (b"[" * 10_000, "the array does not end"),
        (gzip.compress(b'[{"a": 1}, {"b": 2}]' * 2_000)[:-20], "something follows the array"),
        (gzip.compress(b'[{"a": 1}' + b" " * 100_000 + b"]")[:-20], "broken gzip"),
    ],
)
def test_what_cannot_be_read_to_its_end_says_so(raw: bytes, fault: str) -> None:
    assert fault in str(_documents(raw)[-1][1])


def test_a_missing_item_is_left_to_its_reader() -> None:
    assert [raw for _, raw in _documents(b"[1,,2,]")] == [b"1", b"", b"2", b""]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("front", [b"\n\n  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_blanks_and_a_byte_order_mark_may_be_in_front(pack: Any, front: bytes) -> None:
    array, lines = b'[{"a": 1},\n{"b": 2}]', b'{"a": 1}\n{"b": 2}\n'
    assert [raw for _, raw in _documents(pack(front + array))] == [b'{"a": 1}', b'{"b": 2}']
    assert [str(raw).count("{") for _, raw in _documents(pack(front + lines))] == [1, 1]
