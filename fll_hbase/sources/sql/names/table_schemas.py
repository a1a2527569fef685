"""Table schemas: the columns of a table from the script, the document's `schema` or the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.sources.derived_columns import TooManyColumns
from fll_hbase.sources.sql import long_scripts
from fll_hbase.sources.sql.names.dataset_naming import DatasetNaming
from fll_hbase.sources.sql.queries.column_provenance import (
    ELEMENT,
    ColumnProvenance,
    ColumnSet,
    NamedColumn,
    merge_columns,
)

LOOKED_UP_MAX = 500_000
"""Columns of the catalogue that one document may use. Each takes half a kilobyte."""

FieldLookup = Callable[[Dataset], Sequence[str] | None]
"""Returns the fields of a dataset in the catalogue, or None if the catalogue lacks the dataset."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Fields of a table: all of them in order if `declared`, else those mentioned or in the catalogue."""

    fields: tuple[Field, ...]
    declared: bool


class TableSchemas:
    """Tables that a script names, each under one spelling, with their known columns.

    `is_transient` returns whether a table that the script creates is only a step between others. Such a table
    is not a dataset of the run, and lineage passes through it. `mentioned` are columns of tables, by dataset
    name, known without an order; further columns are looked up.
    """

    def __init__(
        self,
        namespace: str,
        schema: Mapping[str, Sequence[Field]],
        lookup: FieldLookup,
        *,
        naming: DatasetNaming | None = None,
        is_transient: Callable[[Dataset], bool] = lambda _: False,
        mentioned: Mapping[str, Sequence[Field]] | None = None,
    ) -> None:
        self.is_transient = is_transient
        self._looked_up = 0
        self._mentioned = mentioned or {}
        self.naming = naming or DatasetNaming(namespace)
        self._namespace = namespace
        self._lookup = lookup
        # If names in the schema differ only in case, the first wins.
        self._spelling: dict[str, str] = {}
        self._schemas: dict[Dataset, TableSchema | None] = {}
        self._columns: dict[Dataset, ColumnSet] = {}
        self._field_spelling: dict[Dataset, dict[str, str]] = {}
        for name, fields in schema.items():
            full_name, dataset_name = self._declared_names(name)
            self._spelling.setdefault(self._key(full_name), dataset_name)
            self._schemas[Dataset(namespace, dataset_name)] = TableSchema(tuple(fields), declared=True)

    def dataset(self, name: str, *, mapped: str = "", written: str = "") -> Dataset:
        """Return the dataset of a table name, ignoring case unless it distinguishes tables.

        A name in the schema has the schema's spelling, any other name the one of its first mention. That is
        `mapped` (default: `name`), or `written`, the name in the SQL, if only this is in the catalogue, where
        earlier runs may have recorded it. With `written`, may raise the errors of `schema`.
        """
        exact = Dataset(self._namespace, name)
        # Quoted names may differ only in case. A schema that lists both keeps them apart.
        if exact in self._schemas and not mapped:
            return exact
        key = self._key(name)
        if key not in self._spelling:
            self._spelling[key] = mapped or name
            is_recorded = written and not self.naming.is_mapped and self._in_catalogue(written)
            if is_recorded and not self._in_catalogue(name):
                self._spelling[key] = written
        return Dataset(self._namespace, self._spelling[key])

    def add_alias(self, name: str, dataset_name: str) -> None:
        """Map a table name of the SQL, ignoring case like `dataset`, to a dataset with another name."""
        self._spelling[self._key(name)] = dataset_name

    def declare(self, dataset: Dataset, fields: Sequence[Field]) -> None:
        """Set all columns of a table, in order, replacing known columns; later statements see them."""
        self._schemas[dataset] = TableSchema(tuple(fields), declared=True)
        self._columns.pop(dataset, None)
        self._field_spelling.pop(dataset, None)

    def schema(self, dataset: Dataset) -> TableSchema | None:
        """Return a table's schema: declared columns, else mentioned ones and the catalogue's, or None.

        Looks up a table that is not declared, once. Raises TooManyColumns if the looked-up columns of all
        tables exceed LOOKED_UP_MAX; later calls then return only the mentioned columns of this table. Also
        raises the errors of the lookup and, for a long script, of `deadline.check`.
        """
        if dataset not in self._schemas:
            with long_scripts.let_go():
                recorded = self._lookup(dataset) or ()
            fits = self._looked_up + len(recorded) <= LOOKED_UP_MAX
            self._looked_up += len(recorded) if fits else 0
            mentioned = (field.name for field in self._mentioned.get(dataset.name, ()))
            names = dict.fromkeys(chain(mentioned, recorded if fits else ()))
            # A lookup reads the store, so cache None, too.
            self._schemas[dataset] = TableSchema(tuple(map(Field, names)), declared=False) if names else None
            if not fits:
                raise TooManyColumns(f"needs more than {LOOKED_UP_MAX:,} columns of the catalogue")
        return self._schemas[dataset]

    def declared_columns(self, dataset: Dataset) -> list[str] | None:
        """Return the columns of a table in order, without nested fields, or None if it is not declared.

        Columns of the catalogue, or only mentioned ones, do not count. Looks up a table that is not declared,
        and raises the errors of `schema`.
        """
        schema = self.schema(dataset)
        if schema is None or not schema.declared:
            return None
        return list(dict.fromkeys(field.name.partition("/")[0] for field in schema.fields))

    def types(self, dataset: Dataset) -> dict[str, str]:
        """Return the types of the fields known so far, without a lookup, by field name, "" if unknown."""
        schema = self._schemas.get(dataset)
        return {field.name: field.type for field in schema.fields} if schema else {}

    def columns(self, dataset: Dataset) -> ColumnSet:
        """Return the top-level columns of a table as a query reads them. Raises the errors of `schema`."""
        if dataset not in self._columns:
            self._columns[dataset] = self._read_columns(dataset)
        return self._columns[dataset]

    def nested_column(self, column: ColumnProvenance, path: Sequence[str]) -> ColumnProvenance:
        """Return the field at a path in a column, ignoring case, else the deepest known one or the column."""
        for number, step in enumerate(path):
            column = column.parts.get(ELEMENT, column)
            names = {name.lower(): name for name in column.parts}
            part = column.parts.get(names.get(step.lower(), ""))
            if part is None:
                if column.origin is None:
                    return replace(column, parts={})
                deepest = self._nested_field(column.origin, path[number:])
                direct = column.direct if deepest == column.origin else frozenset((deepest,))
                return ColumnProvenance(direct=direct, indirect=column.indirect, unknown=column.unknown)
            column = part
        return column

    def members(self, column: ColumnProvenance) -> tuple[NamedColumn, ...]:
        """Return the fields of a struct, in order, if all are known by name, or () for any other column."""
        if column.parts or column.origin is None:
            numbered = any(name.isdigit() or name == ELEMENT for name in column.parts)
            return () if numbered else tuple(column.parts.items())
        start, schema = f"{column.origin.name}/", self.schema(column.origin.dataset)
        names = [field.name for field in schema.fields] if schema is not None and schema.declared else []
        heads = dict.fromkeys(name.split("/")[start.count("/")] for name in names if name.startswith(start))
        return tuple((name, replace(self.nested_column(column, [name]), text=name)) for name in heads)

    def _key(self, name: str) -> str:
        """Return a table name as the key of its spelling, in lower case unless case distinguishes tables."""
        return name if self.naming.facts.has_exact_quotes else name.lower()

    def _declared_names(self, name: str) -> tuple[str, str]:
        """Return the folded full name and the dataset name of a table in the schema; a path names itself."""
        folded = self.naming.facts.fold(name)
        if "/" in name:
            return folded, name
        parts = self.naming.complete(folded.split("."))
        full_name = ".".join(parts)
        # Without defaults and mapping, the dataset has the spelling in the schema.
        plain_name = name if full_name == folded else full_name
        return full_name, self.naming.mapped(full_name, parts) if self.naming.is_mapped else plain_name

    def _in_catalogue(self, name: str) -> bool:
        """Return whether a dataset of this name has declared columns or columns in the catalogue."""
        return self.schema(Dataset(self._namespace, name)) is not None

    def _nested_field(self, origin: DatasetField, path: Sequence[str]) -> DatasetField:
        """Return the deepest known field on a path below a field, or the field itself if none is known."""
        spelling = self._spelling_of_fields(origin.dataset)
        deepest = origin
        name = origin.name
        for step in path:
            name = f"{name}/{step}"
            if name.lower() in spelling:
                deepest = DatasetField(origin.dataset, spelling[name.lower()])
        return deepest

    def _spelling_of_fields(self, dataset: Dataset) -> Mapping[str, str]:
        """Return the fields of a table by lower-case name, built once for all of its columns."""
        if dataset not in self._field_spelling:
            schema = self.schema(dataset)
            fields = schema.fields if schema else ()
            self._field_spelling[dataset] = {field.name.lower(): field.name for field in fields}
        return self._field_spelling[dataset]

    def _read_columns(self, dataset: Dataset) -> ColumnSet:
        """Build the columns of a table's schema. If it is not declared, other names are columns, too.

        Fields of the catalogue count as complete, as for `SELECT *`, but not as ordered. Without a schema, a
        table lists no columns and is not complete.
        """

        def fallback(name: str) -> ColumnProvenance | None:
            return _plain_column(DatasetField(dataset, name))

        schema = self.schema(dataset)
        if schema is None:
            return ColumnSet((), fallback, is_complete=False, is_ordered=False)
        nested: dict[str, list[str]] = {}
        for field in schema.fields:
            nested.setdefault(field.name.partition("/")[0], []).append(field.name)
        # The catalogue has fields that runs have used, but the table may have others.
        items = tuple((name, _column(dataset, name, names)) for name, names in nested.items())
        return ColumnSet(items, None if schema.declared else fallback, is_ordered=schema.declared)


def _column(dataset: Dataset, name: str, field_names: Sequence[str]) -> ColumnProvenance:
    """Return a column of a table. If only its nested fields are known, they are its inputs."""
    plain = _plain_column(DatasetField(dataset, name))
    if name in field_names:
        return plain
    nested = merge_columns(_plain_column(DatasetField(dataset, nested)) for nested in field_names)
    return ColumnProvenance(direct=nested.direct, origin=plain.origin)


def _plain_column(field: DatasetField) -> ColumnProvenance:
    """Return the provenance of a column that is a plain copy of a field."""
    return ColumnProvenance(direct=frozenset((field,)), origin=field)
