"""The catalogue: pages of namespaces, datasets, fields and search results."""

from __future__ import annotations

from typing import Any

from fll_hbase.queries.catalogue import DatasetDetails, Datasets, Fields, Namespaces
from fll_hbase.queries.search import Search

from .blueprint import Blueprint, settings
from .queries import add_query

blueprint = Blueprint("catalogue", __name__, description="Everything ever recorded")


add_query(blueprint, Namespaces)
add_query(blueprint, Datasets)
add_query(blueprint, DatasetDetails)
add_query(blueprint, Fields)
add_query(blueprint, Search)


def page_limit(query: dict[str, Any]) -> int:
    """Return the size of a page: `limit` of the query or FLL_LIST_LIMIT, at most FLL_LIST_LIMIT_MAX."""
    return min(query["limit"] or settings().list_limit, settings().list_limit_max)
