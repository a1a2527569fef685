"""Which columns does a table have: from the script itself, the document's schema, else the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fll_hbase.model.operations import Dataset, DatasetField, Field
from fll_hbase.sources.sql.provenance import ColumnSet, ColumnProvenance, merged

FieldLookup = Callable[[Dataset], Sequence[str] | None]
"""The fields of an end point as the catalogue has them, None where it has none."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Fields of a table; a schema has all of them in their order, the catalogue those it met."""

    fields: tuple[Field, ...]
    declared: bool


class TableSchemas:
    """The tables that a script names, each under one spelling."""

    def __init__(self, namespace: str, schema: Mapping[str, Sequence[Field]], lookup: FieldLookup) -> None:
        self._namespace = namespace
        self._lookup = lookup
        self._spelling = {name.lower(): name for name in reversed(list(schema))}
        self._known: dict[Dataset, TableSchema | None] = {}
        self._columns: dict[Dataset, ColumnSet] = {}
        for name, fields in schema.items():
            self._known[Dataset(namespace, name)] = TableSchema(tuple(fields), declared=True)

    def dataset(self, name: str) -> Dataset:
        """The end point of a table's name, which may be spelt in any case."""
        exact = Dataset(self._namespace, name)
        if exact in self._known:
            return exact
        return Dataset(self._namespace, self._spelling.setdefault(name.lower(), name))

    def add_alias(self, name: str, dataset_name: str) -> None:
        """Make a name that SQL has for a table, in any case, stand for a dataset of another name."""
        self._spelling[name.lower()] = dataset_name

    def declare(self, end_point: Dataset, fields: Sequence[Field]) -> None:
        """Columns that the script itself gives a table."""
        self._known[end_point] = TableSchema(tuple(fields), declared=True)
        self._columns.pop(end_point, None)

    def schema(self, end_point: Dataset) -> TableSchema | None:
        """What is known of the columns of a table."""
        if end_point not in self._known:
            found = self._lookup(end_point)
            self._known[end_point] = TableSchema(tuple(map(Field, found)), declared=False) if found else None
        return self._known[end_point]

    def types(self, end_point: Dataset) -> dict[str, str]:
        """The types that are known of the fields of a table."""
        known = self._known.get(end_point)
        return {field.name: field.type for field in known.fields} if known else {}

    def columns(self, end_point: Dataset) -> ColumnSet:
        """The columns of a table as a query reads them; a nested field is reached through its column."""
        if end_point not in self._columns:
            self._columns[end_point] = self._read(end_point)
        return self._columns[end_point]

    def nested_field(self, origin: DatasetField, path: Sequence[str]) -> DatasetField:
        """The deepest field on a path into a column that is known by its own name; else the column."""
        known = self.schema(origin.dataset)
        spelling = {field.name.lower(): field.name for field in known.fields} if known else {}
        deepest = origin
        name = origin.name
        for step in path:
            name = f"{name}/{step}"
            if name.lower() in spelling:
                deepest = DatasetField(origin.dataset, spelling[name.lower()])
        return deepest

    def _read(self, end_point: Dataset) -> ColumnSet:
        def rest(name: str) -> ColumnProvenance | None:
            return _plain(DatasetField(end_point, name))

        known = self.schema(end_point)
        if known is None:
            return ColumnSet((), rest=rest, complete=False, ordered=False)
        below: dict[str, list[str]] = {}
        for field in known.fields:
            below.setdefault(field.name.partition("/")[0], []).append(field.name)
        named = tuple((name, _column(end_point, name, names)) for name, names in below.items())
        return ColumnSet(named, rest=None if known.declared else rest, ordered=known.declared)


def _column(end_point: Dataset, name: str, names: Sequence[str]) -> ColumnProvenance:
    """A column, or one that only its nested fields are known of."""
    whole = _plain(DatasetField(end_point, name))
    if name in names:
        return whole
    every = merged(_plain(DatasetField(end_point, nested)) for nested in names)
    return ColumnProvenance(direct=every.direct, origin=whole.origin)


def _plain(field: DatasetField) -> ColumnProvenance:
    return ColumnProvenance(direct=frozenset((field,)), origin=field)
