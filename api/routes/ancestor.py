"""The lineage routes of CDAP, in its words, for clients that were written for it."""

from __future__ import annotations

from fll_hbase.queries.ancestor import (
    AncestorFieldOperations,
    AncestorFields,
    AncestorFieldSummary,
    AncestorRelationsOfDataset,
)

from .blueprint import Blueprint
from .queries import add_query

blueprint = Blueprint(
    "ancestor", __name__, description="The lineage routes of CDAP, in its words: `incoming`, `outgoing`"
)

add_query(blueprint, AncestorFields)
add_query(blueprint, AncestorFieldSummary)
add_query(blueprint, AncestorFieldOperations)
add_query(blueprint, AncestorRelationsOfDataset)
