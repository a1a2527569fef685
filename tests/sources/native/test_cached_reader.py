"""Operations that are remembered by their bytes: of recorded documents alone, weighed by their memory."""

from __future__ import annotations

import gc
import json
import sys
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.runtime.errors import LineageError
from fll_hbase.sources.native import document
from fll_hbase.sources.native.cached_reader import (
    REMEMBERED_BYTES_MAX,
    CachedDocumentReader,
    OperationCache,
    memory_bytes,
)
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.lineage_documents import copying, run

NATIVE = format_named("lineage")
FACTOR_MAX = 4


def encoded(name: str, number: int = 0) -> bytes:
    return json.dumps(copying(name, "b", "x", run=run(f"{name}-{number}"))).encode()


def read(reader: DocumentReader, raw: bytes, namespace: str = "ns") -> ParsedDocument:
    return reader.read(raw, NATIVE, namespace=namespace, now_ms=0)


@pytest.fixture
def store() -> LineageStore:
    return LineageStore(open_table("sqlite:///:memory:"))


class TestWhatIsRemembered:
    def test_nothing_of_what_is_refused(self, store: LineageStore) -> None:
        """Neither a document that was only read, nor one whose run id belongs to another program."""
        cache = OperationCache()
        reader = DocumentReader(columns=lambda _: None, cache=cache)
        ingest(store, [read(reader, encoded("a"))])
        assert len(cache._recorded) == 1
        other = copying("c", "b", "x", run=run("a-0", program="other"))
        (refused,) = ingest(store, [read(reader, json.dumps(other).encode())])
        assert isinstance(refused, LineageError)
        for number in range(10):
            read(reader, encoded(f"only read {number}"))
        del refused
        gc.collect()
        assert len(cache._recorded) == len(cache._read) == 1

    def test_what_was_recorded_is_found(self, store: LineageStore) -> None:
        cache = OperationCache()
        reader = CachedDocumentReader(cache)
        first = reader.read(encoded("a"), namespace="ns")
        assert first.on_recorded is not None
        first.on_recorded()
        operations = first.operations
        del first
        later = reader.read(encoded("a", 1), namespace="ns")
        assert later.operations is operations
        assert later.on_recorded is None
        assert reader.read(encoded("a", 1), namespace="other").operations is not operations

    def test_equal_documents_of_a_batch_are_parsed_once(self) -> None:
        reader = CachedDocumentReader()
        readings = [reader.read(encoded("a", number), namespace="ns") for number in range(5)]
        assert len({id(reading.operations) for reading in readings}) == 1

    def test_readers_of_another_scope_do_not_find_it(self) -> None:
        cache = OperationCache()
        readers = [CachedDocumentReader(cache, scope=scope) for scope in ("a", "a", "b")]
        first, same, other = (reader.read(encoded("a"), namespace="ns") for reader in readers)
        assert first.operations is same.operations
        assert first.operations is not other.operations

    def test_all_readers_have_one_bound(self) -> None:
        cache = OperationCache(bytes_max=100_000)
        for number in range(200):
            reading = CachedDocumentReader(cache, scope=number).read(encoded(f"{number}"), namespace="ns")
            assert reading.on_recorded is not None
            reading.on_recorded()
        assert 80_000 < cache._recorded.currsize <= 100_000
        # One that is larger than all of it is left out.
        large = copying("a" * 4_000, "b" * 4_000, *(f"field {number}" for number in range(2_000)))
        reading = CachedDocumentReader(cache).read(json.dumps(large).encode(), namespace="ns")
        assert reading.on_recorded is not None
        reading.on_recorded()
        assert 80_000 < cache._recorded.currsize <= 100_000


texts = st.one_of(st.text("ab", min_size=1, max_size=3), st.text(min_size=1, max_size=60))


@st.composite
def operations(draw: st.DrawFn) -> list[Any]:
    """Operations of many shapes: few and many, wide and deep, with long texts, types and warnings."""
    fields = [f"{draw(texts)}{number}" for number in range(draw(st.sampled_from([1, 2, 10, 200])))]
    types = draw(st.sampled_from(["", "int", "a type with a long name"]))
    outputs: list[Any] = [{"name": name, "type": types} if types else name for name in fields]
    description = draw(st.sampled_from(["", "ascii " * 200, "é" * 200, "ascii 😀 " * 200]))
    listed: list[Any] = [
        {
            "type": "READ",
            "name": "read",
            "description": description,
            "source": {"name": draw(texts)},
            "outputs": draw(st.sampled_from([outputs, []])),
        }
    ]
    origin = "read"
    for number in range(draw(st.sampled_from([0, 1, 5, 60]))):
        inputs = [{"origin": origin, "name": name} for name in fields]
        transform = {"type": "TRANSFORM", "name": f"t{number}", "inputs": inputs, "outputs": outputs}
        listed.append(transform)
        origin = f"t{number}"
    for number in range(draw(st.sampled_from([1, 1, 30]))):
        inputs = [{"origin": origin, "name": name} for name in fields]
        target = {"name": f"{draw(texts)}{number}"}
        listed.append({"type": "WRITE", "name": f"w{number}", "destination": target, "inputs": inputs})
    return listed


def deep_bytes(value: object) -> int:
    """The memory of a value and of all that it refers to, without classes and members of enumerations."""
    seen: set[int] = set()
    stack, size = [value], 0
    while stack:
        item = stack.pop()
        if id(item) not in seen and not isinstance(item, type | Enum | bool | None):
            seen.add(id(item))
            size += sys.getsizeof(item)
            stack += gc.get_referents(item)
    return size


@given(operations(), st.booleans())
def test_the_estimate_is_not_too_low_and_not_much_too_high(listed: list[Any], ascii_only: bool) -> None:
    raw = json.dumps(listed, separators=(",", ":"), ensure_ascii=ascii_only).encode()
    parsed = document.read_operations({"operations": json.loads(raw)}, "ns")
    memory = deep_bytes(parsed) + len(raw)
    assert memory <= memory_bytes(len(raw), parsed) <= FACTOR_MAX * memory


def test_the_bound_is_one_of_memory() -> None:
    """Not of the bytes that were sent: these would be a tenth."""
    assert OperationCache()._recorded.maxsize == REMEMBERED_BYTES_MAX == 128 * 2**20
