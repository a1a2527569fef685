"""Reader options as scan bounds. Bounds may select too much, since Spark applies every filter again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import FieldEdge
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.queries import time_window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.worker_store import job_settings
from fll_hbase.tables import FORMS, is_store_url

ALWAYS = Window(0, START_LIMIT_MS)
PARTITIONS = 8
"""Partitions of a read from an engine without regions."""

OPTIONS = ("store", "table", "namespace", "name", "start", "end", "partitions")
PATH, PATHS = "path", "paths"
"""Options that Spark itself adds for an argument of load() or save(), and for several of load()."""


class TableName(Enum):
    """The tables of the data source."""

    RUNS = "runs"
    EDGES = "edges"
    FIELDS = "fields"
    OPERATIONS = "operations"


_NO_WINDOW = {
    TableName.FIELDS: "the catalogue has no times",
    TableName.OPERATIONS: "join it with `runs` on `checksum`",
}
"""Tables that a window of starts cannot bound, with the reason or what to do instead."""


@dataclass(frozen=True, slots=True)
class DatasetFilter:
    """One dataset, all datasets of a namespace, or all datasets if the namespace is empty."""

    namespace: str = ""
    name: str = ""

    @property
    def matches_all(self) -> bool:
        """Return whether every dataset matches, because the namespace is empty, whatever the name."""
        return not self.namespace

    @property
    def dataset(self) -> Dataset | None:
        """Return the only dataset that can match, or None if several can."""
        return Dataset(self.namespace, self.name) if self.namespace and self.name else None

    def narrow(self, other: DatasetFilter) -> DatasetFilter:
        """Return this filter with its missing members taken from the other one."""
        # Contradictions do no harm: bounds may select too much, and Spark applies every filter again.
        return DatasetFilter(self.namespace or other.namespace, self.name or other.name)

    def matches(self, dataset: Dataset | None) -> bool:
        """Return whether a dataset matches. None, for a missing end of an edge, matches only if all match."""
        if self.matches_all:
            return True
        if dataset is None or dataset.namespace != self.namespace:
            return False
        return self.name in ("", dataset.name)


@dataclass(frozen=True, slots=True)
class ScanBounds:
    """The rows to read: runs that start in the window, and edges between the datasets.

    `either_end` has to match the source or the destination of an edge. `ids` are run ids or content
    checksums, None for any.
    """

    window: Window = ALWAYS
    either_end: DatasetFilter = DatasetFilter()
    sources: DatasetFilter = DatasetFilter()
    destinations: DatasetFilter = DatasetFilter()
    ids: frozenset[str] | None = None

    def matches(self, edge: FieldEdge) -> bool:
        """Return whether both ends of an edge match, without checking the window and the ids."""
        if not (self.sources.matches(edge.source) and self.destinations.matches(edge.destination)):
            return False
        return self.either_end.matches(edge.source) or self.either_end.matches(edge.destination)

    def with_window(self, *, start_ms: int = 0, stop_ms: int = START_LIMIT_MS) -> ScanBounds:
        """Narrow the window to starts from `start_ms` (included) to `stop_ms` (excluded)."""
        stop_ms = min(self.window.stop_ms, max(stop_ms, 0))
        return replace(self, window=Window(min(max(self.window.start_ms, start_ms), stop_ms), stop_ms))

    def with_ids(self, ids: frozenset[str]) -> ScanBounds:
        """Narrow the bounds to these run ids or checksums."""
        return replace(self, ids=ids if self.ids is None else self.ids & ids)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A table of a store, the bounds of the read, and the approximate number of partitions."""

    settings: Settings
    table: TableName
    bounds: ScanBounds
    partitions: int


def parse_options(options: Mapping[str, str]) -> ReadRequest:
    """Return the request of a reader's options, whose names are case-insensitive.

    Without `table`, it reads runs, without `start` and `end` of any time. Raises ConfigurationError, and
    InvalidQuery for an unreadable time or a start after the end.
    """
    values = {key.lower(): value for key, value in options.items()}
    unknown = sorted(values.keys() - {*OPTIONS, PATH, PATHS})
    if unknown:
        raise ConfigurationError(f"unknown option {unknown[0]!r}; valid options: {', '.join(OPTIONS)}")
    table = _parse_table(values.get("table", TableName.RUNS.value))
    if values.get("name") and not values.get("namespace"):
        raise ConfigurationError(f"option name={values['name']!r} also needs the namespace of the dataset")
    either_end = DatasetFilter(values.get("namespace", ""), values.get("name", ""))
    return ReadRequest(
        job_settings(parse_store(values)),
        table,
        ScanBounds(_parse_window(values, table), either_end),
        _parse_partitions(values.get("partitions")),
    )


def parse_store(options: Mapping[str, str]) -> str | None:
    """Return the URL of the store: the option, the argument of load() or save(), or None without either.

    Option names are in lower case. Raises ConfigurationError for two stores, and for any other path.
    """
    store, path = options.get("store"), options.get(PATH)
    if PATHS in options:
        raise ConfigurationError(f"load() reads one store, but has several paths: {options[PATHS]}")
    if path is None:
        return store
    # A catalog turns a path into a URI of Hadoop, which loses slashes.
    if not is_store_url(path):
        raise ConfigurationError(f"path {path!r} is not the URL of a store: expected {FORMS}")
    if store not in (None, path):
        raise ConfigurationError(f"path {path!r} and option store={store!r} are two stores; give one of them")
    return path


def _parse_table(name: str) -> TableName:
    """Return the table with a name. Raises ConfigurationError with the valid names."""
    try:
        return TableName(name)
    except ValueError as error:
        names = ", ".join(table.value for table in TableName)
        raise ConfigurationError(f"option table={name!r} is not a table; valid tables: {names}") from error


def _parse_window(options: Mapping[str, str], table: TableName) -> Window:
    """Parse the options `start` and `end`. Raises InvalidQuery, and ConfigurationError for other tables."""
    bounds = [name for name in ("start", "end") if options.get(name)]
    if bounds and table in _NO_WINDOW:
        raise ConfigurationError(f"table {table.value} has no option {bounds[0]}: {_NO_WINDOW[table]}")
    return time_window.parse_window(
        options.get("start") or "0", options.get("end") or str(START_LIMIT_MS), now_ms=now_ms()
    )


def _parse_partitions(value: str | None) -> int:
    """Return the number of partitions, PARTITIONS for None. Raises ConfigurationError unless it is from 1."""
    if value is None:
        return PARTITIONS
    if not value.isdecimal() or not int(value):
        raise ConfigurationError(f"option partitions={value!r} is not a whole number of at least 1")
    return int(value)
