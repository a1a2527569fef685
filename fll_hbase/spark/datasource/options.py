"""What does a query ask of which table: at least that is read, and Spark leaves out what is too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from fll_hbase import clock, time_window
from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.model.field_edges import FieldEdge
from fll_hbase.model.operations import Dataset
from fll_hbase.model.runs import START_LIMIT_MS, Window
from fll_hbase.spark.settings import job_settings

ALWAYS = Window(0, START_LIMIT_MS)
PARTITIONS = 8
"""How many partitions where the engine keeps no ranges apart itself."""

OPTIONS = ("store", "table", "namespace", "name", "start", "end", "partitions")


class TableName(Enum):
    """What lineage is told as."""

    RUNS = "runs"
    EDGES = "edges"
    FIELDS = "fields"
    OPERATIONS = "operations"


@dataclass(frozen=True, slots=True)
class DatasetFilter:
    """One end point, those of a namespace, or without one all that there are."""

    namespace: str = ""
    name: str = ""

    @property
    def matches_all(self) -> bool:
        return not self.namespace

    @property
    def dataset(self) -> Dataset | None:
        """The end point, where there can be but one."""
        return Dataset(self.namespace, self.name) if self.namespace and self.name else None

    def narrow(self, said: DatasetFilter) -> DatasetFilter:
        """What both say; where they contradict one another this one counts."""
        return DatasetFilter(self.namespace or said.namespace, self.name or said.name)

    def matches(self, end_point: Dataset | None) -> bool:
        """Whether it is among these; what is no end point is only among all."""
        if self.matches_all:
            return True
        if end_point is None or end_point.namespace != self.namespace:
            return False
        return self.name in ("", end_point.name)


@dataclass(frozen=True, slots=True)
class ScanBounds:
    """Which rows are asked for: runs that start in the window, and edges with those ends.

    `touched` is either end of an edge; `names` are runs or checksums, None for any.
    """

    window: Window = ALWAYS
    either_end: DatasetFilter = DatasetFilter()
    sources: DatasetFilter = DatasetFilter()
    destinations: DatasetFilter = DatasetFilter()
    ids: frozenset[str] | None = None

    def matches(self, edge: FieldEdge) -> bool:
        """Whether the edge has the ends that were asked for."""
        if not (self.sources.matches(edge.source) and self.destinations.matches(edge.destination)):
            return False
        return self.either_end.matches(edge.source) or self.either_end.matches(edge.destination)

    def with_window(self, *, start_ms: int = 0, stop_ms: int = START_LIMIT_MS) -> ScanBounds:
        """Those of them that start at `start_ms` (in) or later and before `stop_ms` (out)."""
        stop_ms = min(self.window.stop_ms, max(stop_ms, 0))
        return replace(self, window=Window(min(max(self.window.start_ms, start_ms), stop_ms), stop_ms))

    def with_ids(self, names: frozenset[str]) -> ScanBounds:
        """Those of them with such a name."""
        return replace(self, names=names if self.ids is None else self.ids & names)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A table of a store, within bounds, in about so many parts."""

    settings: Settings
    table: TableName
    bounds: ScanBounds
    partitions: int


def parse_options(options: Mapping[str, str]) -> ReadRequest:
    """What the options of a reader ask for. Raises ConfigurationError, or InvalidQuery for a time that is none."""
    said = {key.lower(): value for key, value in options.items()}
    unknown = sorted(said.keys() - {*OPTIONS, "path"})
    if unknown:
        raise ConfigurationError(f"option {unknown[0]!r} is none; there are {', '.join(OPTIONS)}")
    table = said.get("table", TableName.RUNS.value)
    if table not in [one.value for one in TableName]:
        names = ", ".join(one.value for one in TableName)
        raise ConfigurationError(f"option table={table!r} names no table; there are {names}")
    if said.get("name") and not said.get("namespace"):
        raise ConfigurationError(f"option name={said['name']!r} needs the namespace of the end point, too")
    touched = DatasetFilter(said.get("namespace", ""), said.get("name", ""))
    window = _window(said.get("start"), said.get("end"))
    return ReadRequest(
        job_settings(said.get("store")),
        TableName(table),
        ScanBounds(window, touched),
        _parts(said.get("partitions")),
    )


def _window(start: str | None, end: str | None) -> Window:
    """All time, unless the options say less."""
    return time_window.window(start or "0", end or str(START_LIMIT_MS), now_ms=clock.now_ms())


def _parts(said: str | None) -> int:
    if said is None:
        return PARTITIONS
    if not said.isdecimal() or not int(said):
        raise ConfigurationError(f"option partitions={said!r} is not a number from 1")
    return int(said)
