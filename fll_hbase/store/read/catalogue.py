"""Which namespaces, end points and fields were ever recorded: listing and search."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import layout
from fll_hbase.keys.layout import Range
from fll_hbase.keys.ranges import dataset_of
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction
from fll_hbase.store.read.name_listing import DatasetNames, NamespaceNames, batch_names, list_names
from fll_hbase.tables import Cell, Row, Table


@dataclass(frozen=True, slots=True)
class CatalogueDataset:
    """An end point as last described."""

    dataset: Dataset
    description: str


@dataclass(frozen=True, slots=True)
class CatalogueField:
    """A field of an end point, its type as last said, and whether runs read or wrote it."""

    name: str
    type: str
    read: bool
    written: bool


@dataclass(frozen=True, slots=True, order=True)
class SearchHit:
    """A search result: a field of an end point, or with an empty field the end point itself."""

    dataset: Dataset
    field: str = ""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Results in order; `after` is what the next page begins beyond, None at the end."""

    results: tuple[SearchHit, ...]
    next_after: SearchHit | None


class Catalogue:
    """Answers what was ever recorded, failed and replaced runs included. Names are by code point."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def namespaces(self, *, start_after: str = "") -> Iterator[str]:
        """All namespaces, from beyond `after`."""
        return list_names(NamespaceNames(self._table), after=start_after.encode())

    def datasets(
        self, namespace: str, *, prefix: str = "", start_after: str = ""
    ) -> Iterator[CatalogueDataset]:
        """The end points of a namespace that begin with `prefix`, from beyond `after`."""
        for end_point, row in self._rows(namespace, prefix=prefix, after=start_after):
            yield CatalogueDataset(end_point, _newest(row, layout.DESCRIPTION))

    def entries(self, part: Range) -> Iterator[tuple[CatalogueDataset, list[CatalogueField]]]:
        """The end points of a range of keys, each under this name alone, with the fields it has there."""
        for key, row in self._table.scan(*part, columns=(layout.LIGHT,)):
            with in_row(key):
                described = CatalogueDataset(dataset_of(key), _newest(row, layout.DESCRIPTION))
                fields = _fields(row)
            yield described, fields

    def fields(self, end_point: Dataset) -> list[CatalogueField] | None:
        """All fields of an end point, under all its names; None where it was never recorded."""
        found = self._table.rows([layout.dataset_row(name) for name in self.names(end_point)])
        return _fields(*found.values()) if layout.dataset_row(end_point) in found else None

    def field_names(self, end_point: Dataset) -> list[str] | None:
        """The names of all fields of an end point; None where it was never recorded."""
        known = self.fields(end_point)
        return None if known is None else [field.name for field in known]

    def has_dataset(self, end_point: Dataset) -> bool:
        """Whether any run ever named the end point."""
        return bool(self._table.get(layout.dataset_row(end_point), columns=(layout.EXISTS,)))

    def names(self, end_point: Dataset) -> list[Dataset]:
        """The name itself, and all further names of the same end point."""
        return [end_point, *self.aliases([end_point]).get(end_point, ())]

    def aliases(self, end_points: Collection[Dataset]) -> dict[Dataset, list[Dataset]]:
        """The further names of each, sorted: one call for all; those without any are left out."""
        keys = {layout.alias_row(end_point): end_point for end_point in end_points}
        found = self._table.rows(list(keys), columns=(layout.LIGHT,))
        return {keys[key]: sorted(map(layout.parse_alias, row)) for key, row in found.items()}

    def search(
        self, text: str, *, start_after: SearchHit | None, limit: int, datasets_max: int
    ) -> SearchPage:
        """End points and fields whose names hold the text, in any case.

        At most `limit` results, out of at most `end_points_max` end points: a page may be short of results
        and still have a next one.
        """
        wanted = text.casefold()
        results: list[SearchHit] = []
        seen = None
        for number, (end_point, row) in enumerate(self._all_rows(start_after)):
            if number == datasets_max:
                return SearchPage(tuple(results), seen)
            fields = [field.name for field in _fields(row)]
            for found in [SearchHit(end_point), *(SearchHit(end_point, field) for field in fields)]:
                if (start_after is None or found > start_after) and wanted in (
                    found.field or end_point.name
                ).casefold():
                    if len(results) == limit:
                        return SearchPage(tuple(results), results[-1])
                    results.append(found)
            seen = SearchHit(end_point, fields[-1] if fields else "")
        return SearchPage(tuple(results), None)

    def _all_rows(self, after: SearchHit | None) -> Iterator[tuple[Dataset, Row]]:
        """Every end point from that of `after` on, it included."""
        first = after.dataset if after else Dataset("", "")
        if after is not None and (row := self._table.get(layout.dataset_row(first))):
            yield first, row
        yield from self._rows(first.namespace, after=first.name) if after else ()
        for namespace in self.namespaces(start_after=first.namespace):
            yield from self._rows(namespace)

    def _rows(self, namespace: str, *, prefix: str = "", after: str = "") -> Iterator[tuple[Dataset, Row]]:
        names = DatasetNames(self._table, namespace)
        for batch in batch_names(list_names(names, prefix=prefix.encode(), after=after.encode())):
            ends = {layout.dataset_row(Dataset(namespace, name)): Dataset(namespace, name) for name in batch}
            found = self._table.rows(list(ends), columns=(layout.LIGHT,))
            for row, end_point in ends.items():
                yield end_point, found.get(row, {})


def _fields(*named: Row) -> list[CatalogueField]:
    names: dict[str, set[Direction | None]] = {}
    types: dict[str, list[Cell]] = {}
    for column, cell in (item for row in named for item in row.items()):
        parsed = layout.parse_field_column(column)
        if parsed is not None:
            direction, name, is_type = parsed
            names.setdefault(name, set()).add(direction)
            if is_type:
                types.setdefault(name, []).append(cell)
    return [
        CatalogueField(
            name=name,
            type=_last_said(types.get(name, [])),
            read=Direction.FORWARD in directions,
            written=Direction.BACKWARD in directions,
        )
        for name, directions in sorted(names.items())
    ]


def _newest(row: Row, head: bytes) -> str:
    return _last_said([cell for column, cell in row.items() if column.startswith(head)])


def _last_said(cells: list[Cell]) -> str:
    if not cells:
        return ""
    last = max(cells, key=lambda cell: (cell.stamp_ms, cell.value)).value
    try:
        return last.decode()
    except UnicodeDecodeError as error:
        raise CorruptRow(f"{last[:200]!r} is not UTF-8") from error
