"""The catalogue: pages of namespaces, datasets, fields and search results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar

from flask import Response

from fll_hbase.model.datasets import Dataset
from fll_hbase.queries import dataset_json, rest_json
from fll_hbase.queries.cursors import invalid_cursor
from fll_hbase.store.read.search import MatchRank, SearchHit, SearchPosition

from ..openapi.answer_schemas import EndPointsSchema, FieldsSchema, NamespacesSchema, ResultsSchema
from ..openapi.catalogue_schemas import EndPointDetailsSchema
from ..wire import responses
from ..wire.query_params import (
    FieldNamesParams,
    NamesParams,
    NoParams,
    PageParams,
    SearchParams,
    decode_cursor,
    encode_cursor,
)
from .blueprint import Blueprint, settings, store

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
    return list_page(names, query, "namespaces", to_json=str, cursor_of=lambda name: (name,))


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints")
@blueprint.arguments(NamesParams(), location="query")
@blueprint.response(200, EndPointsSchema, description="By code point")
@blueprint.problems(400, 503)
def datasets(query: dict[str, Any], namespace: str) -> Response:
    """List the datasets of a namespace."""
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    entries = store().catalogue.datasets(namespace, prefix=query["prefix"], start_after=start_after)
    return list_page(
        entries, query, "endpoints", to_json=rest_json.dataset, cursor_of=lambda entry: (entry.dataset.name,)
    )


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, EndPointDetailsSchema, description="Everything ever recorded counts")
@blueprint.problems(400, 404, 503)
def endpoint(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Return the description of a dataset, the number of its fields, and its first and last start.

    Failed runs count. 404 if no recorded run read or wrote it.
    """
    return responses.json_response(dataset_json.dataset(*store().dataset(Dataset(namespace, name))))


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/fields")
@blueprint.arguments(FieldNamesParams(), location="query")
@blueprint.response(200, FieldsSchema, description="By code point")
@blueprint.problems(400, 404, 503)
def fields(query: dict[str, Any], namespace: str, name: str) -> Response:
    """List the fields of a dataset. 404 if no recorded run read or wrote it.

    `lastWritten` is the start of the last run that wrote a field, if newer runs wrote the dataset without it.
    A `dropped` field is not in the newest schema that a run reported of the dataset.
    """
    [start_after] = decode_cursor(query["cursor"], 1) or [""]
    entries = store().field_writes.fields(Dataset(namespace, name))
    # All fields are in one catalogue row, which is read whole: only the answer is paged.
    text = query["q"].casefold()
    matches = (
        entry
        for entry in entries
        if entry.field.name.startswith(query["prefix"])
        and text in entry.field.name.casefold()
        and entry.field.name > start_after
    )
    return list_page(
        matches, query, "fields", to_json=rest_json.field, cursor_of=lambda entry: (entry.field.name,)
    )


@blueprint.route("/v3/search")
@blueprint.arguments(SearchParams(), location="query")
@blueprint.response(200, ResultsSchema, description="Whole names, prefixes, other parts of names")
@blueprint.problems(400, 503)
def search(query: dict[str, Any]) -> Response:
    """List the datasets and fields whose names contain a text, in any case, the best match first.

    A page may have fewer results than its limit and still a next page.
    """
    page = store().catalogue.search(
        query["q"],
        kind=query["kind"],
        start_after=_search_position(query["cursor"]),
        limit=page_limit(query),
        # A rare text may be found only after millions of names: the bound ends the page, not the search.
        datasets_max=settings().search_end_points_max,
    )
    response = responses.json_response({"results": [rest_json.search_hit(hit) for hit in page.results]})
    if page.next_after is None:
        return response
    rank, last = page.next_after
    cursor = encode_cursor(str(rank.value), last.dataset.namespace, last.dataset.name, last.field)
    return responses.with_next_link(response, cursor=cursor)


def _search_position(cursor: str | None) -> SearchPosition | None:
    """Return the position of a cursor of the search, None without one. Raises InvalidQuery."""
    parts = decode_cursor(cursor, 4)
    if parts is None:
        return None
    rank, namespace, name, field = parts
    if rank not in [str(match.value) for match in MatchRank]:
        raise invalid_cursor()
    return SearchPosition(MatchRank(int(rank)), SearchHit(Dataset(namespace, name), field))


def list_page(
    items: Iterator[T],
    query: dict[str, Any],
    member: str,
    *,
    to_json: Callable[[T], Any],
    cursor_of: Callable[[T], Sequence[str]],
    members: Mapping[str, Any] = MappingProxyType({}),
) -> Response:
    """Return the first items as a page, with a link to the next page if there are more.

    `cursor_of` returns the names of an item by which the next page finds its place. `members` stand beside
    the items.
    """
    limit = page_limit(query)
    # One more than shown: it decides whether there is a next page, so that no last page is empty.
    page = list(islice(items, limit + 1))
    response = responses.json_response({member: [to_json(item) for item in page[:limit]], **members})
    if len(page) <= limit:
        return response
    # A name and not an offset: names that are added meanwhile shift no page.
    return responses.with_next_link(response, cursor=encode_cursor(*cursor_of(page[limit - 1])))


def page_limit(query: dict[str, Any]) -> int:
    """Return the size of a page: `limit` of the query or FLL_LIST_LIMIT, at most FLL_LIST_LIMIT_MAX."""
    return min(query["limit"] or settings().list_limit, settings().list_limit_max)
