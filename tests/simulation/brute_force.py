"""What must be answered when all is quiet: brute force over the one document that each run is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fll_hbase.keys import layout
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import Direction
from fll_hbase.store.results import ListedRun

from .actors import Reader
from .checks import Violation
from .world import ALWAYS, BY_CHECKSUM, COMMON, END_POINTS, Question, ends


def documents(reader: Reader) -> dict[str, RecordedRun]:
    """The one document that each run is, told by the lists of runs, which must agree."""
    found: dict[str, RecordedRun] = {}
    for end_point in END_POINTS:
        for item in reader.runs(Question(end_point, ALWAYS, True)):
            document = RecordedRun(item.run, BY_CHECKSUM[item.checksum])
            if found.setdefault(item.run.run, document) != document:
                raise Violation("at odds", f"{document} and {found[item.run.run]}")
    return found


def same(reader: Reader, question: Question, true: Sequence[RecordedRun]) -> None:
    """All answers to the question are those over the documents."""
    same_contents(reader, question, true)
    fields, newest_first = reader.fields(question), _newest_first(question, true)
    _equal(question, set(fields), set(newest_first))
    if fields != newest_first:
        raise Violation("disordered", f"{question}: told {fields}, newest first are {newest_first}")
    _equal(question, reader.runs(question), _listed(question, true))


def same_contents(reader: Reader, question: Question, true: Sequence[RecordedRun]) -> None:
    """The answer about lineage is that over the documents."""
    question = replace(question, field=COMMON)
    _equal(question, reader.lineage(question), {d.info.checksum for d in true if question.admits(d)})


def _equal(question: Question, told: object, wanted: object) -> None:
    if told != wanted:
        raise Violation("untrue", f"{question}: told {told}, brute force says {wanted}")


def _newest_first(question: Question, true: Sequence[RecordedRun]) -> tuple[str, ...]:
    ordered = sorted((_place(d), d.info.checksum) for d in true if question.admits(d))
    return tuple(dict.fromkeys(checksum for _, checksum in ordered))


def _listed(question: Question, true: Sequence[RecordedRun]) -> list[ListedRun]:
    listed = []
    for document in sorted(true, key=_place):
        touched = frozenset(d for d in Direction if question.end_point in ends(document.info, d))
        if touched and document.run.start_ms in question.window:
            listed.append(ListedRun(document.run, document.info.checksum, touched))
    return listed


def _place(document: RecordedRun) -> bytes:
    return layout.reference_tail(document.run.start_ms, document.run.run)
