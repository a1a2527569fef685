"""Queries: their parameters, and their answers as JSON and in other formats.

The queries that clients ask have their names here, too: `from fll_hbase.queries import Programs`.
"""

from __future__ import annotations

from importlib import import_module  # noqa: TID251
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fll_hbase.queries.catalogue import DatasetDetails, Datasets, Fields, Namespaces
    from fll_hbase.queries.contents import Content
    from fll_hbase.queries.derivations import Derivations
    from fll_hbase.queries.diff import DatasetDiff, Diff
    from fll_hbase.queries.field_details import FieldDetails
    from fll_hbase.queries.field_lineage import FieldLineage
    from fll_hbase.queries.flows import Flows
    from fll_hbase.queries.history import History
    from fll_hbase.queries.impact.change_impact import Impact
    from fll_hbase.queries.lineage import Lineage
    from fll_hbase.queries.openlineage_events import (
        AllOpenLineageEvents,
        NamespaceOpenLineageEvents,
        OpenLineageEvents,
    )
    from fll_hbase.queries.policies import Policies
    from fll_hbase.queries.programs import Programs
    from fll_hbase.queries.reach import Reach
    from fll_hbase.queries.reports.field_report import Consumption, Provenance
    from fll_hbase.queries.retention import Retention
    from fll_hbase.queries.run_details import Run, RunOfNamespace
    from fll_hbase.queries.runs import AllRuns, NamespaceRuns, RunCounts, Runs
    from fll_hbase.queries.search import Search
    from fll_hbase.queries.server_events import Events
    from fll_hbase.queries.tags import DatasetTags, FieldTags, TaggedFields, Tags

__all__ = [
    "AllOpenLineageEvents",
    "AllRuns",
    "Consumption",
    "Content",
    "DatasetDetails",
    "DatasetDiff",
    "DatasetTags",
    "Datasets",
    "Derivations",
    "Diff",
    "Events",
    "FieldDetails",
    "FieldLineage",
    "FieldTags",
    "Fields",
    "Flows",
    "History",
    "Impact",
    "Lineage",
    "NamespaceOpenLineageEvents",
    "NamespaceRuns",
    "Namespaces",
    "OpenLineageEvents",
    "Policies",
    "Programs",
    "Provenance",
    "Reach",
    "Retention",
    "Run",
    "RunCounts",
    "RunOfNamespace",
    "Runs",
    "Search",
    "TaggedFields",
    "Tags",
]

_MODULES = {
    "catalogue": ("DatasetDetails", "Datasets", "Fields", "Namespaces"),
    "contents": ("Content",),
    "derivations": ("Derivations",),
    "diff": ("DatasetDiff", "Diff"),
    "field_details": ("FieldDetails",),
    "field_lineage": ("FieldLineage",),
    "flows": ("Flows",),
    "history": ("History",),
    "impact.change_impact": ("Impact",),
    "lineage": ("Lineage",),
    "openlineage_events": ("AllOpenLineageEvents", "NamespaceOpenLineageEvents", "OpenLineageEvents"),
    "policies": ("Policies",),
    "programs": ("Programs",),
    "reach": ("Reach",),
    "reports.field_report": ("Consumption", "Provenance"),
    "retention": ("Retention",),
    "run_details": ("Run", "RunOfNamespace"),
    "runs": ("AllRuns", "NamespaceRuns", "RunCounts", "Runs"),
    "search": ("Search",),
    "server_events": ("Events",),
    "tags": ("DatasetTags", "FieldTags", "TaggedFields", "Tags"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Imported on first use: a client needs few queries, and importing all would take half of its start.
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
