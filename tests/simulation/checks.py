"""Checks of answers against every document that a run may be, and against brute force over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from fll_hbase.keys import layout
from fll_hbase.model import field_relations
from fll_hbase.model.dataset_lineage import DatasetLineageSet, merge_lineages
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Read, Write
from fll_hbase.model.runs import RecordedRun, run_key
from fll_hbase.model.window import Direction
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.results import DatasetLineageResult, ListedRun
from fll_hbase.tables import Put, Row, Table
from tests.simulation.history import Possible
from tests.support import audit_runner
from tests.support.small_world import BY_CHECKSUM, OWN_FIELDS, Question, endpoints_of

PAIRS_MAX = 250_000


class Violation(AssertionError):
    """An invariant does not hold; `kind` is one word for it."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind = kind
        super().__init__(f"{kind}: {detail}")


def contents_shown(answer: DatasetLineageResult, question: Question) -> frozenset[str]:
    """Return the contents behind a lineage result, identified by their own fields."""
    entries = [entry for entry in answer.entries if entry.direction is question.direction]
    names = {name for entry in entries for pair in entry.relation.direct for name in pair}
    shown = frozenset(checksum for checksum, own_name in OWN_FIELDS.items() if own_name in names)
    relations = {(entry.relation.source, entry.relation.destination): entry.relation for entry in entries}
    if relations != union(shown, question).by_datasets:
        raise Violation("garbled", f"{question}: not the union of {sorted(shown)}")
    return shown


def union(checksums: Iterable[str], question: Question) -> DatasetLineageSet:
    """Merge the lineage of the contents by brute force."""
    merged = DatasetLineageSet({})
    for checksum in checksums:
        field_map = BY_CHECKSUM[checksum].field_map
        backward = question.direction is Direction.BACKWARD
        relations = field_relations.dataset_relations(
            field_map, question.dataset, backward=backward, pairs_max=PAIRS_MAX
        )
        merged = merge_lineages([merged, relations])
    return merged


def contents(shown: Collection[str], question: Question, possible: Mapping[str, Possible]) -> None:
    """Check that every run shows one of the documents it may be, and nothing else is shown."""
    allowed: set[str] = set()
    for run, may_be in possible.items():
        outcomes = {d.info.checksum if question.admits(d) else None for d in may_be.documents}
        allowed.update(checksum for checksum in outcomes if checksum)
        if may_be.certain and None not in outcomes and not outcomes & set(shown):
            raise Violation("lost", f"{question}: {run} is one of {outcomes}, shown are {sorted(shown)}")
    if not allowed.issuperset(shown):
        raise Violation("false", f"{question}: shown are {sorted(shown)}, allowed {sorted(allowed)}")


def listed(listed_runs: Sequence[ListedRun], question: Question, possible: Mapping[str, Possible]) -> None:
    """Check that each run is listed as one of the documents it may be, newest first."""
    by_run: dict[str, list[ListedRun]] = {}
    for item in listed_runs:
        by_run.setdefault(item.run.run, []).append(item)
        documents = possible[item.run.run].documents
        if not any(_is(item, document) and _touches(question, document) for document in documents):
            raise Violation("false", f"{question}: listed {item}, which it may not be")
    for run, may_be in possible.items():
        must = len({_listing_key(question, document) for document in may_be.documents}) == 1 and all(
            _touches(question, document) for document in may_be.documents
        )
        if may_be.certain and must and run not in by_run:
            raise Violation("lost", f"{question}: {run} is not listed, it is one of {may_be.documents}")
    tails = [
        layout.reference_tail(item.run.start_ms, *run_key(item.run.run, item.run.namespace))
        for item in listed_runs
    ]
    if tails != sorted(set(tails)):
        raise Violation("disordered", f"{question}: {tails}")


def catalogue_is_complete(catalogue: Catalogue, documents: Iterable[RecordedRun]) -> None:
    """Check that the catalogue has every dataset and field of the documents."""
    wanted = {field for document in documents for field in _fields(document)}
    for namespace in {dataset.namespace for dataset, _, _ in wanted}:
        datasets = {entry.dataset for entry in catalogue.datasets(namespace)}
        missing = {end for end, _, _ in wanted if end.namespace == namespace} - datasets
        if missing or namespace not in set(catalogue.namespaces()):
            raise Violation("uncatalogued", f"{namespace}: {missing}")
    for dataset in {dataset for dataset, _, _ in wanted}:
        fields = catalogue.fields(dataset) or ()
        shown = {(dataset, field.name, Direction.FORWARD) for field in fields if field.read}
        shown |= {(dataset, field.name, Direction.BACKWARD) for field in fields if field.written}
        if unnamed := {item for item in wanted if item[0] == dataset} - shown:
            raise Violation("uncatalogued", f"{unnamed}")


def content_exists(put: Put, table: Mapping[bytes, Row]) -> None:
    """Check that no reference and no commit record is without its content row."""
    if put.column.startswith(layout.COMMIT):
        checksum = put.value.partition(b"|")[0]
    elif put.row[:2] in (b"b|", b"f|"):
        checksum = put.column.rpartition(b"|")[2]
    else:
        return
    if layout.content_row(checksum.decode()) not in table:
        raise Violation("unfounded", f"{put.row!r} refers to {checksum!r}, which is missing")


def audit_is_clean(table: Table) -> None:
    """Check that an audit finds no error."""
    if bad := audit_runner.wrong(audit_runner.findings(table)):
        raise Violation("audit", ", ".join(sorted(kind.value for kind in bad)))


def single_commits(table: Mapping[bytes, Row]) -> None:
    """Check that commit records of equal counts are equal."""
    for key, row in table.items():
        heads = [column[: len(layout.COMMIT) + 8] for column in row if column.startswith(layout.COMMIT)]
        if len(heads) != len(set(heads)):
            raise Violation("two commits", f"{key!r}: {sorted(row)}")


def _is(item: ListedRun, document: RecordedRun) -> bool:
    """Compare all but the details, which events may add before they are committed."""
    shown, true = (replace(run, details="") for run in (item.run, document.run))
    return (shown, item.checksum) == (true, document.info.checksum)


def _touches(question: Question, document: RecordedRun) -> bool:
    touched = any(question.dataset in endpoints_of(document.info, direction) for direction in Direction)
    return touched and document.run.start_ms in question.window


def _listing_key(question: Question, document: RecordedRun) -> tuple[object, ...]:
    """Return what decides whether and where a dataset lists the run."""
    return document.run.start_ms, *(question.dataset in endpoints_of(document.info, d) for d in Direction)


def _fields(document: RecordedRun) -> Iterable[tuple[Dataset, str, Direction]]:
    for operation in document.info.operations:
        if isinstance(operation, Read):
            for field in operation.outputs:
                yield operation.source, field.name, Direction.FORWARD
        elif isinstance(operation, Write):
            for input_field in operation.inputs:
                yield operation.destination, input_field.name, Direction.BACKWARD
