"""Recording of parsed documents: results in order, errors in place, one outcome for each document."""

from __future__ import annotations

import fcntl
import random
from pathlib import Path

import pytest

from fll_hbase.ingest.ingest import ingest, preview
from fll_hbase.ingest.outcomes import ParsedDocument, RecordOutcome, RecordResult, combine_outcomes
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.runtime.errors import LineageError, StoreUnavailable, TooLarge, UnreadableDocument
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.format_documents import encode, event, lineage

RECORDED, REPLACED, REPEATED = RecordOutcome


def read(document: object) -> ParsedDocument | LineageError:
    """Read a document in namespace `shop`, without a catalogue."""
    raw = encode(document)
    reader = DocumentReader(columns=lambda _: None)
    return reader.try_read(raw, detect(raw), namespace="shop", now_ms=0)


def outcomes(results: list[RecordResult | LineageError]) -> list[object]:
    """The outcome of each result, or the class of its error."""
    return [result.outcome if isinstance(result, RecordResult) else type(result) for result in results]


def test_results_are_in_order_and_errors_in_place(store: LineageStore) -> None:
    documents = [read(lineage("a")), read({}), read(event("b")), read([]), read(lineage("c"))]
    results = ingest(store, documents)
    assert outcomes(results) == [RECORDED, UnreadableDocument, RECORDED, UnreadableDocument, RECORDED]
    assert [results[1], results[3]] == [documents[1], documents[3]]
    runs = [result.runs[0].run for result in results if isinstance(result, RecordResult)]
    assert runs == ["a", "b", "c"]


def test_nothing_to_record(store: LineageStore) -> None:
    assert ingest(store, []) == []
    error = UnreadableDocument([])
    assert ingest(store, [error]) == [error]


def test_documents_of_one_run_in_one_call(store: LineageStore) -> None:
    documents = [read(lineage("a")), read(lineage("a", field="y"))]
    assert outcomes(ingest(store, documents)) == [RECORDED, REPLACED]
    assert outcomes(ingest(store, documents)) == [REPEATED, REPEATED]
    assert outcomes(ingest(store, documents[:1])) == [REPLACED]


@pytest.mark.slow
def test_a_document_is_refused_where_one_of_its_runs_is(store: LineageStore) -> None:
    large = lineage("b")
    large["operations"][0]["description"] = random.Random(1).randbytes(9 * 2**20).hex()
    fits, too_large = read(lineage("a")), read(large)
    assert isinstance(fits, ParsedDocument)
    assert isinstance(too_large, ParsedDocument)
    both = ParsedDocument(fits.runs + too_large.runs)
    assert outcomes(ingest(store, [both, read(event("c"))])) == [TooLarge, RECORDED]
    assert outcomes(ingest(store, [too_large])) == [TooLarge]
    assert outcomes(ingest(store, [fits])) == [REPEATED]


@pytest.mark.parametrize("count", [1, 2])
def test_an_unavailable_store_is_raised(count: int, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = LineageStore(open_table(f"sqlite:///{path}", timeout_ms=100))
    ingest(store, [read(lineage("a"))])
    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable):
            ingest(store, [read(lineage(f"b{number}")) for number in range(count)])
    assert outcomes(ingest(store, [read(lineage("b0"))])) == [RECORDED]
    store.close()


@pytest.mark.parametrize(
    ("present", "outcome"),
    [
        ([], RECORDED),
        ([REPEATED, RECORDED, REPLACED], RECORDED),
        ([REPEATED, REPLACED], REPLACED),
        ([REPEATED, REPEATED], REPEATED),
    ],
)
def test_one_outcome_for_several(present: list[RecordOutcome], outcome: RecordOutcome) -> None:
    assert combine_outcomes(present) is outcome


def test_the_preview_of_a_run_is_what_is_recorded(store: LineageStore) -> None:
    for document in (read(lineage("a")), read(event("b"))):
        assert isinstance(document, ParsedDocument)
        (result,) = ingest(store, [document])
        assert isinstance(result, RecordResult)
        assert preview(document.runs[0]).checksum == result.runs[0].checksum
