"""The schemas of the API, the strict reader and the cached reader agree on every document."""

from __future__ import annotations

from typing import Any

import marshmallow as ma
from documents import first_design, worked
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutations import damaged, documents, mutated, written
from strategies import names

from api.openapi.documents import FirstDesignDocumentSchema, LineageDocumentSchema
from fll_hbase.errors import InvalidLineage, TooLarge, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.native import document
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.sources.native.document import Reading

READER = CachedDocumentReader()
"""One for all examples, so that it remembers operations of earlier ones."""

Outcome = tuple[type[Any], Any]


def shape_accepted(said: Any) -> bool:
    """Whether the strict reading finds no fault of shape; a document may name its namespace."""
    named = isinstance(said, dict) and "namespace" in said
    try:
        document.read(said, namespace=None if named else "ns1")
    except UnreadableDocument:
        return False
    except (InvalidLineage, TooLarge):
        return True
    return True


def schema_of(said: Any) -> ma.Schema:
    first = isinstance(said, dict) and "destination" in said
    return FirstDesignDocumentSchema() if first else LineageDocumentSchema()


@given(documents)
@example(worked())
@example(first_design())
def test_documents_of_the_right_shape_are_accepted_by_both(said: Any) -> None:
    assert schema_of(said).validate(said) == {}
    assert shape_accepted(said)


@settings(max_examples=600)
@given(mutated())
@example({**worked(), "namespace": "a" * 1_024})
@example({**worked(), "namespace": "a" * 1_025})
@example({**first_design(), "namespace": "é" * 513})
@example(worked(startTime=True))
@example(worked(startTime=1.0))
@example([])
@example(None)
@example({"destination": {"name": "x", "fields": None}})
def test_a_schema_accepts_what_the_strict_reading_accepts(said: Any) -> None:
    assert (schema_of(said).validate(said) == {}) is shape_accepted(said)


def outcome(read: Any, *arguments: Any, **named: Any) -> Outcome:
    """What a reading gave, or the error that it raised; other errors come through."""
    try:
        found = read(*arguments, **named)
    except (UnreadableDocument, InvalidLineage) as error:
        return type(error), sorted(error.errors)
    except TooLarge as error:
        return TooLarge, str(error)
    assert isinstance(found, Reading)
    return Reading, (found.run, found.operations.info, sorted(found.warnings))


def strictly(raw: bytes, *, namespace: str | None) -> Reading:
    return document.read(strict_json.parse(raw), namespace=namespace)


def assert_alike(raw: bytes, namespace: str | None) -> None:
    """The fast reading, twice, must say what the strict one says."""
    expected = outcome(strictly, raw, namespace=namespace)
    assert expected[1], "no error without a fault"
    assert outcome(READER.read, raw, namespace=namespace) == expected
    assert outcome(READER.read, raw, namespace=namespace) == expected


namespaces = st.sampled_from(["ns1", "ns2", None]) | names


@given(st.data(), mutated(), namespaces)
def test_the_fast_reading_is_the_strict_one(data: st.DataObject, said: Any, namespace: str | None) -> None:
    assert_alike(data.draw(written(said)), namespace)
    assert_alike(data.draw(written(said)), namespace)


@settings(max_examples=300)
@given(st.data(), documents, st.sampled_from(["ns1", None]))
def test_likewise_of_damaged_bytes_of_remembered_operations(
    data: st.DataObject, said: Any, namespace: str | None
) -> None:
    said.pop("namespace", None)
    raw = data.draw(written(said))
    assert_alike(raw, namespace)
    for _ in range(3):
        assert_alike(data.draw(damaged(raw)), namespace)


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_reading_or_one_of_three_errors(raw: bytes) -> None:
    assert_alike(raw, "ns1")


@given(st.data(), documents)
def test_another_run_of_remembered_operations(data: st.DataObject, said: Any) -> None:
    said.pop("namespace", None)
    assert_alike(data.draw(written(said)), "ns1")
    said["run"]["run"] += " again"
    assert_alike(data.draw(written(said)), "ns1")
    assert_alike(data.draw(written({**said, "x": said["operations"]})), "ns1")
    assert_alike(data.draw(written({"x": [said["operations"]], **said, "colour": "red"})), "ns2")
