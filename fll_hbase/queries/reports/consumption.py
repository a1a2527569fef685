"""The consumption report (FLL-1): programs that read a field in a window, and fields made from it."""

from __future__ import annotations

import msgspec

from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json, reach_json, rest_json
from fll_hbase.queries.programs import programs_answer
from fll_hbase.queries.reports.reached_fields import ReachedFields
from fll_hbase.queries.reports.report_query import ReportQuery, horizon_member
from fll_hbase.queries.runs import listed_run
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import RunsPage


def consumption(store: LineageStore, query: ReportQuery, *, now_ms: int) -> tuple[Json, RunsPage]:
    """Return the report, and the page of runs that it has.

    Pages after the first have the runs alone. Raises NotFound for a field that was never recorded.
    """
    field, window = query.field, query.window
    page = store.runs(
        field.dataset,
        window,
        limit=query.limit,
        start_after=query.start_after,
        field=field.name,
        directions=(Direction.FORWARD,),
    )
    body: Json = {"report": "consumption", "field": name_json.field(field)}
    body["runs"] = msgspec.to_builtins([listed_run(run, now_ms=now_ms) for run in page.runs])
    if query.start_after:
        return rest_json.truncatable(body, ()), page
    body |= horizon_member(store, query)
    reached = ReachedFields(store, query, Direction.FORWARD)
    programs = store.programs(
        field.dataset, window, field=field.name, directions=(Direction.FORWARD,), failed=query.failed
    )
    body["programs"] = msgspec.to_builtins(programs_answer(programs))["programs"]
    body["derived"] = reached.to_json(reached.reach.paths.keys() - {field})
    body["dropped"] = field in reached.reach.dropped
    body["unknown"] = reach_json.unknown(reached.reach)
    return rest_json.truncatable(body, sorted(reached.truncated_by | {*programs.truncated_by})), page
