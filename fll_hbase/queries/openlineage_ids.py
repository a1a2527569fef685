"""Ids and times of exported OpenLineage events."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from fll_hbase.model.run_events import EventRunFacts
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources.openlineage.facets import PARENT_RUN, ROOT_RUN

# The end of the year 9999, the last that datetime and ISO 8601 can express.
LAST_MS = 253_402_300_799_999
# The namespace of URLs in RFC 9562. Another one would give every exported run another id.
_RUN_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parent_ids(parent: tuple[str, str, str] | None, root: tuple[str, str, str] | None) -> Json | None:
    """Return the members of the facet `parent`; None without a parent."""
    if parent is None:
        return None
    return _job_run(parent) | ({"root": _job_run(root)} if root else {})


def unchanged_ids(facts: Sequence[EventRunFacts]) -> Json:
    """Return the run ids of the exported `parent` facet that are no UUIDs, which it has in another form."""
    latest = next((item for item in reversed(facts) if item.parent), EventRunFacts())
    ids = {PARENT_RUN: latest.parent, ROOT_RUN: latest.root}
    return {name: item[2] for name, item in ids.items() if item and run_id(item[2]) != item[2]}


def _job_run(reference: tuple[str, str, str]) -> Json:
    namespace, name, run = reference
    return {"run": {"runId": run_id(run)}, "job": {"namespace": namespace, "name": name}}


def run_id(run: str) -> str:
    """Return the run id if it is a UUID, as OpenLineage requires, else a UUID derived from it."""
    # UUID() also accepts braces, `urn:uuid:` and text without hyphens, which a schema validator refuses.
    try:
        return run if str(uuid.UUID(run)) == run.lower() else str(uuid.uuid5(_RUN_NAMESPACE, run))
    except ValueError:
        return str(uuid.uuid5(_RUN_NAMESPACE, run))


def event_time(start_ms: int) -> str:
    """Return a time in ISO 8601, at most the end of the year 9999; `fll_run` contains the exact start."""
    start_ms = min(start_ms, LAST_MS)
    moment = _EPOCH + timedelta(milliseconds=start_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
