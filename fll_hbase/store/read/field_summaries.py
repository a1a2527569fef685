"""Summaries of one hop: the fields of datasets in a window, and relations of a dataset or field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_relations import read_fields, related_fields, written_fields
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import retry_on_missing_content
from fll_hbase.store.results import DatasetLineageResult, LineageEntry

DATASETS_PER_READ = 64
"""Maximum number of datasets whose fields are read together, in one direction after the other."""


@dataclass(frozen=True, slots=True)
class RelatedFields:
    """Fields that lead to a field or that it leads to; `truncated_by` has limits that left out some."""

    fields: tuple[DatasetField, ...]
    truncated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedDataset:
    """A dataset upstream or downstream of another: how many fields runs used, and the field pairs of both.

    `fields` counts the fields that runs of the window read or wrote. A pair is a source field and a
    destination field.
    """

    dataset: Dataset
    fields: int
    relations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """All recorded fields of a dataset, and the datasets related to it in a window."""

    fields: tuple[str, ...]
    incoming: tuple[RelatedDataset, ...]
    outgoing: tuple[RelatedDataset, ...]
    truncated_by: tuple[str, ...]


class FieldSummaryReader(Reader):
    """Reads summaries of windows. Threads may share it.

    Methods except `summary` raise NotFound for an empty answer if the name was never recorded. All methods
    raise StoreUnavailable, DeadlineExceeded and CorruptRow.
    """

    @retry_on_missing_content
    def written_fields(self, dataset: Dataset, window: Window) -> list[str]:
        """Return the sorted names of the fields that runs of the window wrote to a dataset."""
        (names,) = self._fields([WindowQuery(Direction.BACKWARD, dataset, window)])
        if not names:
            self._catalogue.require_dataset(dataset)
        return sorted(names)

    @retry_on_missing_content
    def related_fields(self, field: DatasetField, window: Window, direction: Direction) -> RelatedFields:
        """Return, sorted, the source fields of a field (backward) or the fields derived from it.

        Returns at most `pairs_max` fields. At the deadline it returns those read so far, or raises
        DeadlineExceeded if there are none.
        """
        fields: set[DatasetField] = set()
        fields_max = self._settings.pairs_max
        truncated_by: set[str] = set()
        related = self._related(WindowQuery(direction, field.dataset, window), field.name)
        for other in deadline.until_over(related, truncated_by=truncated_by):
            if len(fields) == fields_max and other not in fields:
                truncated_by.add(f"pairs_max={fields_max}")
                break
            fields.add(other)
        if not fields:
            self._catalogue.require_field(field)
        return RelatedFields(tuple(sorted(fields)), tuple(sorted(truncated_by)))

    @retry_on_missing_content
    def summary(self, dataset: Dataset, window: Window, lineage: DatasetLineageResult) -> DatasetSummary:
        """Return a dataset's recorded fields, if any, and the datasets of its one-hop `lineage`, sorted."""
        by_direction = {
            direction: [entry for entry in lineage.entries if entry.direction is direction]
            for direction in BOTH
        }
        others = {other for entry in lineage.entries if (other := _other(entry)) is not None}
        counts = self._count_fields(sorted(others), window)
        incoming, outgoing = (_related_datasets(by_direction[direction], counts) for direction in BOTH)
        fields = tuple(self._catalogue.field_names(dataset) or ())
        return DatasetSummary(fields, incoming, outgoing, lineage.truncated_by)

    def _count_fields(self, datasets: Sequence[Dataset], window: Window) -> dict[Dataset, int]:
        """Return by dataset the number of distinct fields that runs of the window read or wrote."""
        counts: dict[Dataset, int] = {}
        for begin in range(0, len(datasets), DATASETS_PER_READ):
            chunk = datasets[begin : begin + DATASETS_PER_READ]
            written, read = (
                self._fields([WindowQuery(direction, dataset, window) for dataset in chunk])
                for direction in BOTH
            )
            counts |= {
                dataset: len(names | others)
                for dataset, names, others in zip(chunk, written, read, strict=True)
            }
        return counts

    def _fields(self, queries: Sequence[WindowQuery]) -> list[set[str]]:
        """Return for each query the fields that its runs wrote or read, under all names of its dataset."""
        fields = []
        for query, by_name in zip(queries, self._windows.checksums_by_name(queries), strict=True):
            select = written_fields if query.direction is Direction.BACKWARD else read_fields
            names: set[str] = set()
            for name, checksum in _contents(by_name):
                # Check here, because fully cached contents never wait for the store.
                deadline.check()
                names |= select(self._contents.field_map(checksum), name)
            fields.append(names)
        return fields

    def _related(self, query: WindowQuery, field: str) -> Iterator[DatasetField]:
        """Yield the fields related to a field, in any content and under any name of its dataset."""
        (by_name,) = self._windows.checksums_by_name([query])
        backward = query.direction is Direction.BACKWARD
        for name, checksum in _contents(by_name):
            deadline.check()
            field_map = self._contents.field_map(checksum)
            yield from related_fields(field_map, DatasetField(name, field), backward=backward)


def _contents(by_name: dict[Dataset, frozenset[str]]) -> Iterator[tuple[Dataset, str]]:
    """Yield each name of a dataset with each of its contents, in checksum order."""
    for name, checksums in by_name.items():
        yield from ((name, checksum) for checksum in sorted(checksums))


def _other(entry: LineageEntry) -> Dataset | None:
    """Return the dataset at the other end of an entry, or None for generated and dropped fields."""
    is_backward = entry.direction is Direction.BACKWARD
    return entry.relation.source if is_backward else entry.relation.destination


def _related_datasets(
    entries: Sequence[LineageEntry], counts: dict[Dataset, int]
) -> tuple[RelatedDataset, ...]:
    """Return the datasets at the other ends of entries, sorted, with their counts and field pairs."""
    related = {other: entry.relation for entry in entries if (other := _other(entry)) is not None}
    return tuple(
        RelatedDataset(other, counts[other], _pairs(relation.direct | relation.indirect))
        for other, relation in sorted(related.items())
    )


def _pairs(pairs: Iterable[tuple[str | None, str | None]]) -> tuple[tuple[str, str], ...]:
    """Return the pairs without a None (a generated or dropped field), sorted."""
    return tuple(sorted((first, last) for first, last in pairs if first is not None and last is not None))
