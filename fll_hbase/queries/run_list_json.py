"""Lists of the runs of namespaces as JSON of the REST contract."""

from __future__ import annotations

from fll_hbase.queries import rest_json
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.results import RunsPage


def runs(page: RunsPage, *, now_ms: int) -> Json:
    """Return a page of runs, with `truncated` if a limit left out others that no page has."""
    body: Json = {"runs": [rest_json.run(listed, now_ms=now_ms) for listed in page.runs]}
    if page.truncated_by:
        body |= {"truncated": True, "truncatedBy": list(page.truncated_by)}
    return body
