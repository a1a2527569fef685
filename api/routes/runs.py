"""Runs: pages of them, as JSON or as OpenLineage events, counts, programs, single runs and contents."""

from __future__ import annotations

from fll_hbase.queries.contents import Content
from fll_hbase.queries.openlineage_events import (
    AllOpenLineageEvents,
    NamespaceOpenLineageEvents,
    OpenLineageEvents,
)
from fll_hbase.queries.programs import Programs
from fll_hbase.queries.run_counts import RunCounts
from fll_hbase.queries.run_details import Run
from fll_hbase.queries.runs import AllRuns, NamespaceRuns, Runs

from .catalogue import blueprint
from .queries import add_query

__all__ = ["blueprint"]

add_query(blueprint, Runs)
add_query(blueprint, RunCounts)
add_query(blueprint, Programs)
add_query(blueprint, OpenLineageEvents)
add_query(blueprint, Run)
add_query(blueprint, Content)
add_query(blueprint, AllRuns)
add_query(blueprint, NamespaceRuns)
add_query(blueprint, AllOpenLineageEvents)
add_query(blueprint, NamespaceOpenLineageEvents)
