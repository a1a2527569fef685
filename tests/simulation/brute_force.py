"""Expected answers when nothing runs any more: brute force over the one document of each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fll_hbase.keys import layout
from fll_hbase.model.runs import ProgramRun, RecordedRun, run_key
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.run_times import bound_of, window_within
from fll_hbase.store.results import ListedRun, RunSpan
from tests.simulation.actors import Reader, times_of
from tests.simulation.checks import Violation
from tests.support.small_world import (
    ALWAYS,
    BY_CHECKSUM,
    COMMON,
    DATASETS,
    EDGES_MS,
    Question,
    endpoints_of,
)


def documents(reader: Reader) -> dict[str, RecordedRun]:
    """Return the document of each run from the lists of runs, which must agree."""
    documents_by_run: dict[str, RecordedRun] = {}
    for dataset in DATASETS:
        for item in reader.runs(Question(dataset, replace(ALWAYS, failed=True))):
            document = RecordedRun(item.run, BY_CHECKSUM[item.checksum])
            if documents_by_run.setdefault(item.run.run, document) != document:
                raise Violation("at odds", f"{document} and {documents_by_run[item.run.run]}")
    return documents_by_run


def check_all(reader: Reader, question: Question, expected: Sequence[RecordedRun]) -> None:
    """Check all answers to the question against the documents."""
    check_lineage(reader, question, expected)
    fields, newest_first = reader.fields(question), _newest_first(question, expected)
    _check_equal(question, set(fields), set(newest_first))
    if fields != newest_first:
        raise Violation("disordered", f"{question}: shown {fields}, newest first are {newest_first}")
    _check_equal(question, reader.runs(question), _listed(question, expected))


def check_calendars(reader: Reader, question: Question, expected: Sequence[RecordedRun]) -> None:
    """Check what calendars say about the question against the documents: contents, ends and counts."""
    question = replace(question, field=COMMON)
    check_lineage(reader, question, expected)
    admitted = sorted((d for d in expected if question.admits(d)), key=_tail_of)
    query = question.query
    checksums = {document.info.checksum for document in admitted}
    (ends,) = reader.store.components.windows.newest_references({query: checksums})
    _check_equal(question, ends, {d.info.checksum: _tail_of(d) for d in reversed(admitted)})
    times = times_of(reader.store, query)
    for start_ms in EDGES_MS:
        bound = bound_of(query.direction, start_ms)
        reader.store.components.times.complete([(query, times, bound)])
        within = replace(question, window=window_within(query.window, query.direction, bound))
        spans = {checksum: listed.span(query.direction, bound) for checksum, listed in times.items()}
        wanted = {
            checksum: _span([d.run for d in admitted if d.info.checksum == checksum and within.admits(d)])
            for checksum in checksums
        }
        _check_equal(within, spans, wanted)


def check_namespace_runs(reader: Reader, window: Window, expected: Sequence[RecordedRun]) -> None:
    """Check the list of all namespaces against the documents."""
    in_window = [document for document in expected if document.run.start_ms in window]
    in_window.sort(
        key=lambda document: layout.run_index_tail(
            document.run.start_ms, *run_key(document.run.run, document.run.namespace)
        )
    )
    _check_equal(window, reader.namespace_runs(window), in_window)


def check_lineage(reader: Reader, question: Question, expected: Sequence[RecordedRun]) -> None:
    """Check the lineage answer against the documents."""
    question = replace(question, field=COMMON)
    _check_equal(
        question, reader.lineage(question), {d.info.checksum for d in expected if question.admits(d)}
    )


def _span(newest_first: Sequence[ProgramRun]) -> RunSpan | None:
    if not newest_first:
        return None
    failed = sum(run.state.failed for run in newest_first)
    first, last = newest_first[-1], newest_first[0]
    return RunSpan(
        len(newest_first), failed, first.start_ms, last.start_ms, run_key(last.run, last.namespace)
    )


def _check_equal(question: Question | Window, answer: object, wanted: object) -> None:
    if answer != wanted:
        raise Violation("wrong", f"{question}: answered {answer}, brute force gives {wanted}")


def _newest_first(question: Question, expected: Sequence[RecordedRun]) -> tuple[str, ...]:
    ordered = sorted((_tail_of(d), d.info.checksum) for d in expected if question.admits(d))
    return tuple(dict.fromkeys(checksum for _, checksum in ordered))


def _listed(question: Question, expected: Sequence[RecordedRun]) -> list[ListedRun]:
    listed = []
    for document in sorted(expected, key=_tail_of):
        touched = frozenset(d for d in Direction if question.dataset in endpoints_of(document.info, d))
        if touched and document.run.start_ms in question.window:
            listed.append(ListedRun(document.run, document.info.checksum, touched))
    return listed


def _tail_of(document: RecordedRun) -> bytes:
    return layout.reference_tail(document.run.start_ms, *run_key(document.run.run, document.run.namespace))
