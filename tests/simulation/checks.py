"""Is an answer true: compared with every document that its runs may be, and with brute force over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from store import auditing

from fll_hbase.keys import layout
from fll_hbase.model import field_relations
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import DatasetLineageSet
from fll_hbase.model.operations import Read, Write
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import Direction
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.results import DatasetLineageResult, ListedRun
from fll_hbase.tables import Put, Row, Table

from .history import Possible
from .world import BY_CHECKSUM, OWN_FIELDS, Question, ends

PAIRS_MAX = 250_000


class Violation(AssertionError):
    """An invariant does not hold; `kind` is one word for it."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        super().__init__(f"{kind}: {detail}")


def contents_told(answer: DatasetLineageResult, question: Question) -> frozenset[str]:
    """The contents that an answer about lineage was made of, told by their own fields."""
    entries = [entry for entry in answer.entries if entry.direction is question.direction]
    named = {name for entry in entries for pair in entry.relation.direct for name in pair}
    told = frozenset(checksum for checksum, own in OWN_FIELDS.items() if own in named)
    found = {(entry.relation.source, entry.relation.destination): entry.relation for entry in entries}
    if found != union(told, question).by_datasets:
        raise Violation("garbled", f"{question}: not the union of {sorted(told)}")
    return told


def union(checksums: Iterable[str], question: Question) -> DatasetLineageSet:
    """What these contents together say of the end point, by brute force."""
    merged = DatasetLineageSet({})
    for checksum in checksums:
        field_map = BY_CHECKSUM[checksum].field_map
        backward = question.direction is Direction.BACKWARD
        of_one = field_relations.dataset_relations(
            field_map, question.end_point, backward=backward, pairs_max=PAIRS_MAX
        )
        merged = merged.merge(of_one)
    return merged


def contents(told: Collection[str], question: Question, possible: Mapping[str, Possible]) -> None:
    """Every run shows one of the documents that it may be, and nothing else is shown."""
    allowed: set[str] = set()
    for run, may_be in possible.items():
        shown = {d.info.checksum if question.admits(d) else None for d in may_be.documents}
        allowed.update(checksum for checksum in shown if checksum)
        if may_be.certain and None not in shown and not shown & set(told):
            raise Violation("lost", f"{question}: {run} is one of {shown}, told are {sorted(told)}")
    if not allowed.issuperset(told):
        raise Violation("false", f"{question}: told are {sorted(told)}, which may be are {sorted(allowed)}")


def listed(found: Sequence[ListedRun], question: Question, possible: Mapping[str, Possible]) -> None:
    """The list of runs holds each run as one of the documents that it may be, newest first."""
    by_run: dict[str, list[ListedRun]] = {}
    for item in found:
        by_run.setdefault(item.run.run, []).append(item)
        documents = possible[item.run.run].documents
        if not any(_is(item, document) and _touches(question, document) for document in documents):
            raise Violation("false", f"{question}: listed {item}, which it may not be")
    for run, may_be in possible.items():
        must = len({_where(question, document) for document in may_be.documents}) == 1 and all(
            _touches(question, document) for document in may_be.documents
        )
        if may_be.certain and must and run not in by_run:
            raise Violation("lost", f"{question}: {run} is not listed, it is one of {may_be.documents}")
    places = [layout.reference_tail(item.run.start_ms, item.run.run) for item in found]
    if places != sorted(set(places)):
        raise Violation("disordered", f"{question}: {places}")


def catalogued(catalogue: Catalogue, documents: Iterable[RecordedRun]) -> None:
    """The catalogue names every end point and field of the documents."""
    wanted = {field for document in documents for field in _fields(document)}
    for namespace in {end_point.namespace for end_point, _, _ in wanted}:
        known = {found.dataset for found in catalogue.datasets(namespace)}
        missing = {end for end, _, _ in wanted if end.namespace == namespace} - known
        if missing or namespace not in set(catalogue.namespaces()):
            raise Violation("uncatalogued", f"{namespace}: {missing}")
    for end_point in {end_point for end_point, _, _ in wanted}:
        fields = catalogue.fields(end_point) or ()
        told = {(end_point, field.name, Direction.FORWARD) for field in fields if field.read}
        told |= {(end_point, field.name, Direction.BACKWARD) for field in fields if field.written}
        if unnamed := {item for item in wanted if item[0] == end_point} - told:
            raise Violation("uncatalogued", f"{unnamed}")


def founded(put: Put, table: Mapping[bytes, Row]) -> None:
    """No reference and no truth without its data row."""
    if put.column.startswith(layout.COMMIT):
        checksum = put.value.partition(b"|")[0]
    elif put.row[:2] in (b"b|", b"f|"):
        checksum = put.column.rpartition(b"|")[2]
    else:
        return
    if layout.content_row(checksum.decode()) not in table:
        raise Violation("unfounded", f"{put.row!r} names {checksum!r}, which is not there")


def sound(table: Table) -> None:
    """An audit finds nothing wrong."""
    if bad := auditing.wrong(auditing.findings(table)):
        raise Violation("audit", ", ".join(sorted(kind.value for kind in bad)))


def single_truths(table: Mapping[bytes, Row]) -> None:
    """Truths of equal counts are equal."""
    for key, row in table.items():
        heads = [column[: len(layout.COMMIT) + 8] for column in row if column.startswith(layout.COMMIT)]
        if len(heads) != len(set(heads)):
            raise Violation("two truths", f"{key!r}: {sorted(row)}")


def _is(item: ListedRun, document: RecordedRun) -> bool:
    """Details apart, which events may add to before they are true."""
    told, true = (replace(run, details="") for run in (item.run, document.run))
    return (told, item.checksum) == (true, document.info.checksum)


def _touches(question: Question, document: RecordedRun) -> bool:
    touched = any(question.end_point in ends(document.info, direction) for direction in Direction)
    return touched and document.run.start_ms in question.window


def _where(question: Question, document: RecordedRun) -> tuple[object, ...]:
    """Where the run stands in the lists of an end point."""
    return document.run.start_ms, *(question.end_point in ends(document.info, d) for d in Direction)


def _fields(document: RecordedRun) -> Iterable[tuple[Dataset, str, Direction]]:
    for operation in document.info.operations:
        if isinstance(operation, Read):
            for field in operation.outputs:
                yield operation.source, field.name, Direction.FORWARD
        elif isinstance(operation, Write):
            for taken in operation.inputs:
                yield operation.destination, taken.name, Direction.BACKWARD
