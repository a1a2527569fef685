"""Last writes of a dataset's fields, and fields that are missing from the newest schema."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import TypeAlias

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_relations import written_fields
from fll_hbase.model.run_events import EventLineage
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import NotFound
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.catalogue import CatalogueField
from fll_hbase.store.read.content_cache import retry_on_missing_content
from fll_hbase.store.read.window_query import reference_tail_of
from fll_hbase.store.rows.run_rows import CommittedRun

NEWEST_RUNS = 16
"""Number of newest runs to read; the schema is the newest that any of them reported."""

AGES_DAYS = (32, 256, 2_048)
"""Ages of windows of older runs, searched one after another; the first one has most of the fields."""

CONTENTS_MAX = 1_000
"""Maximum number of distinct contents searched for fields that the newest runs did not write."""

DROP = "DROP"

_Writes: TypeAlias = list[tuple[CommittedRun, Dataset]]
"""Runs, newest first, each with the name that it used for the dataset."""


@dataclass(frozen=True, slots=True)
class ListedField:
    """A field of the catalogue, with the start of the last run that wrote it if the newest write lacks it.

    The start is in milliseconds since 1970. It is None if the newest run that wrote the dataset wrote the
    field, if no run did, or if more than CONTENTS_MAX contents are newer. A field is `dropped` if the
    dataset's newest reported schema lacks it, and no later run wrote it.
    """

    field: CatalogueField
    last_written_ms: int | None = None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class _Schema:
    """The names of all fields at the start of a run; nested fields may be left out."""

    start_ms: int
    names: frozenset[str]

    def has(self, field: str) -> bool:
        """Return whether a field is listed, or is part of a listed column whose parts are not listed."""
        if field in self.names:
            return True
        column, separator, _ = field.rpartition("/")
        if not separator:
            return False
        prefix = f"{column}/"
        return not any(name.startswith(prefix) for name in self.names) and self.has(column)


class FieldWriteReader(Reader):
    """Reads when fields were written, excluding failed runs. Threads may share it.

    The work grows with the number of newest runs. For fields that these did not write, it also grows with the
    number of distinct contents since. Methods raise StoreUnavailable, DeadlineExceeded and CorruptRow.
    """

    @retry_on_missing_content
    def fields(self, dataset: Dataset) -> list[ListedField]:
        """Return all fields of a dataset, sorted, with last writes under all its names. Raises NotFound."""
        fields = self._catalogue.fields(dataset)
        if fields is None:
            raise NotFound(
                f"dataset {dataset} not found: no recorded run read or wrote it; `fll find` or GET /v3/search"
                " finds names"
            )
        return self._listed(dataset, fields)

    @retry_on_missing_content
    def field(self, field: DatasetField) -> ListedField:
        """Return one field of a dataset, with its last write under all its names. Raises NotFound."""
        fields = [entry for entry in self._catalogue.fields(field.dataset) or () if entry.name == field.name]
        if not fields:
            self._catalogue.require_field(field)
            # Not in `fields`, so it was recorded between the two reads.
            return self.field(field)
        [listed] = self._listed(field.dataset, fields)
        return listed

    def _listed(self, dataset: Dataset, fields: Sequence[CatalogueField]) -> list[ListedField]:
        """Return the given fields of a dataset with their last writes, in the same order."""
        newest = self._newest(self._catalogue.names(dataset))
        starts = self._starts(dataset, newest, {field.name for field in fields if field.written})
        schema = self._schema(newest)
        newest_ms = newest[0][0].run.start_ms if newest else 0
        return [_listed(field, starts.get(field.name), schema, newest_ms=newest_ms) for field in fields]

    def _newest(self, names: Sequence[Dataset]) -> _Writes:
        """Return the NEWEST_RUNS newest runs that wrote a dataset, newest first, once for each name used."""
        always = Window(0, START_LIMIT_MS)
        runs_by_name: list[Iterator[tuple[CommittedRun, Dataset]]] = [
            zip(
                self._windows.runs(WindowQuery(Direction.BACKWARD, name, always), batch_size=NEWEST_RUNS),
                repeat(name),
            )
            for name in names
        ]
        merged = heapq.merge(*runs_by_name, key=lambda item: reference_tail_of(item[0]))
        return list(islice(merged, NEWEST_RUNS))

    def _starts(self, dataset: Dataset, newest: _Writes, wanted: Collection[str]) -> dict[str, int]:
        """Return the start of each field's last write, reading up to CONTENTS_MAX contents for `wanted`."""
        starts: dict[str, int] = {}
        self._contents.load(run.checksum for run, _ in newest)
        for run, name in newest:
            for field in written_fields(self._contents.field_map(run.checksum), name):
                starts.setdefault(field, run.run.start_ms)
        searched = 0
        # With fewer runs, all have been read.
        windows = _older_windows(newest[-1][0].run.start_ms) if len(newest) == NEWEST_RUNS else iter(())
        for window in windows:
            missing = {field for field in wanted if field not in starts}
            if not missing or searched > CONTENTS_MAX:
                break
            query = WindowQuery(Direction.BACKWARD, dataset, window)
            (by_name,) = self._windows.checksums_by_name([query])
            searched += sum(map(len, by_name.values()))
            if searched <= CONTENTS_MAX:
                starts |= self._starts_in(window, by_name, missing)
        return starts

    def _starts_in(
        self, window: Window, by_name: Mapping[Dataset, Collection[str]], missing: Collection[str]
    ) -> dict[str, int]:
        """Return the start of the last run of a window that wrote each of the missing fields."""
        self._contents.load(checksum for listed in by_name.values() for checksum in listed)
        fields: dict[tuple[WindowQuery, str], set[str]] = {}
        for name, listed in by_name.items():
            query = WindowQuery(Direction.BACKWARD, name, window)
            for checksum in listed:
                deadline.check()
                matches = written_fields(self._contents.field_map(checksum), name).intersection(missing)
                if matches:
                    fields[query, checksum] = matches
        queries: dict[WindowQuery, list[str]] = {}
        for query, checksum in fields:
            queries.setdefault(query, []).append(checksum)
        starts: dict[str, int] = {}
        for query, tails in zip(queries, self._windows.newest_references(queries), strict=True):
            for checksum, tail in tails.items():
                start_ms = layout.parse_reference_tail(tail).start_ms
                for field in fields[query, checksum]:
                    starts[field] = max(start_ms, starts.get(field, 0))
        return starts

    def _schema(self, newest: _Writes) -> _Schema | None:
        """Return the newest schema that the given runs reported, or None if they reported no schema."""
        details = self._events.run_details([run.key for run, _ in newest])
        for run, name in newest:
            run_details = details.get(run.key)
            names = (
                _reported_fields(run_details.part, name)
                if run_details is not None and run_details.part
                else None
            )
            if names is not None:
                return _Schema(run.run.start_ms, names)
        return None


def _older_windows(newest_ms: int) -> Iterator[Window]:
    """Yield windows that cover all starts up to a time, the newest first."""
    stop_ms = newest_ms + 1
    for start_ms in (*(max(0, newest_ms - days * DAY_MS) for days in AGES_DAYS), 0):
        if start_ms < stop_ms:
            yield Window(start_ms, stop_ms)
            stop_ms = start_ms


def _reported_fields(lineage: EventLineage, dataset: Dataset) -> frozenset[str] | None:
    """Return the fields of a schema reported by a run: empty for a dropped dataset, None without one."""
    # The schemas of an export list only the fields that its runs used.
    if lineage.operations:
        return None
    for mention in lineage.mentions:
        if mention.written and Dataset(*lineage.datasets[mention.dataset_index]) == dataset:
            if mention.lifecycle == DROP:
                return frozenset()
            if mention.fields:
                return frozenset(name for name, _ in mention.fields)
    return None


def _listed(
    field: CatalogueField, start_ms: int | None, schema: _Schema | None, *, newest_ms: int
) -> ListedField:
    """Return a field with its last write (None if unknown), and as dropped if a later `schema` lacks it.

    A last write at `newest_ms` is None, too.
    """
    is_old = schema is not None and (start_ms is None or start_ms < schema.start_ms)
    is_dropped = schema is not None and is_old and not schema.has(field.name)
    return ListedField(field, None if start_ms == newest_ms else start_ms, is_dropped)
