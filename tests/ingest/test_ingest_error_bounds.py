"""Errors and warnings of one document are listed up to a bound and then counted, in every format."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import pytest

from fll_hbase.client.remote.problems import field_errors
from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime.errors import (
    ERRORS_COUNTED_MAX,
    ERRORS_LISTED_MAX,
    TEXT_CHARACTERS_MAX,
    ErrorList,
    FieldError,
    InputError,
    UnreadableDocument,
)
from fll_hbase.runtime.json_types import Json
from tests.support.format_documents import DOCUMENTS, encode
from tests.support.work import count_calls

OTHERS = "more are not listed; correct these first"
READER = DocumentReader(columns=lambda _: None)


def read(document: Json) -> ParsedDocument | Exception:
    """Read a document as a line of a batch is read."""
    raw = encode(document)
    return READER.try_read(raw, detect(raw), namespace="shop", now_ms=0)


def input_error(document: Json) -> InputError:
    """Return the error that a document is refused with."""
    result = read(document)
    assert isinstance(result, InputError)
    return result


def problems(document: Json) -> tuple[FieldError, ...]:
    """Return the errors that a document is refused with, or the warnings that it is read with."""
    result = read(document)
    if isinstance(result, ParsedDocument):
        return result.warnings
    assert isinstance(result, InputError)
    assert str(result).endswith(str(result.errors[-1]))
    return result.errors


def unknown_origins(number: int) -> Json:
    """A well-formed document, in which a WRITE has `number` inputs of unknown origin."""
    document = DOCUMENTS["lineage"]
    first, last = document["operations"]
    inputs = [{"origin": f"o{index}", "name": "x"} for index in range(number)]
    return {**document, "operations": [first, {**last, "inputs": inputs}]}


def unknown_inputs(number: int) -> Json:
    """A document of the first design, whose operation has `number` inputs that nothing outputs."""
    inputs = [{"field": {"name": f"f{index}"}} for index in range(number)]
    operation = {"name": "o", "inputs": inputs, "outputs": ["x"]}
    return {
        "run": DOCUMENTS["lineage"]["run"],
        "destination": {"name": "bills"},
        "operations": [operation],
    }


def unknown_stages(number: int) -> Json:
    """A pipeline with `number` connections of stages that do not exist."""
    config = {"stages": [], "connections": [{"from": "a", "to": f"b{index}"} for index in range(number)]}
    return {**DOCUMENTS["pipelines"], "config": config}


def wrong_upstreams(number: int) -> Json:
    """A DataHub proposal with `number` upstreams that are no objects."""
    return {
        "entityType": "dataset",
        "entityUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,bills,PROD)",
        "changeType": "UPSERT",
        "aspectName": "upstreamLineage",
        "aspect": {"json": {"upstreams": [1] * number}},
    }


def wrong_nodes(number: int) -> Json:
    """A dbt manifest with `number` nodes that are no objects."""
    manifest = DOCUMENTS["dbt"]["manifest"]
    nodes = manifest["nodes"] | {f"n{index}": 1 for index in range(number)}
    return {**DOCUMENTS["dbt"], "manifest": {**manifest, "nodes": nodes}}


HOSTILE = {
    "lineage": lambda number: {**DOCUMENTS["lineage"], "operations": [1] * number},
    "origins": unknown_origins,
    "first design": unknown_inputs,
    "openlineage": lambda number: {**DOCUMENTS["openlineage"], "inputs": [1] * number},
    "sql": lambda number: {**DOCUMENTS["sql"], "schema": {"t": [1] * number}},
    "pipelines": lambda number: {**DOCUMENTS["pipelines"], "config": {"stages": [1] * number}},
    "stages": unknown_stages,
    "datahub": wrong_upstreams,
    "dbt": wrong_nodes,
}
"""Documents with at least as many errors as the argument."""


@pytest.mark.parametrize("name", HOSTILE)
class TestErrors:
    def test_the_first_are_listed_and_the_others_counted(self, name: str) -> None:
        listed = problems(HOSTILE[name](2_000))
        count = sum(item.count for item in listed)
        assert len(listed) == ERRORS_LISTED_MAX + 1
        assert count >= 2_000
        assert listed[-1] == FieldError("", f"{count - 1_000:,} {OTHERS}", count - 1_000)
        assert all(item.count == 1 for item in listed[:-1])

    def test_beyond_the_bound_of_counting_the_number_is_the_least(self, name: str) -> None:
        listed = problems(HOSTILE[name](ERRORS_COUNTED_MAX + 20_000))
        count = sum(item.count for item in listed)
        assert count >= ERRORS_COUNTED_MAX
        assert len(listed) == ERRORS_LISTED_MAX + 1
        assert listed[-1].detail == f"at least {count - 1_000:,} {OTHERS}"


def test_the_work_is_bounded_and_not_only_the_list() -> None:
    smaller, larger = (
        encode({**DOCUMENTS["lineage"], "operations": [1] * number}) for number in (20_000, 200_000)
    )
    calls = [
        count_calls(lambda raw=raw: READER.try_read(raw, detect(raw), namespace="shop", now_ms=0))
        for raw in (smaller, larger)
    ]
    assert abs(calls[1] - calls[0]) < 100


def test_operations_with_very_many_unknown_origins_are_not_built() -> None:
    """Beyond the bound an origin costs no more than parsing its JSON."""
    sizes = 1_000, ERRORS_COUNTED_MAX, 5 * ERRORS_COUNTED_MAX
    counted = []
    for raw in (encode(unknown_origins(size)) for size in sizes):
        head = detect(raw)
        counted.append(
            count_calls(lambda raw=raw, head=head: READER.try_read(raw, head, namespace="shop", now_ms=0))
        )
    few_calls, bound_calls, many_calls = counted
    assert few_calls > 20 * sizes[0]
    assert many_calls - bound_calls < 6 * (sizes[2] - sizes[1])


def test_below_the_bound_errors_of_shape_come_first() -> None:
    document = unknown_origins(ERRORS_COUNTED_MAX - 1)
    document["operations"].append(1)
    error = input_error(document)
    assert [str(item) for item in error.errors] == ["operations.2: must be an object, is a number"]


def test_early_refusals_list_the_same_errors() -> None:
    early, late = (input_error(unknown_origins(ERRORS_COUNTED_MAX + more)) for more in (0, -1))
    assert early.errors[:-1] == late.errors[:-1]
    assert type(early) is type(late)


def with_unknown_members(number: int) -> Json:
    """A valid document whose run has `number` unknown members."""
    document = DOCUMENTS["lineage"]
    return {**document, "run": {**document["run"], **{f"m{index}": 1 for index in range(number)}}}


def with_undeclared_inputs(number: int) -> Json:
    """A valid document whose WRITE has `number` inputs that the READ does not list."""
    document = DOCUMENTS["lineage"]
    first, last = document["operations"]
    inputs = [{"origin": "read", "name": f"f{index}"} for index in range(number)]
    return {**document, "operations": [first, {**last, "inputs": inputs}]}


@pytest.mark.parametrize("make", [with_unknown_members, with_undeclared_inputs])
def test_warnings_have_the_same_bound(make: Any) -> None:
    result = read(make(3_000))
    assert isinstance(result, ParsedDocument)
    assert len(result.warnings) == ERRORS_LISTED_MAX + 1
    assert result.warnings[-1] == FieldError("", f"2,000 {OTHERS}", 2_000)


def test_warnings_of_head_and_operations_are_counted_together() -> None:
    document = with_unknown_members(900) | {"operations": with_undeclared_inputs(900)["operations"]}
    result = read(document)
    assert isinstance(result, ParsedDocument)
    assert result.warnings[-1] == FieldError("", f"800 {OTHERS}", 800)


class TestErrorList:
    def test_a_list_that_fits_is_unchanged(self) -> None:
        for number in (0, 1, ERRORS_LISTED_MAX, ERRORS_LISTED_MAX + 1):
            errors = [FieldError(str(index), "wrong") for index in range(number)]
            assert list(ErrorList(errors)) == errors

    def test_joining_lists_keeps_the_count(self) -> None:
        parts = [ErrorList(repeat(FieldError(name, "wrong"), 1_500)) for name in "abc"]
        joined = UnreadableDocument(error for part in parts for error in part)
        assert joined.count == 4_500
        assert len(joined.errors) == ERRORS_LISTED_MAX + 1

    def test_an_endless_input_ends(self) -> None:
        assert len(ErrorList(repeat(FieldError("", "wrong")))) == ERRORS_COUNTED_MAX

    def test_texts_are_cut(self) -> None:
        (error,) = ErrorList([FieldError("p" * 10_000, "d" * 10_000)])
        assert (len(error.path), len(error.detail)) == (TEXT_CHARACTERS_MAX, TEXT_CHARACTERS_MAX)
        assert error.path.endswith("…")
        assert error.detail.endswith("…")

    def test_a_refusal_survives_the_way_over_http(self) -> None:
        sent = UnreadableDocument(repeat(FieldError("a", "wrong"), 5_000))
        received = UnreadableDocument(field_errors(acknowledgements.field_errors(sent.errors)))
        assert str(received) == str(sent)
