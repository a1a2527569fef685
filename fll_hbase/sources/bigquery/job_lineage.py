"""Lineage of one job: columns from its SQL, if that agrees with the tables of the job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage_lenient
from fll_hbase.model.operations import Operation, Read, Write, dataset_of
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime.errors import InputError, InvalidLineage, TooLarge
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import ReadOperations
from fll_hbase.sources.sql.names.dataset_naming import DatasetNaming
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

DIALECT = "bigquery"
_NAME_PARTS = 3
_RESULT = "\nresult"
"""Name of the result of a query that is not kept; no table has such a name."""
# Warnings of the SQL source recommend a member `schema`, which rows do not have.
_SQL_ADVICE = re.compile(r"[;,][^;,]*`schema`$")


@dataclass(frozen=True, slots=True)
class JobTables:
    """The tables that a job references, its destination or None, and the project of incomplete names."""

    namespace: str
    project: str
    referenced: frozenset[Dataset]
    destination: Dataset | None


def read_lineage(
    query: str, tables: JobTables, *, verb: str, columns: sql.FieldLookup
) -> tuple[FieldLineageInfo, tuple[str, ...]]:
    """Return the lineage of a job, and warnings about its SQL, such as the reason for unknown columns.

    Raises the errors of the lookup `columns`.
    """
    fault = ""
    if query:
        try:
            reading = _read_query(query, tables, verb, columns)
            operations = reading.info.operations
            if not (fault := _find_disagreement(operations, tables)):
                info = build_lineage_lenient(list(_with_other_tables(operations, tables)))
                return info, tuple(_SQL_ADVICE.sub("", item.detail) for item in reading.warnings)
        except (InputError, TooLarge) as error:
            fault = str(error)
    lineage = StatementLineage()
    for source in tables.referenced:
        lineage.read(source)
    if tables.destination is not None:
        lineage.write_columns(tables.destination, {})
    # A job without tables has no columns that are unknown.
    has_tables = bool(lineage.sources or lineage.targets)
    warnings = (f"{fault}; the columns of this job are unknown",) if fault and has_tables else ()
    return lineage.build(verb), warnings


def _read_query(query: str, tables: JobTables, verb: str, columns: sql.FieldLookup) -> ReadOperations:
    """Return the operations of a query; of one whose result is not kept, only its READs.

    Raises InputError and TooLarge for SQL that cannot be read.
    """
    try:
        return sql.read_script(query, dialect=DIALECT, tables=_table_schemas(tables, columns))
    except InvalidLineage as error:
        if error.errors[0].detail not in (sql.NO_WRITE, sql.SELECT_ALONE):
            raise
    target = tables.destination or Dataset(tables.namespace, _RESULT)
    schemas = _table_schemas(tables, columns)
    reading = sql.read_query(query, dialect=DIALECT, target=target, verb=verb, tables=schemas)
    if tables.destination is not None:
        return reading
    reads = [operation for operation in reading.info.operations if isinstance(operation, Read)]
    return replace(reading, info=build_lineage_lenient(reads))


def _table_schemas(tables: JobTables, columns: sql.FieldLookup) -> sql.TableSchemas:
    """Return the tables of a job by each end of their names that only one of them has."""
    naming = DatasetNaming(tables.namespace, DIALECT, catalog=tables.project)
    schemas = sql.TableSchemas(tables.namespace, {}, columns, naming=naming)
    datasets = _all_tables(tables)
    ends = Counter(end for dataset in datasets for end in _ends(dataset.name))
    for dataset in datasets:
        for end in _ends(dataset.name):
            # An end that two tables share identifies neither: the job's default dataset is unknown.
            if ends[end] == 1:
                schemas.add_alias(end, dataset.name)
    return schemas


def _all_tables(tables: JobTables) -> set[Dataset]:
    """Return the referenced tables and the destination."""
    return {*tables.referenced, *([tables.destination] if tables.destination else ())}


def _ends(name: str) -> Iterator[str]:
    """Yield `a.b.c`, `b.c` and `c` for a table; dots in a project are a part of it."""
    _, dataset, table = name.rsplit(".", 2)
    yield from (name, f"{dataset}.{table}", table)


def _find_disagreement(operations: tuple[Operation, ...], tables: JobTables) -> str:
    """Return why the tables of the SQL cannot be those of the job, "" if they can."""
    job_tables = _all_tables(tables)
    for operation in operations:
        dataset = dataset_of(operation)
        if dataset is None or dataset in job_tables:
            continue
        is_write = isinstance(operation, Write)
        if dataset.name.count(".") < _NAME_PARTS - 1 or (is_write and tables.destination is not None):
            verb = "writes" if is_write else "reads"
            return f"{verb} {dataset.name!r}, but the job has no such table"
    return ""


def _with_other_tables(operations: tuple[Operation, ...], tables: JobTables) -> Iterator[Operation]:
    """Yield the operations, and a READ without fields for each other table, such as those behind a view."""
    names = UniqueNames()
    for operation in operations:
        names.assign(operation.name)
    others = sorted(tables.referenced - {dataset_of(operation) for operation in operations})
    reads = [Read(names.assign(f"read {dataset.name}"), "", dataset, "", ()) for dataset in others]
    added = tuple(read.name for read in reads)
    for operation in operations:
        if isinstance(operation, Write) and operation.unknown_origins is not None and added:
            origins = tuple(sorted((*operation.unknown_origins, *added)))
            yield replace(operation, unknown_origins=origins)
        else:
            yield operation
    yield from reads
