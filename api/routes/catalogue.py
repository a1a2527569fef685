"""The catalogue: pages of namespaces, datasets, fields and search results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

from flask import Response

from api import responses
from api.openapi.answers import EndPointsSchema, FieldsSchema, NamespacesSchema, ResultsSchema
from api.query_params import NamesParams, PageParams, SearchParams, decode_cursor, encode_cursor
from api.routes.blueprint import Blueprint, settings, store
from fll_hbase import rest_json
from fll_hbase.errors import NotFound
from fll_hbase.model.datasets import Dataset
from fll_hbase.store.read.catalogue import SearchHit

T = TypeVar("T")

blueprint = Blueprint("catalogue", __name__, description="Everything ever recorded")


@blueprint.route("/v3/namespaces")
@blueprint.arguments(PageParams(), location="query")
@blueprint.response(200, NamespacesSchema, description="By code point")
@blueprint.problems(400, 503)
def namespaces(query: dict[str, Any]) -> Response:
    """List all namespaces that have datasets."""
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    names = store().catalogue.namespaces(start_after=start_after)
    return _page(names, query, "namespaces", to_json=str, name_of=str)


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints")
@blueprint.arguments(NamesParams(), location="query")
@blueprint.response(200, EndPointsSchema, description="By code point")
@blueprint.problems(400, 503)
def datasets(query: dict[str, Any], namespace: str) -> Response:
    """List the datasets of a namespace."""
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    entries = store().catalogue.datasets(namespace, prefix=query["prefix"], start_after=start_after)
    return _page(
        entries, query, "endpoints", to_json=rest_json.dataset, name_of=lambda entry: entry.dataset.name
    )


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/fields")
@blueprint.arguments(NamesParams(), location="query")
@blueprint.response(200, FieldsSchema, description="By code point")
@blueprint.problems(400, 404, 503)
def fields(query: dict[str, Any], namespace: str, name: str) -> Response:
    """List the fields of a dataset. 404 if no recorded run read or wrote it."""
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    dataset = Dataset(namespace, name)
    entries = store().catalogue.fields(dataset)
    if entries is None:
        raise NotFound(f"dataset {dataset} not found: no recorded run read or wrote it. Use /v3/search")
    # All fields are in one catalogue row, which is read whole: only the answer is paged.
    matches = (
        entry for entry in entries if entry.name.startswith(query["prefix"]) and entry.name > start_after
    )
    return _page(matches, query, "fields", to_json=rest_json.field, name_of=lambda entry: entry.name)


@blueprint.route("/v3/search")
@blueprint.arguments(SearchParams(), location="query")
@blueprint.response(200, ResultsSchema, description="By namespace, dataset and field")
@blueprint.problems(400, 503)
def search(query: dict[str, Any]) -> Response:
    """List the datasets and fields whose names contain a text, in any case.

    A page may have fewer results than its limit and still a next page.
    """
    cursor = decode_cursor(query["cursor"], 3)
    page = store().catalogue.search(
        query["q"],
        start_after=SearchHit(Dataset(cursor[0], cursor[1]), cursor[2]) if cursor else None,
        limit=page_limit(query),
        # A rare text may be found only after millions of names: the bound ends the page, not the search.
        datasets_max=settings().search_end_points_max,
    )
    response = responses.json_response({"results": [rest_json.search_hit(hit) for hit in page.results]})
    if page.next_after is None:
        return response
    last = page.next_after.dataset
    return responses.with_next_link(
        response, cursor=encode_cursor(last.namespace, last.name, page.next_after.field)
    )


def _page(
    items: Iterator[T],
    query: dict[str, Any],
    member: str,
    *,
    to_json: Callable[[T], Any],
    name_of: Callable[[T], str],
) -> Response:
    """Return the first items as a page, with a link to the next page if there are more."""
    limit = page_limit(query)
    # One more than shown: it decides whether there is a next page, so that no last page is empty.
    page = list(islice(items, limit + 1))
    response = responses.json_response({member: [to_json(item) for item in page[:limit]]})
    if len(page) <= limit:
        return response
    # A name and not an offset: names that are added meanwhile shift no page.
    return responses.with_next_link(response, cursor=encode_cursor(name_of(page[limit - 1])))


def page_limit(query: dict[str, Any]) -> int:
    """Return the size of a page: `limit` of the query or FLL_LIST_LIMIT, at most FLL_LIST_LIMIT_MAX."""
    return min(query["limit"] or settings().list_limit, settings().list_limit_max)
