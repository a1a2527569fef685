"""The OpenAPI document, the strict reader and the cached reader agree on every document."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api import create_app
from fll_hbase.runtime.errors import InvalidLineage, TooLarge, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.native import document
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.sources.native.document import Reading
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.document_mutations import damaged, documents, mutated, mutations, written
from tests.support.lineage_documents import first_design, worked
from tests.support.strategies import names

READER = CachedDocumentReader()
"""One for all examples, so that it remembers operations of earlier ones."""

NOT_IN_SCHEMAS = re.compile(r"is longer than \d+ bytes|lone surrogate|is a fraction|goes with `\"influence\"")
"""Faults that no schema states: bytes, half of a character, `1.0`, and a kind without its influence."""

MUTATIONS, DAMAGES = 12, 15
"""Changes of one document: of its members, and of its bytes."""

Outcome = tuple[type[Any], Any]


@cache
def validators() -> tuple[jsonschema_rs.Validator, jsonschema_rs.Validator]:
    """Return those of the form with operations alone and of the name-based form, of the OpenAPI document."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    components = create_app(store).test_client().get("/openapi.json").json["components"]
    by_id, by_name = (
        jsonschema_rs.Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": components})
        for name in ("LineageDocument", "FirstDesignDocument")
    )
    return by_id, by_name


def schema_accepts(payload: Any) -> bool:
    first = isinstance(payload, dict) and "destination" in payload
    # Halves of surrogate pairs, which a schema of texts cannot name, cannot be handed to the validator.
    return validators()[first].is_valid(json.loads(json.dumps(payload).replace("\\ud", "\\u0d")))


def shape_faults(payload: Any) -> tuple[str, ...]:
    """The faults of shape that the strict reading finds; a document may name its namespace."""
    by_name = isinstance(payload, dict) and "namespace" in payload
    try:
        document.read(payload, namespace=None if by_name else "ns1")
    except UnreadableDocument as error:
        return tuple(fault.detail for fault in error.errors)
    except (InvalidLineage, TooLarge):
        return ()
    return ()


@given(documents)
@example(worked())
@example(first_design())
def test_documents_of_the_right_shape_are_accepted_by_both(payload: Any) -> None:
    assert schema_accepts(payload)
    assert not shape_faults(payload)


@pytest.mark.slow
@given(st.data(), documents)
def test_a_schema_accepts_what_the_strict_reading_accepts(data: st.DataObject, payload: Any) -> None:
    # Several changes of one document: a document takes far longer to draw than a change of it.
    for _ in range(MUTATIONS):
        assert_accepted_alike(data.draw(mutations(payload)))


@pytest.mark.parametrize(
    "payload",
    [
        {**worked(), "namespace": "a" * 1_024},
        {**worked(), "namespace": "a" * 1_025},
        {**first_design(), "namespace": "é" * 513},
        worked(startTime=True),
        worked(startTime=1.0),
        [],
        None,
        {"destination": {"name": "x", "fields": None}},
    ],
    ids=["longest", "too long", "too many bytes", "true", "decimal", "list", "null", "no fields"],
)
def test_likewise_at_the_limits(payload: Any) -> None:
    assert_accepted_alike(payload)


def assert_accepted_alike(payload: Any) -> None:
    faults = shape_faults(payload)
    if schema_accepts(payload):
        assert all(NOT_IN_SCHEMAS.search(fault) for fault in faults)
    else:
        assert faults


def outcome(read: Any, *arguments: Any, **by_name: Any) -> Outcome:
    """Return the result of a reader, or the error it raised; other errors propagate."""
    try:
        result = read(*arguments, **by_name)
    except (UnreadableDocument, InvalidLineage) as error:
        return type(error), sorted(error.errors)
    except TooLarge as error:
        return TooLarge, str(error)
    assert isinstance(result, Reading)
    return Reading, (result.run, result.operations.info, sorted(result.warnings))


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
def test_the_fast_reading_is_the_strict_one(data: st.DataObject, payload: Any, namespace: str | None) -> None:
    assert_alike(data.draw(written(payload)), namespace)
    assert_alike(data.draw(written(payload)), namespace)


@given(st.data(), documents, st.sampled_from(["ns1", None]))
def test_likewise_of_damaged_bytes_of_remembered_operations(
    data: st.DataObject, payload: Any, namespace: str | None
) -> None:
    payload.pop("namespace", None)
    raw = data.draw(written(payload))
    assert_alike(raw, namespace)
    for _ in range(DAMAGES):
        assert_alike(data.draw(damaged(raw)), namespace)


def test_an_error_behind_remembered_operations_has_its_position_in_the_document() -> None:
    raw = b"""{"operations": [
        {"type": "READ", "name": "r", "source": {"name": "s"}, "outputs": ["a"]},
        {"type": "WRITE", "name": "w", "destination": {"name": "t"}, "inputs": [{"origin": "r", "name": "a"}]}
    ], "run": {"application": "%b", "type": "t", "program": "p", "run": "r", "startTime": 1}}"""
    assert READER.read(raw % b"a", namespace="ns1")
    assert_alike(raw % b"\xff", "ns1")


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_reading_or_one_of_three_errors(raw: bytes) -> None:
    assert_alike(raw, "ns1")


@given(st.data(), documents)
def test_another_run_of_remembered_operations(data: st.DataObject, payload: Any) -> None:
    payload.pop("namespace", None)
    assert_alike(data.draw(written(payload)), "ns1")
    payload["run"]["run"] += " again"
    assert_alike(data.draw(written(payload)), "ns1")
    assert_alike(data.draw(written({**payload, "x": payload["operations"]})), "ns1")
    assert_alike(data.draw(written({"x": [payload["operations"]], **payload, "colour": "red"})), "ns2")
