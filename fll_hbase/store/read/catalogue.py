"""Catalogue queries: namespaces, datasets and fields that were ever recorded, listed and searched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fll_hbase.keys import layout
from fll_hbase.keys.layout import Range
from fll_hbase.keys.ranges import dataset_of
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.errors import CorruptRow, NotFound, in_row
from fll_hbase.store.read import shared_reads
from fll_hbase.store.read.name_listing import (
    batch_names,
    dataset_names,
    list_names,
    namespace_names,
)
from fll_hbase.store.read.name_search import (
    BEFORE_ALL,
    HitCollector,
    MatchRank,
    SearchHit,
    SearchKind,
    SearchPage,
    SearchPosition,
    build_page,
)
from fll_hbase.tables import Cell, Row, Table, read_rows

DATASETS_PER_READ = 128
"""Maximum number of catalogue rows read together."""


@dataclass(frozen=True, slots=True)
class CatalogueDataset:
    """A dataset and its latest description."""

    dataset: Dataset
    description: str


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """Names of a dataset, its own first, the latest description under that name, and number of all fields."""

    names: tuple[Dataset, ...]
    description: str
    fields: int


@dataclass(frozen=True, slots=True)
class CatalogueField:
    """A field of a dataset, its latest type, and whether any run read or wrote it."""

    name: str
    type: str
    read: bool
    written: bool


class Catalogue:
    """Lists namespaces, datasets and fields ever recorded, even by failed and replaced runs.

    Names sort by code point. An argument `start_after` is excluded from the results. Methods raise
    StoreUnavailable, TooLarge for names too long for a key, and, except `datasets` and `search`, which leave
    out damaged datasets, CorruptRow.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def namespaces(self, *, start_after: str = "") -> Iterator[str]:
        """Yield all namespaces after `start_after` (excluded), in order."""
        return list_names(namespace_names(self._table), start_after=start_after.encode())

    def datasets(
        self, namespace: str, *, prefix: str = "", start_after: str = ""
    ) -> Iterator[CatalogueDataset]:
        """Yield in order the datasets of a namespace after `start_after` whose names begin with `prefix`."""
        for dataset, row in self._rows(namespace, prefix=prefix, start_after=start_after):
            listed = None
            with damage.leaving_out(), in_row(layout.dataset_row(dataset)):
                listed = CatalogueDataset(dataset, _latest_description(row))
            if listed is not None:
                yield listed

    def entries(self, key_range: Range) -> Iterator[tuple[CatalogueDataset, list[CatalogueField]]]:
        """Yield, in key order, the recorded datasets in a range of keys, without the fields of aliases."""
        for key, row in self._table.scan(*key_range, columns=(layout.LIGHT,)):
            # A row with only a horizon belongs to an unconfirmed source.
            if layout.EXISTS not in row:
                continue
            with in_row(key):
                dataset = CatalogueDataset(dataset_of(key), _latest_description(row))
                fields = _fields(row)
            yield dataset, fields

    def fields(self, dataset: Dataset) -> list[CatalogueField] | None:
        """Return the sorted fields of a dataset under all its names, or None if it was never recorded."""
        rows = self._table.rows([layout.dataset_row(name) for name in self.names(dataset)])
        return _fields(*rows.values()) if _exists(rows, dataset) else None

    def entries_of(
        self, datasets: Collection[Dataset], aliases: Mapping[Dataset, Sequence[Dataset]]
    ) -> Iterator[tuple[CatalogueDataset, list[CatalogueField]]]:
        """Yield the recorded datasets among these with the fields under all their names, in one call."""
        names = {dataset: [dataset, *aliases.get(dataset, ())] for dataset in datasets}
        keys = {layout.dataset_row(name) for listed in names.values() for name in listed}
        rows = self._table.rows(sorted(keys), columns=(layout.LIGHT,))
        for dataset, listed in names.items():
            if _exists(rows, dataset):
                row = rows[layout.dataset_row(dataset)]
                others = (rows.get(layout.dataset_row(name), {}) for name in listed[1:])
                yield CatalogueDataset(dataset, _latest_description(row)), _fields(row, *others)

    def summary(self, dataset: Dataset) -> DatasetSummary:
        """Return the summary of a dataset. Raises NotFound for one that was never recorded."""
        names = self.names(dataset)
        rows = self._table.rows([layout.dataset_row(name) for name in names], columns=(layout.LIGHT,))
        if not _exists(rows, dataset):
            self.require_dataset(dataset)
        description = _latest_description(rows.get(layout.dataset_row(dataset), {}))
        return DatasetSummary(tuple(names), description, len(_fields(*rows.values())))

    def description(self, dataset: Dataset) -> str:
        """Return the latest description of a dataset, or "" without one, in one call. Raises CorruptRow."""
        key = layout.dataset_row(dataset)
        with in_row(key):
            return _latest_description(self._table.get(key, columns=(layout.LIGHT,)))

    def types(self, fields: Collection[DatasetField]) -> dict[DatasetField, str]:
        """Return the latest types of fields, under all names of their datasets, leaving out unknown types.

        Makes two calls per 128 datasets. Raises DeadlineExceeded.
        """
        wanted = set(fields)
        datasets = sorted({field.dataset for field in wanted})
        cells: dict[DatasetField, list[Cell]] = {}
        for begin in range(0, len(datasets), DATASETS_PER_READ):
            deadline.check()
            for field, cell in self._type_cells(datasets[begin : begin + DATASETS_PER_READ]):
                if field in wanted:
                    cells.setdefault(field, []).append(cell)
        return {field: _latest_text(types) for field, types in cells.items()}

    def _type_cells(self, datasets: Sequence[Dataset]) -> Iterator[tuple[DatasetField, Cell]]:
        """Yield the type cells of all fields of datasets, under all their names."""
        aliases = self.aliases(datasets)
        keys = {
            dataset: [layout.dataset_row(name) for name in (dataset, *aliases.get(dataset, ()))]
            for dataset in datasets
        }
        all_keys = sorted({key for names in keys.values() for key in names})
        rows = self._table.rows(all_keys, columns=(layout.LIGHT,))
        for dataset, names in keys.items():
            for column, cell in (item for key in names for item in rows.get(key, {}).items()):
                parsed = layout.parse_field_column(column) if layout.is_type_column(column) else None
                if parsed is not None:
                    yield DatasetField(dataset, parsed[1]), cell

    def field_names(self, dataset: Dataset) -> list[str] | None:
        """Return the sorted field names of a dataset under all its names, or None if never recorded."""
        fields = self.fields(dataset)
        return None if fields is None else [field.name for field in fields]

    def has_dataset(self, dataset: Dataset) -> bool:
        """Return whether the dataset was ever recorded."""
        return dataset in self.recorded([dataset])

    def recorded(self, datasets: Collection[Dataset]) -> set[Dataset]:
        """Return which of the datasets were ever recorded, in one call."""
        results: dict[Dataset, list[Dataset]] = shared_reads.lookup(datasets)
        keys = {layout.dataset_row(dataset): dataset for dataset in datasets if dataset not in results}
        if keys:
            rows = read_rows(self._table, keys, columns=(layout.EXISTS,))
            read = {dataset: [dataset] if dataset in rows else [] for dataset in keys.values()}
            shared_reads.add(read, size=len(read))
            results |= read
        return {dataset for dataset, listed in results.items() if listed}

    def require_dataset(self, dataset: Dataset) -> None:
        """Raise NotFound for a dataset that was never recorded; the error suggests names in another case."""
        if self.has_dataset(dataset):
            return
        # Engines store unquoted names in lower or upper case.
        spellings = {dataset._replace(name=fold(dataset.name)) for fold in (str.lower, str.upper)} - {dataset}
        recorded = ", ".join(repr(other.name) for other in sorted(self.recorded(spellings)))
        advice = f"{recorded} is recorded" if recorded else "`fll find` or GET /v3/search finds names"
        raise NotFound(f"dataset {dataset} not found: no recorded run read or wrote it; {advice}")

    def require_field(self, field: DatasetField) -> None:
        """Raise NotFound for a field missing under all names of its dataset, or an unrecorded dataset."""
        names = self.field_names(field.dataset)
        if names is None:
            self.require_dataset(field.dataset)
        elif field.name not in names:
            raise NotFound(
                f"field {field.name!r} of {field.dataset} not found: no recorded run read or wrote it"
            )

    def names(self, dataset: Dataset) -> list[Dataset]:
        """Return the dataset, followed by its sorted aliases."""
        return [dataset, *self.aliases([dataset]).get(dataset, ())]

    def aliases(self, datasets: Collection[Dataset]) -> dict[Dataset, list[Dataset]]:
        """Return the sorted aliases of datasets in one call, leaving out datasets without any."""
        # Take one step only: aliases of aliases are not followed (decision 13).
        keys = {layout.alias_row(dataset): dataset for dataset in datasets}
        rows = read_rows(self._table, keys, columns=(layout.LIGHT,))
        aliases = {dataset: layout.aliases_in(row) for dataset, row in rows.items()}
        return {dataset: names for dataset, names in aliases.items() if names}

    def search(
        self,
        text: str,
        *,
        kind: SearchKind | None = None,
        start_after: SearchPosition | None = None,
        limit: int,
        datasets_max: int,
    ) -> SearchPage:
        """Find datasets and fields whose names contain the text, ignoring case, the best matches first.

        Whole names come before prefixes, and prefixes before other parts of names. Equally good matches are
        in the order of datasets and fields. Returns at most `limit` hits after searching at most
        `datasets_max` datasets, so a page may have fewer hits and still have a next page.
        """
        start = start_after or SearchPosition(MatchRank.EXACT, BEFORE_ALL)
        hits: list[SearchPosition] = []
        searched = 0
        while True:
            collector = HitCollector(text, kind, start, limit=limit)
            for dataset, row in self._all_rows(None if start.hit == BEFORE_ALL else start.hit):
                # Without this bound, a rare text would scan the whole catalogue in one call (decision 8).
                if searched == datasets_max or len(hits) + collector.count > limit:
                    hits += collector.hits(all_ranks=False)
                    return build_page(hits, limit=limit, next_after=collector.searched)
                # The dataset of the position is searched again for further fields, so it does not count: each
                # page must make progress.
                if dataset != start.hit.dataset:
                    searched += 1
                    # Move past damaged datasets, too, or a page of them would be followed by itself.
                    collector.searched = SearchPosition(start.rank, SearchHit(dataset))
                with damage.leaving_out(), in_row(layout.dataset_row(dataset)):
                    collector.add(dataset, [field.name for field in _fields(row)])
            hits += collector.hits(all_ranks=collector.finds_all_ranks)
            if collector.finds_all_ranks or len(hits) > limit:
                return build_page(hits, limit=limit)
            start = SearchPosition(MatchRank(start.rank + 1), BEFORE_ALL)

    def _all_rows(self, start_after: SearchHit | None) -> Iterator[tuple[Dataset, Row]]:
        """Yield each dataset with its catalogue row, in order, the dataset of `start_after` first.

        That dataset may have further fields. With None, it begins at the first dataset. A row is empty if it
        is deleted during the scan; the dataset of `start_after` is then left out.
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
        """Yield the datasets of a namespace in order, each with its row, or {} if the row is missing."""
        names = dataset_names(self._table, namespace)
        listed = list_names(names, prefix=prefix.encode(), start_after=start_after.encode())
        for batch in batch_names(listed):
            datasets = [Dataset(namespace, name) for name in batch]
            keys = {layout.dataset_row(dataset): dataset for dataset in datasets}
            rows = read_rows(self._table, keys, columns=(layout.LIGHT,))
            for dataset in datasets:
                yield dataset, rows.get(dataset, {})


def _exists(rows: Mapping[bytes, Row], dataset: Dataset) -> bool:
    """Return whether catalogue rows contain the dataset; a horizon alone is not enough."""
    return layout.EXISTS in rows.get(layout.dataset_row(dataset), ())


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
    """Return the latest description in a catalogue row, or "" without one. Raises CorruptRow."""
    return _latest_text([cell for column, cell in row.items() if column.startswith(layout.DESCRIPTION)])


def _latest_text(cells: list[Cell]) -> str:
    """Return the value of the newest cell, the greatest on ties, "" without cells. Raises CorruptRow."""
    if not cells:
        return ""
    # Each distinct type or description is a separate cell, named by its digest (decision 1).
    value = max(cells, key=lambda cell: (cell.stamp_ms, cell.value)).value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise CorruptRow(f"{value[:200]!r} is not UTF-8") from error
