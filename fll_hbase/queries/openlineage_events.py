"""Pages of runs as OpenLineage events: of a dataset, of a namespace, or of all namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import msgspec

from fll_hbase.queries.parameters import RunState
from fll_hbase.queries.query import Answer, Body
from fll_hbase.queries.runs import DatasetRuns, ProgramRuns, next_cursor
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.results import RunsPage


class OpenLineageRun(Body, frozen=True, kw_only=True):
    """The run of an event; `facets` has standard facets by name, and `fll_run`."""

    run_id: str
    facets: dict[str, Json]


class OpenLineageJob(Body, frozen=True, kw_only=True):
    """The program of an event."""

    namespace: str
    name: str
    facets: dict[str, Json]


class OpenLineageDataset(Body, frozen=True, kw_only=True):
    """A dataset that the run of an event read or wrote."""

    namespace: str
    name: str
    facets: dict[str, Json]


class OpenLineageEvent(Body, frozen=True, kw_only=True):
    """A run event of OpenLineage 2-0-2."""

    event_type: RunState
    event_time: str
    producer: str
    schema_url: str = msgspec.field(name="schemaURL")
    run: OpenLineageRun
    job: OpenLineageJob
    inputs: tuple[OpenLineageDataset, ...]
    outputs: tuple[OpenLineageDataset, ...]


Events: TypeAlias = tuple[OpenLineageEvent, ...]

_RESULT = "Newest first, one event a run"


@dataclass(frozen=True, kw_only=True)
class OpenLineageEvents(DatasetRuns[Events]):
    """List the runs of the window that read or wrote a dataset, as OpenLineage events.

    The answer is an array, newest first, with one event for each run. The batch route of another store
    accepts it unchanged. `field`, `program`, `state` and `limit` select runs as in the list of runs.

    >>> events = client.openlineage_events("bank", "RiskScores", limit=1).body
    >>> [dataset.name for dataset in events[0].inputs]
    ['CustomerAccounts', 'RiskScores']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/openlineage"
    result: ClassVar[str] = _RESULT

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[Events]:
        """Return a page of events. Raises InvalidQuery, NotFound for an unknown dataset, and store errors."""
        window = self.window(now_ms)
        page = self.read_page(store, window)
        events = _events(store, page)
        return Answer(events, window, store.retained_from_ms(self.dataset, window), cursor=next_cursor(page))


@dataclass(frozen=True, kw_only=True)
class AllOpenLineageEvents(ProgramRuns[Events]):
    """List the runs of the window in all namespaces, as OpenLineage events.

    The answer is an array, newest first, with one event for each run. `program`, `state` and `limit` select
    runs as in the list of all runs. The answer covers at most 10,000 namespaces.

    >>> client.all_openlineage_events(program="print", limit=1).body[0].job.name
    'print'
    """

    path: ClassVar[str] = "/v3/openlineage"
    result: ClassVar[str] = _RESULT
    statuses: ClassVar[tuple[int, ...]] = (400, 503)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[Events]:
        """Return a page of events."""
        return _program_events(self, store, "", now_ms)


@dataclass(frozen=True)
class NamespaceOpenLineageEvents(ProgramRuns[Events]):
    """List the runs of the window of the programs of a namespace, as OpenLineage events.

    The answer is an array, newest first, with one event for each run. The batch route of another store
    accepts it unchanged. `program`, `state` and `limit` select runs as in the list of runs.

    >>> client.namespace_openlineage_events("bank", program="print", limit=1).body[0].job.name
    'print'
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/openlineage"
    result: ClassVar[str] = _RESULT

    namespace: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[Events]:
        """Return a page of events. Raises InvalidQuery, NotFound without any program, and store errors."""
        return _program_events(self, store, self.namespace, now_ms)


def _program_events(
    query: ProgramRuns[Events], store: LineageStore, namespace: str, now_ms: int
) -> Answer[Events]:
    """Return a page of the runs of a query's window as events; "" means all namespaces."""
    window = query.window(now_ms)
    page = query.read_page(store, window, namespace)
    retained_from_ms = store.runs_retained_from_ms(window)
    return Answer(_events(store, page), window, retained_from_ms, page.truncated_by, next_cursor(page))


def _events(store: LineageStore, page: RunsPage) -> Events:
    """Return the runs of a page as events, in its order, without runs that were deleted meanwhile."""
    # Imported here, because the client of a server does not export.
    from fll_hbase.queries.openlineage_export import export_runs

    return typed_json.convert(export_runs(store.catalogue, store.tags, store.run_details(page)), Events)
