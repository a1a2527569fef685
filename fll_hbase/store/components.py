"""The parts of a store over one table, assembled once for `LineageStore`, its readers, and Spark workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.field_graph import FieldGraph
from fll_hbase.store.read.requested_horizons import RequestedHorizons
from fll_hbase.store.read.run_times import RunTimesReader
from fll_hbase.store.read.unmasked_contents import UnmaskedContents
from fll_hbase.store.read.window_query import Sealer, WindowReader
from fll_hbase.store.write.commit import RunCommitter
from fll_hbase.store.write.sealing import BackgroundSealer, DaySealer
from fll_hbase.tables import Table


@dataclass(frozen=True, slots=True)
class StoreComponents:
    """Readers and the writer of one table, with shared caches. Threads may share them.

    `unmasked_graph` leaves out ways through operations that mask values. `sealer` is None for a view.
    """

    table: Table
    settings: Settings
    events: EventMerger
    contents: ContentCache
    graph: FieldGraph
    unmasked_graph: FieldGraph
    windows: WindowReader
    times: RunTimesReader
    catalogue: Catalogue
    committer: RunCommitter
    requests: RequestedHorizons
    sealer: Sealer | None


class Reader:
    """Answers queries with the components of a store. Threads may share it."""

    def __init__(self, components: StoreComponents) -> None:
        self._table = components.table
        self._settings = components.settings
        self._events = components.events
        self._contents = components.contents
        self._graph = components.graph
        self._windows = components.windows
        self._times = components.times
        self._catalogue = components.catalogue
        self._requests = components.requests


def build_components(
    table: Table,
    settings: Settings,
    *,
    clock: Callable[[], int] = now_ms,
    events: EventMerger | None = None,
    contents: ContentCache | None = None,
    make_sealer: Callable[[DaySealer], Sealer | None] = BackgroundSealer,
) -> StoreComponents:
    """Return the parts of a store over an open table, with the limits of the settings.

    `clock` returns milliseconds since 1970. A view of a store passes `events` that hide programs, and
    `contents` in the cache of that store. Its `make_sealer` returns None, because stored data must not depend
    on who queries it. Reads nothing.
    """
    # Reads and writes share one merger, so a query finds the event bodies that a commit has cached.
    events = events or EventMerger(table)
    contents = contents or ContentCache(
        table, cache_bytes=settings.cache_bytes, pairs_max=settings.pairs_max, steps_max=settings.steps_max
    )
    grace_ms = settings.grace_ms
    requests = RequestedHorizons(table, clock=clock)
    sealer = make_sealer(DaySealer(table, events, clock=clock, grace_ms=grace_ms))
    windows = WindowReader(
        table, contents, events, requests=requests, clock=clock, grace_ms=grace_ms, sealer=sealer
    )
    return StoreComponents(
        table=table,
        settings=settings,
        events=events,
        contents=contents,
        graph=FieldGraph(contents),
        unmasked_graph=FieldGraph(UnmaskedContents(contents)),
        windows=windows,
        times=RunTimesReader(
            table, windows, contents, clock=clock, grace_ms=grace_ms, runs_max=settings.runs_max
        ),
        catalogue=Catalogue(table),
        committer=RunCommitter(table, events, clock=clock, grace_ms=grace_ms),
        requests=requests,
        sealer=sealer,
    )
