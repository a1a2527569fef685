"""A document with members that are given twice is refused at the cost of its size."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.runtime.errors import TooLarge, UnreadableDocument
from fll_hbase.sources import openlineage, strict_json
from tests.support.large_documents import DOCUMENTS
from tests.support.work import count_calls

JSON_VALUES = st.recursive(
    st.none() | st.integers(0, 9) | st.text('{}[]"\\,a', max_size=6),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text('{["\\', max_size=3), part, max_size=4),
)


class Name(str):
    """A name that counts how often it is compared with others."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("count", [10, 1_000, 50_000])
def test_the_member_that_is_given_twice_is_found_in_one_pass(count: int) -> None:
    names = [*(f"a{number}" for number in range(count)), "z", "z"]
    Name.comparisons = 0
    with pytest.raises(UnreadableDocument, match="member 'z' is given twice in one object"):
        strict_json._members([(Name(name), 0) for name in names])
    # Of names with equal hashes; a quadratic search would compare each with all others.
    assert Name.comparisons < 10 + count


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(UnreadableDocument, match="byte order mark"):
        strict_json.parse(b"\xef\xbb\xbf{}")


def test_the_first_of_several_is_named() -> None:
    with pytest.raises(UnreadableDocument, match="member 'b' is given twice"):
        strict_json.parse(b'{"a": 1, "b": 2, "c": 3, "c": 4, "b": 5}')


def _containers(value: Any) -> int:
    """How many objects and arrays a value has, itself among them."""
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + sum(map(_containers, value)) if isinstance(value, list) else 0


@given(JSON_VALUES, st.integers(2, 6))
def test_objects_and_arrays_are_counted_outside_of_strings(value: Any, chunk_bytes: int) -> None:
    raw = json.dumps(value).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "BYTES_PER_CONTAINER_MIN", 2 * len(raw))
        patch.setattr(strict_json, "_CHUNK_BYTES", chunk_bytes)
        patch.setattr(strict_json, "CONTAINERS_MAX", _containers(value))
        assert strict_json.parse(raw) == value
        if _containers(value):
            patch.setattr(strict_json, "CONTAINERS_MAX", _containers(value) - 1)
            with pytest.raises(TooLarge, match="objects and arrays"):
                strict_json.parse(raw)


@pytest.mark.parametrize("parse", [strict_json.parse, strict_json.parse_with_halves, openlineage.parse])
@pytest.mark.parametrize("item", [b"{}", b"[]", b'{"a":0}', b'{"a":{"a":[]}}', b'"\\"[",[]'])
def test_a_text_of_small_objects_is_refused_before_it_is_parsed(
    parse: Callable[[bytes], object], item: bytes
) -> None:
    raw = b"[" + b",".join([item] * strict_json.CONTAINERS_MAX) + b"]"

    def refuse() -> None:
        with pytest.raises(TooLarge, match="more than 500,000 objects and arrays; send it in parts"):
            parse(raw)

    # Parsing calls a function for each object.
    assert count_calls(refuse) < 4_000


def test_as_many_as_are_allowed_are_parsed() -> None:
    raw = b"[" + b",".join([b"[]"] * (strict_json.CONTAINERS_MAX - 1)) + b"]"
    assert len(strict_json.parse(raw)) == strict_json.CONTAINERS_MAX - 1


def _event(count: int) -> Any:
    """An event with lineage of as many fields with two inputs each, and their types."""
    names = [f"field{number}" for number in range(count)]
    schema = {"fields": [{"name": name, "type": "string"} for name in names]}
    source = {"namespace": "warehouse", "name": "source"}
    inputs = {name: [{**source, "field": f"{name}_{part}"} for part in "ab"] for name in names}
    lineage = {"fields": {name: {"inputFields": fields} for name, fields in inputs.items()}}
    facets = {"schema": schema, "columnLineage": lineage}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "run": {"runId": "01890000-0000-7000-8000-000000000000"},
        "job": {"namespace": "jobs", "name": "nightly"},
        "inputs": [],
        "outputs": [{"namespace": "warehouse", "name": "target", "facets": facets}],
    }


def test_large_documents_that_people_send_are_read() -> None:
    reader = DocumentReader(columns=lambda _: None)
    event = json.dumps(_event(50_000)).encode()
    assert event.count(b"{") > 200_000
    read = reader.read(event, format_named("openlineage"), namespace=None, now_ms=1)
    assert (len(read.runs), read.warnings) == (1, ())
    # Of artifacts only the count is looked at: reading them takes seconds.
    strict_json.check_containers(json.dumps(DOCUMENTS["models"][1](16_000_000)).encode())
    strict_json.check_containers(json.dumps(DOCUMENTS["stages"][1](12_000_000)).encode())
