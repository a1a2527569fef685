"""The catalogue: pages of namespaces, datasets, fields and search results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from flask import Response

from fll_hbase.queries.catalogue import DatasetDetails, Datasets, Fields, Namespaces
from fll_hbase.queries.pages import first_page
from fll_hbase.queries.search import Search

from ..wire import responses
from .blueprint import Blueprint, settings
from .queries import add_query

T = TypeVar("T")

blueprint = Blueprint("catalogue", __name__, description="Everything ever recorded")


add_query(blueprint, Namespaces)
add_query(blueprint, Datasets)
add_query(blueprint, DatasetDetails)
add_query(blueprint, Fields)
add_query(blueprint, Search)


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
    page, cursor = first_page(items, page_limit(query), cursor_of)
    response = responses.json_response({member: [to_json(item) for item in page], **members})
    return responses.with_next_link(response, cursor=cursor) if cursor else response


def page_limit(query: dict[str, Any]) -> int:
    """Return the size of a page: `limit` of the query or FLL_LIST_LIMIT, at most FLL_LIST_LIMIT_MAX."""
    return min(query["limit"] or settings().list_limit, settings().list_limit_max)
