"""Lineage queries: of a dataset over many hops, of a field in detail, and the derivations of a field."""

from __future__ import annotations

from fll_hbase.queries.derivations import Derivations
from fll_hbase.queries.field_lineage import FieldLineage
from fll_hbase.queries.lineage import Lineage

from .blueprint import Blueprint
from .queries import add_query

blueprint = Blueprint("questions", __name__, description="Query the lineage of a window")

for query in (Lineage, FieldLineage, Derivations):
    add_query(blueprint, query)
