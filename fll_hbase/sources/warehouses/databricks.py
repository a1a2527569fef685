"""Rows of `system.access.column_lineage` and `table_lineage`: the runs of statements, jobs and pipelines.

docs/record/databricks.md describes the rows and their mapping to runs.
"""

from __future__ import annotations

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.runtime import deadline
from fll_hbase.sources import sql
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX
from fll_hbase.sources.warehouses.rows import ParsedRows, Row, RowDocument, path_dataset, read_rows
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

SOURCE = "databricks"
RUN_COLUMNS = ("statement_id", "entity_run_id", "event_id", "record_id")
"""Columns that identify the run of a row: the first one that is not null."""

_STATES = {"FINISHED": State.COMPLETE, "FAILED": State.FAIL, "CANCELED": State.ABORT}


def read_document(document: object, *, namespace: str | None) -> ParsedRows:
    """Read the runs of a document's rows, which may be in any order.

    `namespace` is the URL's, or None for the document's. Raises UnreadableDocument with all errors, TooLarge.
    """
    rows = read_rows(document, SOURCE, namespace=namespace, has_lower_names=True)
    groups: dict[str, _Run] = {}
    for row in deadline.watched(rows.rows):
        run = row.required_text(*RUN_COLUMNS, bytes_max=ID_BYTES_MAX)
        groups.setdefault(run, _Run(run, rows)).add(row)
    return rows.parsed([group.recorded() for group in groups.values()])


class _Run:
    """The rows of one run."""

    def __init__(self, run: str, document: RowDocument) -> None:
        self._run = run
        self._document = document
        self._namespace = document.dataset_namespace or document.namespace
        self._lineage = StatementLineage()
        self._rows: list[Row] = []
        self._starts_ms: list[int] = []

    def add(self, row: Row) -> None:
        """Add a row: a column or table that is read, written, or written from another one."""
        self._starts_ms.append(row.first_time_ms("start_time", "event_time"))
        self._rows.append(row)
        source, target = self._dataset(row, "source"), self._dataset(row, "target")
        source_column = self._column(row, "source", source)
        target_column = self._column(row, "target", target)
        if source is None and target is None:
            row.error("has neither a source nor a target: a table's full name or a path")
        if source is not None:
            self._lineage.read(source, [source_column] if source_column else ())
        if target is not None:
            self._lineage.write(target)
        if source is None or target is None:
            return
        if source_column and target_column:
            self._lineage.derive(DatasetField(target, target_column), [DatasetField(source, source_column)])
        else:
            self._lineage.relate(source, target)

    def recorded(self) -> RecordedRun:
        """Return the run with its lineage and earliest start; facts come from the first row that has them."""
        kind, entity, entity_id = map(self._name, ("statement_type", "entity_type", "entity_id"))
        state = _STATES.get(self._first("execution_status").upper(), State.COMPLETE)
        parent = self._name("entity_run_id")
        return self._document.recorded(
            self._lineage.build(kind),
            application=SOURCE,
            kind=entity or "QUERY",
            program=f"{entity} {entity_id}".strip() or "queries",
            run=self._run,
            start_ms=min(self._starts_ms),
            state=state,
            user=self._name("executed_by", "created_by"),
            sql=sql.without_literals(self._first("statement_text"), dialect=SOURCE),
            error=self._first("error_message") if state is not State.COMPLETE else "",
            parent=parent if parent != self._run else "",
        )

    def _name(self, *names: str) -> str:
        """Return the first of these columns that a row has, in the order of the rows, or ""."""
        return self._first(*names, bytes_max=ID_BYTES_MAX)

    def _first(self, *names: str, bytes_max: int | None = None) -> str:
        """Return the first of these texts in the order of the rows, or ""; `?` with an error if invalid."""
        return next(filter(None, (row.first_text(*names, bytes_max=bytes_max) for row in self._rows)), "")

    def _dataset(self, row: Row, end: str) -> Dataset | None:
        """Return the table, else the path, of an end of a row, or None if the row has neither."""
        if table := row.first_text(f"{end}_table_full_name", bytes_max=NAME_BYTES_MAX):
            return Dataset(self._namespace, table)
        path = row.first_text(f"{end}_path", bytes_max=NAME_BYTES_MAX)
        return path_dataset(path, self._namespace) if path else None

    def _column(self, row: Row, end: str, dataset: Dataset | None) -> str:
        """Return the column of an end of a row, or "". A column without a dataset is an error."""
        name = f"{end}_column_name"
        column = row.first_text(name, bytes_max=NAME_BYTES_MAX)
        if column and dataset is None:
            row.error(f"belongs to no {end}: {end}_table_full_name and {end}_path are missing", name)
        return column
