"""Groups of routes that are built only from queries."""

from __future__ import annotations

from fll_hbase.queries.catalogue import DatasetDetails, Datasets, Fields, Namespaces
from fll_hbase.queries.cdap_routes import (
    CdapFieldOperations,
    CdapFields,
    CdapFieldSummary,
    CdapRelationsOfDataset,
)
from fll_hbase.queries.contents import Content
from fll_hbase.queries.diff import DatasetDiff, Diff
from fll_hbase.queries.field_details import FieldDetails
from fll_hbase.queries.history import History
from fll_hbase.queries.impact.change_impact import Impact
from fll_hbase.queries.openlineage_events import (
    AllOpenLineageEvents,
    NamespaceOpenLineageEvents,
    OpenLineageEvents,
)
from fll_hbase.queries.programs import Programs
from fll_hbase.queries.reach import Reach
from fll_hbase.queries.reports.field_report import Consumption, Provenance
from fll_hbase.queries.run_details import Run, RunOfNamespace
from fll_hbase.queries.runs import AllRuns, NamespaceRuns, RunCounts, Runs
from fll_hbase.queries.search import Search

from .queries import query_blueprint

CATALOGUE = query_blueprint(
    "catalogue",
    "Everything ever recorded",
    Namespaces,
    Datasets,
    DatasetDetails,
    Fields,
    FieldDetails,
    Search,
    Runs,
    RunCounts,
    Programs,
    OpenLineageEvents,
    Run,
    RunOfNamespace,
    Content,
    AllRuns,
    NamespaceRuns,
    AllOpenLineageEvents,
    NamespaceOpenLineageEvents,
)

REACH = query_blueprint("reach", "Fields within reach of a field, over many hops", Reach)

CHANGES = query_blueprint(
    "changes", "When and how the derivations of fields changed", History, Diff, DatasetDiff, Impact
)

REPORTS = query_blueprint("reports", "Answer for a field and its data", Consumption, Provenance)

CDAP = query_blueprint(
    "cdap",
    "The lineage routes of CDAP, in its words: `incoming`, `outgoing`",
    CdapFields,
    CdapFieldSummary,
    CdapFieldOperations,
    CdapRelationsOfDataset,
)
