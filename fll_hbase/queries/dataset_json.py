"""A dataset as JSON of the REST contract: what is known of it over all time."""

from __future__ import annotations

from fll_hbase.runtime.json_types import Json
from fll_hbase.store.read.catalogue import DatasetSummary
from fll_hbase.store.results import RunBounds


def dataset(summary: DatasetSummary, bounds: RunBounds) -> Json:
    """Return a dataset; starts are in milliseconds since 1970, null without any run."""
    name = summary.names[0]
    body: Json = {
        "namespace": name.namespace,
        "name": name.name,
        "description": summary.description,
        "fields": summary.fields,
        "firstStart": bounds.first_start_ms,
        "lastStart": bounds.last_start_ms,
        "truncated": bool(bounds.truncated_by),
    }
    return body | ({"truncatedBy": list(bounds.truncated_by)} if bounds.truncated_by else {})
