"""Catalogue queries: namespaces, datasets and fields that were ever recorded, listed and searched."""

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
    """A dataset and its latest description."""

    dataset: Dataset
    description: str


@dataclass(frozen=True, slots=True)
class CatalogueField:
    """A field of a dataset, its latest type, and whether any run read or wrote it."""

    name: str
    type: str
    read: bool
    written: bool


@dataclass(frozen=True, slots=True, order=True)
class SearchHit:
    """A search result: a field of a dataset, or with an empty field the dataset itself."""

    dataset: Dataset
    field: str = ""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Hits in order; `next_after` is the `start_after` of the next page, None on the last one."""

    results: tuple[SearchHit, ...]
    next_after: SearchHit | None


class Catalogue:
    """Lists namespaces, datasets and fields ever recorded, also by failed and replaced runs.

    Names sort by code point. An argument `start_after` is excluded from the results.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def namespaces(self, *, start_after: str = "") -> Iterator[str]:
        """Yield all namespaces after `start_after`, in order."""
        return list_names(NamespaceNames(self._table), start_after=start_after.encode())

    def datasets(
        self, namespace: str, *, prefix: str = "", start_after: str = ""
    ) -> Iterator[CatalogueDataset]:
        """Yield the datasets of a namespace whose names begin with `prefix`, after `start_after`."""
        for dataset, row in self._rows(namespace, prefix=prefix, start_after=start_after):
            yield CatalogueDataset(dataset, _latest_description(row))

    def entries(self, key_range: Range) -> Iterator[tuple[CatalogueDataset, list[CatalogueField]]]:
        """Yield the datasets of a range of catalogue keys with their own fields, not those of aliases."""
        for key, row in self._table.scan(*key_range, columns=(layout.LIGHT,)):
            with in_row(key):
                dataset = CatalogueDataset(dataset_of(key), _latest_description(row))
                fields = _fields(row)
            yield dataset, fields

    def fields(self, dataset: Dataset) -> list[CatalogueField] | None:
        """Return all fields of a dataset, under all its names; None if it was never recorded."""
        rows = self._table.rows([layout.dataset_row(name) for name in self.names(dataset)])
        return _fields(*rows.values()) if layout.dataset_row(dataset) in rows else None

    def field_names(self, dataset: Dataset) -> list[str] | None:
        """Return the names of all fields of a dataset; None if it was never recorded."""
        fields = self.fields(dataset)
        return None if fields is None else [field.name for field in fields]

    def has_dataset(self, dataset: Dataset) -> bool:
        """Return whether the dataset was ever recorded."""
        return bool(self._table.get(layout.dataset_row(dataset), columns=(layout.EXISTS,)))

    def names(self, dataset: Dataset) -> list[Dataset]:
        """Return the dataset and its aliases."""
        return [dataset, *self.aliases([dataset]).get(dataset, ())]

    def aliases(self, datasets: Collection[Dataset]) -> dict[Dataset, list[Dataset]]:
        """Return the sorted aliases of datasets in one call; datasets without any are left out."""
        # One step only: aliases of aliases are not followed (decision 13).
        keys = {layout.alias_row(dataset): dataset for dataset in datasets}
        rows = self._table.rows(list(keys), columns=(layout.LIGHT,))
        aliases = {keys[key]: layout.aliases_in(row) for key, row in rows.items()}
        return {dataset: names for dataset, names in aliases.items() if names}

    def search(
        self, text: str, *, start_after: SearchHit | None, limit: int, datasets_max: int
    ) -> SearchPage:
        """Find datasets and fields whose names contain the text, ignoring case.

        Returns at most `limit` hits from at most `datasets_max` datasets: a page may be short of hits and
        still have a next one.
        """
        folded = text.casefold()
        hits: list[SearchHit] = []
        last_searched = None
        for number, (dataset, row) in enumerate(self._all_rows(start_after)):
            # A rare text would otherwise scan the whole catalogue in one call (decision 8).
            if number == datasets_max:
                return SearchPage(tuple(hits), last_searched)
            fields = [field.name for field in _fields(row)]
            for candidate in (SearchHit(dataset), *(SearchHit(dataset, field) for field in fields)):
                is_next = start_after is None or candidate > start_after
                if is_next and folded in (candidate.field or dataset.name).casefold():
                    # One hit more than the limit was found, so there is a next page.
                    if len(hits) == limit:
                        return SearchPage(tuple(hits), hits[-1])
                    hits.append(candidate)
            last_searched = SearchHit(dataset, fields[-1] if fields else "")
        return SearchPage(tuple(hits), None)

    def _all_rows(self, start_after: SearchHit | None) -> Iterator[tuple[Dataset, Row]]:
        """Yield each dataset with its catalogue row, in order, from the dataset of `start_after` on.

        None begins at the first dataset. That of `start_after` is included, since it may have further fields.
        A row is empty if it is deleted during the scan.
        """
        first = start_after.dataset if start_after else Dataset("", "")
        if start_after is not None and (row := self._table.get(layout.dataset_row(first))):
            yield first, row
        yield from self._rows(first.namespace, start_after=first.name) if start_after else ()
        for namespace in self.namespaces(start_after=first.namespace):
            yield from self._rows(namespace)

    def _rows(
        self, namespace: str, *, prefix: str = "", start_after: str = ""
    ) -> Iterator[tuple[Dataset, Row]]:
        names = DatasetNames(self._table, namespace)
        listed = list_names(names, prefix=prefix.encode(), start_after=start_after.encode())
        for batch in batch_names(listed):
            datasets = [Dataset(namespace, name) for name in batch]
            keys = {layout.dataset_row(dataset): dataset for dataset in datasets}
            rows = self._table.rows(list(keys), columns=(layout.LIGHT,))
            for key, dataset in keys.items():
                yield dataset, rows.get(key, {})


def _fields(*rows: Row) -> list[CatalogueField]:
    """Return the fields of the catalogue rows of one dataset, sorted by name."""
    directions: dict[str, set[Direction | None]] = {}
    types: dict[str, list[Cell]] = {}
    for column, cell in (item for row in rows for item in row.items()):
        parsed = layout.parse_field_column(column)
        if parsed is not None:
            direction, name, is_type = parsed
            directions.setdefault(name, set()).add(direction)
            if is_type:
                types.setdefault(name, []).append(cell)
    return [
        CatalogueField(
            name=name,
            type=_latest_text(types.get(name, [])),
            read=Direction.FORWARD in directions_of_field,
            written=Direction.BACKWARD in directions_of_field,
        )
        for name, directions_of_field in sorted(directions.items())
    ]


def _latest_description(row: Row) -> str:
    return _latest_text([cell for column, cell in row.items() if column.startswith(layout.DESCRIPTION)])


def _latest_text(cells: list[Cell]) -> str:
    """Return the value with the newest timestamp; ties go to the greatest value. Raises CorruptRow."""
    if not cells:
        return ""
    # Each distinct type or description is a cell of its own, named by its digest (decision 1).
    value = max(cells, key=lambda cell: (cell.stamp_ms, cell.value)).value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise CorruptRow(f"{value[:200]!r} is not UTF-8") from error
