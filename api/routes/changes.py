"""Changes: the history of how a field was derived, and the diff of a field or a dataset in two windows."""

from __future__ import annotations

from fll_hbase.queries.diff import DatasetDiff, Diff
from fll_hbase.queries.history import History

from .blueprint import Blueprint
from .queries import add_query

blueprint = Blueprint("changes", __name__, description="When and how the derivations of fields changed")

for _query in (History, Diff, DatasetDiff):
    add_query(blueprint, _query)
