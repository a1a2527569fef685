"""Every registered format: its documents are detected, read and recorded, and its route is served."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from api import create_app
from api.routes.recording import format_blueprints
from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.outcomes import ParsedDocument, RecordOutcome, RecordResult
from fll_hbase.ingest.registry import (
    FORMATS,
    DocumentFormat,
    DocumentHead,
    DocumentReader,
    ReadContext,
    detect,
    format_named,
)
from fll_hbase.runtime.errors import InputError, LineageError
from fll_hbase.sources.warehouses.databricks import RUN_COLUMNS
from fll_hbase.store.lineage_store import LineageStore
from tests.support.format_documents import DOCUMENTS, dataset_event, encode, lineage

NOW_MS = 1_700_000_000_000
ROUTED = [document_format for document_format in FORMATS if document_format.route]


def read(store: LineageStore, document: object) -> ParsedDocument:
    """Read a document of a detected format in namespace `shop`."""
    raw = encode(document)
    reader = DocumentReader(columns=store.catalogue.field_names)
    return reader.read(raw, detect(raw), namespace="shop", now_ms=NOW_MS)


_READS_ALL = """
import json, sys
from fll_hbase.ingest.registry import DocumentReader, detect, import_sources
import_sources()
modules = set(sys.modules)
reader = DocumentReader(columns=lambda _: None)
for line in sys.stdin.buffer:
    reader.read(line, detect(line), namespace="shop", now_ms=1_700_000_000_000)
print(*sorted(name for name in set(sys.modules) - modules if name.startswith("fll_hbase")))
"""


def test_a_server_imports_all_that_reads_documents() -> None:
    documents = b"\n".join(map(encode, DOCUMENTS.values()))
    done = subprocess.run(
        [sys.executable, "-c", _READS_ALL], input=documents, capture_output=True, check=True
    )
    assert done.stdout.split() == []


def test_every_format_has_a_document_here() -> None:
    assert [document_format.name for document_format in FORMATS] == list(DOCUMENTS)


@pytest.mark.parametrize("name", DOCUMENTS)
class TestFormat:
    def test_is_detected(self, name: str) -> None:
        head = detect(encode({**DOCUMENTS[name], "namespace": "elsewhere"}))
        assert (head.format.name, head.namespace) == (name, "elsewhere")
        assert head.run == (DOCUMENTS[name]["run"]["run"] if head.format.has_run_id else "")

    def test_is_detected_whatever_its_run_and_namespace_are(self, name: str) -> None:
        assert detect(encode({**DOCUMENTS[name], "run": 1, "namespace": 2})).format.name == name

    @pytest.mark.parametrize("member", ["namespace", "run"])
    def test_names_that_are_not_utf_8_are_errors(self, name: str, member: str, store: LineageStore) -> None:
        raw = encode({**DOCUMENTS[name], member: {"run": "@"} if member == "run" else "@"}).replace(
            b"@", b"\xff"
        )
        reader = DocumentReader(columns=store.catalogue.field_names)
        result = reader.try_read(raw, detect(raw), namespace="shop", now_ms=NOW_MS)
        assert isinstance(result, InputError)

    def test_is_recorded_and_then_repeated(self, name: str, store: LineageStore) -> None:
        document = read(store, DOCUMENTS[name])
        assert document.runs
        (first,) = ingest(store, [document])
        (second,) = ingest(store, [document])
        assert isinstance(first, RecordResult)
        assert isinstance(second, RecordResult)
        assert (first.outcome, second.outcome) == (RecordOutcome.RECORDED, RecordOutcome.REPEATED)
        assert [run.run for run in first.runs] == [run.run for run in second.runs]

    def test_is_read_alike_by_its_name_and_by_detection(self, name: str, store: LineageStore) -> None:
        raw = encode(DOCUMENTS[name])
        reader = DocumentReader(columns=store.catalogue.field_names)
        by_name = reader.read(raw, format_named(name), namespace="shop", now_ms=NOW_MS)
        assert by_name == reader.read(raw, detect(raw), namespace="shop", now_ms=NOW_MS)

    def test_errors_are_results(self, name: str, store: LineageStore) -> None:
        reader = DocumentReader(columns=store.catalogue.field_names)
        result = reader.try_read(b"{", format_named(name), namespace="shop", now_ms=NOW_MS)
        assert isinstance(result, InputError)


def test_a_document_of_several_runs_has_one_result(store: LineageStore) -> None:
    document = read(store, DOCUMENTS["dbt"])
    assert len(document.runs) == 2
    (result,) = ingest(store, [document])
    assert isinstance(result, RecordResult)
    assert len(result.runs) == 2
    assert result.warnings == document.warnings != ()


def test_metadata_without_a_run_is_recorded(store: LineageStore) -> None:
    document = read(store, dataset_event())
    assert (document.runs, len(document.metadata)) == ((), 1)
    (result,) = ingest(store, [document])
    assert isinstance(result, RecordResult)
    assert result.outcome is RecordOutcome.RECORDED
    assert store.catalogue.field_names(document.metadata[0].dataset) == ["x"]


@given(st.binary(max_size=60) | st.recursive(st.none() | st.text(), st.lists).map(encode))
def test_any_bytes_have_a_head(raw: bytes) -> None:
    assert isinstance(detect(raw), DocumentHead)


def test_the_first_format_stands_for_unknown_documents() -> None:
    assert detect(b'{"unknown": 1}').format is detect(b"not JSON").format is FORMATS[0]


class TestRoutes:
    """Each format with a route is served at it and described."""

    @pytest.fixture
    def app(self, store: LineageStore) -> Flask:
        return create_app(store)

    @pytest.mark.parametrize("document_format", ROUTED, ids=lambda item: item.name)
    def test_its_documents_are_recorded(self, app: Flask, document_format: DocumentFormat) -> None:
        client, route = app.test_client(), f"/v3/namespaces/shop/{document_format.route}"
        document = DOCUMENTS[document_format.name]
        preview = client.post(f"{route}?dryRun=true", json=document)
        assert preview.status_code == 200
        answers = [client.post(route, json=document) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 200]
        runs: list[Any] = answers[0].json.get("runs", [answers[0].json])
        previews: list[Any] = preview.json.get("runs", [preview.json])
        assert [run["checksum"] for run in runs] == [run["checksum"] for run in previews]
        assert all(run["recorded"] for run in runs)

    @pytest.mark.parametrize("document_format", ROUTED, ids=lambda item: item.name)
    def test_it_is_in_the_openapi_document(self, app: Flask, document_format: DocumentFormat) -> None:
        paths = app.test_client().get("/openapi.json").json["paths"]
        operation = paths[f"/v3/namespaces/{{namespace}}/{document_format.route}"]["post"]
        assert document_format.title in operation["summary"]
        assert operation["requestBody"]["content"]["application/json"]["schema"]

    def test_a_format_needs_nothing_but_its_line(self, app: Flask) -> None:
        def read_nothing(raw: bytes, context: ReadContext) -> ParsedDocument:
            return ParsedDocument()

        added = DocumentFormat(
            "new", ("new",), read_nothing, "one new document", route="new", has_run_id=False
        )
        for blueprint in format_blueprints([added]):
            app.extensions["fll-api"].register_blueprint(blueprint)
        client = app.test_client()
        answer = client.post("/v3/namespaces/shop/new", json={"new": 1})
        assert (answer.status_code, answer.json) == (201, {"runs": []})
        assert "/v3/namespaces/{namespace}/new" in client.get("/openapi.json").json["paths"]


def test_two_reads_of_one_document_are_equal(store: LineageStore) -> None:
    """The second is read from the cache of operations."""
    raw = encode(lineage())
    reader = DocumentReader(columns=store.catalogue.field_names)
    first, second = (reader.try_read(raw, detect(raw), namespace="shop", now_ms=NOW_MS) for _ in range(2))
    assert not isinstance(first, LineageError)
    assert first == second


def test_files_and_documents_of_databricks_group_rows_alike() -> None:
    """The registry repeats the columns, because it imports no source before its first document."""
    assert format_named("databricks").run_columns == RUN_COLUMNS
