"""Reports about a field, as JSON, CSV, or a page to print."""

from __future__ import annotations

from fll_hbase.queries.reports.consumption import Consumption
from fll_hbase.queries.reports.provenance import Provenance

from .blueprint import Blueprint
from .queries import add_query

blueprint = Blueprint("reports", __name__, description="Answer for a field and its data")

add_query(blueprint, Consumption)
add_query(blueprint, Provenance)
