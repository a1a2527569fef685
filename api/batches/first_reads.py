"""The windows that a query of a batch reads first: those of a batch are read together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import marshmallow as ma
from flask import current_app, request

from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.query import FirstReads, Query
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.read.window_query import WindowQuery

from ..openapi.query_schemas import parameter_schema
from ..wire.query_params import QueryParser, ReachParams, now_ms


@dataclass(frozen=True, slots=True)
class _FirstRead:
    """The parameters of a route, and the windows that it reads for them and the dataset of its path.

    `times` is whether it reads when contents ran, not only which ones did.
    """

    params: type[ma.Schema]
    windows: Callable[[Json, Dataset], list[WindowQuery]]
    times: bool = False


def first_reads() -> FirstReads:
    """Return the windows that the current request reads first; none for an invalid request."""
    try:
        query = _requested_query()
        return _first_reads_of_route() if query is None else query.first_reads(now_ms=now_ms())
    except LineageError:
        # The request itself is answered with this error.
        return FirstReads()


def _requested_query() -> Query[Any] | None:
    """Return the query of the current request, None if its route has none. Raises InvalidQuery."""
    view = current_app.view_functions.get(request.endpoint or "")
    query: type[Query[Any]] | None = getattr(view, "query", None)
    if query is None:
        return None
    parameters = QueryParser().parse(parameter_schema(query)(), request, location="query")
    return query(**(request.view_args or {}), **parameters)


def _first_reads_of_route() -> FirstReads:
    route = _ROUTES.get(request.endpoint or "")
    if route is None or request.view_args is None:
        return FirstReads()
    query: Json = QueryParser().parse(route.params(), request, location="query")
    dataset = Dataset(request.view_args.get("namespace", ""), request.view_args.get("name", ""))
    windows = tuple(route.windows(query, dataset))
    return FirstReads(times=windows) if route.times else FirstReads(contents=windows)


def _windows_by_direction(query: Json, dataset: Dataset) -> list[WindowQuery]:
    directions = query.get("directions") or [query["direction"]]
    return [WindowQuery(direction, dataset, query["window"], query["failed"]) for direction in directions]


_ROUTES: Mapping[str, _FirstRead] = {
    "reach.reach": _FirstRead(ReachParams, _windows_by_direction, times=True),
}
"""Routes that begin with the contents of one dataset in a window; lists of runs, and histories, do not."""
