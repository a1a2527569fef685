"""The catalogue: which namespaces, end points, fields and runs there are, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

from flask import Response

from api import responses
from api.openapi.schemas import (
    EndPointsSchema,
    FieldsSchema,
    NamespacesSchema,
    OpenLineageEventSchema,
    ResultsSchema,
    RunsSchema,
    RunToldSchema,
)
from api.query_params import (
    NamesQuery,
    NoQuery,
    PageQuery,
    RunsQuery,
    SearchQuery,
    asked_seconds,
    beyond,
    cursor,
    now_ms,
)
from api.routes.blueprint import Blueprint, settings, store
from fll_hbase import openlineage_export, rest_json
from fll_hbase.errors import CorruptRow, FieldError, InvalidQuery, NotFound
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.store.read.catalogue import SearchHit
from fll_hbase.store.results import RunsPage

T = TypeVar("T")

blueprint = Blueprint("catalogue", __name__, description="What was ever recorded")


@blueprint.route("/v3/namespaces")
@blueprint.arguments(PageQuery(), location="query")
@blueprint.response(200, NamespacesSchema, description="By code point")
@blueprint.problems(400, 503)
def namespaces(query: dict[str, Any]) -> Response:
    """All namespaces that have end points."""
    after = beyond(query["cursor"], 1) or [""]
    found = store().catalogue.namespaces(start_after=after[0])
    return _page(found, query, "namespaces", said=str, name=str)


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints")
@blueprint.arguments(NamesQuery(), location="query")
@blueprint.response(200, EndPointsSchema, description="By code point")
@blueprint.problems(400, 503)
def end_points(query: dict[str, Any], namespace: str) -> Response:
    """The end points of a namespace."""
    after = beyond(query["cursor"], 1) or [""]
    found = store().catalogue.datasets(namespace, prefix=query["prefix"], start_after=after[0])
    return _page(found, query, "endpoints", said=rest_json.dataset, name=lambda item: item.dataset.name)


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/fields")
@blueprint.arguments(NamesQuery(), location="query")
@blueprint.response(200, FieldsSchema, description="By code point")
@blueprint.problems(400, 404, 503)
def fields(query: dict[str, Any], namespace: str, name: str) -> Response:
    """The fields of an end point."""
    after = beyond(query["cursor"], 1) or [""]
    end_point = Dataset(namespace, name)
    known = store().catalogue.fields(end_point)
    if known is None:
        raise NotFound(f"no run ever read or wrote {end_point}; a search finds names")
    found = (field for field in known if field.name.startswith(query["prefix"]) and field.name > after[0])
    return _page(found, query, "fields", said=rest_json.field, name=lambda item: item.name)


@blueprint.route("/v3/search")
@blueprint.arguments(SearchQuery(), location="query")
@blueprint.response(200, ResultsSchema, description="By namespace, end point and field")
@blueprint.problems(400, 503)
def search(query: dict[str, Any]) -> Response:
    """End points and fields whose names hold a text, in any case.

    A page may hold fewer results than its limit and still have a next one.
    """
    after = beyond(query["cursor"], 3)
    page = store().catalogue.search(
        query["q"],
        start_after=SearchHit(Dataset(after[0], after[1]), after[2]) if after else None,
        limit=_limit(query),
        datasets_max=settings().search_end_points_max,
    )
    response = responses.json({"results": [rest_json.search_hit(result) for result in page.results]})
    if page.next_after is None:
        return response
    last = page.next_after.dataset
    return responses.linked(response, cursor=cursor(last.namespace, last.name, page.next_after.field))


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/runs")
@blueprint.arguments(RunsQuery(), location="query")
@blueprint.response(200, RunsSchema, description="Newest first")
@blueprint.problems(400, 404, 503)
def runs(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Every run of the window that read or wrote an end point, failed ones too."""
    page = _runs(query, namespace, name)
    return _linked(
        responses.json({"runs": [rest_json.run(run, now_ms=now_ms()) for run in page.runs]}), page, query
    )


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/openlineage")
@blueprint.arguments(RunsQuery(), location="query")
@blueprint.response(200, OpenLineageEventSchema(many=True), description="Newest first, one event a run")
@blueprint.problems(400, 404, 503)
def openlineage(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Every run of the window that read or wrote an end point, as events of OpenLineage.

    A page can be sent as it is to the batch route of another store.
    """
    page = _runs(query, namespace, name)
    told = store().run_details(page)
    aliases = store().catalogue.aliases(openlineage_export.datasets_of_runs(told))
    return _linked(responses.json(openlineage_export.run_events(told, aliases)), page, query)


@blueprint.route("/v3/runs/<run:run>")
@blueprint.arguments(NoQuery(), location="query")
@blueprint.response(200, RunToldSchema, description="Where events told of it, they too")
@blueprint.problems(400, 404, 503)
def run(query: dict[str, Any], run: str) -> Response:
    """All that was told of one run, whatever it read or wrote."""
    return responses.json(rest_json.run_details(store().run(run), now_ms=now_ms()))


def _runs(query: dict[str, Any], namespace: str, name: str) -> RunsPage:
    (after,) = beyond(query["cursor"], 1) or [""]
    try:
        if after:
            layout.parse_reference_tail(after.encode())
    except CorruptRow as error:
        raise InvalidQuery([FieldError("cursor", "comes from no link to a next page")]) from error
    end_point = Dataset(namespace, name)
    return store().runs(end_point, query["window"], limit=_limit(query), start_after=after.encode())


def _linked(response: Response, page: RunsPage, query: dict[str, Any]) -> Response:
    if not page.next_after:
        return response
    return responses.linked(
        response, cursor=cursor(page.next_after.decode()), **asked_seconds(query["window"])
    )


def _page(
    found: Iterator[T],
    query: dict[str, Any],
    what: str,
    *,
    said: Callable[[T], Any],
    name: Callable[[T], str],
) -> Response:
    limit = _limit(query)
    items = list(islice(found, limit + 1))
    response = responses.json({what: [said(item) for item in items[:limit]]})
    if len(items) <= limit:
        return response
    return responses.linked(response, cursor=cursor(name(items[limit - 1])))


def _limit(query: dict[str, Any]) -> int:
    return min(query["limit"] or settings().list_limit, settings().list_limit_max)
