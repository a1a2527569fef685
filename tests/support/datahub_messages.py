"""Messages of DataHub's clients: small aspects in every envelope."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from fll_hbase.sources.datahub import MessageFormat, ParsedMessage, read

Json = dict[str, Any]
NOW_MS = 1_800_000_000_000
OBSERVED_MS = 1_700_000_000_000


def dataset(name: str, platform: str = "hive", environment: str = "PROD") -> str:
    """The urn of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{environment})"


def field(owner: str, path: str) -> str:
    """The urn of a field of a dataset."""
    return f"urn:li:schemaField:({owner},{path})"


JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)"
ORDERS, RATES, DAILY = dataset("orders"), dataset("rates"), dataset("daily")


def upstream(owner: str, *, time: int | None = None) -> Json:
    """A dataset-level edge."""
    edge = {"dataset": owner, "type": "TRANSFORMED"}
    return edge if time is None else {**edge, "auditStamp": {"time": time, "actor": "urn:li:corpuser:etl"}}


def derived(downstream: str, *upstreams: str, **members: Any) -> Json:
    """A fine-grained entry."""
    return {
        "upstreamType": "FIELD_SET",
        "downstreamType": "FIELD",
        "upstreams": list(upstreams),
        "downstreams": [downstream],
        **members,
    }


def lineage() -> Json:
    """An `upstreamLineage` of two sources and three fields."""
    return {
        "upstreams": [upstream(ORDERS), upstream(RATES)],
        "fineGrainedLineages": [
            derived(
                field(DAILY, "revenue"),
                field(ORDERS, "amount"),
                field(RATES, "rate"),
                transformOperation="SUM(amount * rate)",
            ),
            derived(field(DAILY, "day"), field(ORDERS, "day")),
            derived(field(DAILY, "customer"), field(ORDERS, "customer_id")),
        ],
    }


def proposal(value: Any, aspect: str = "upstreamLineage", *, urn: str = DAILY, **members: Any) -> Json:
    """A proposal as the older protocol has it."""
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
        "systemMetadata": {"lastObserved": OBSERVED_MS, "runId": "no-run-id-provided"},
        **members,
    }


def entity(value: Any, aspect: str = "upstreamLineage", *, urn: str = DAILY) -> Json:
    """An entity as the newer protocol has it."""
    system = {"lastObserved": OBSERVED_MS}
    return {"urn": urn, aspect: {"value": value, "systemMetadata": system, "headers": {}}}


def snapshot(value: Any, aspect: str = "com.linkedin.dataset.UpstreamLineage", *, urn: str = DAILY) -> Json:
    """A snapshot under the name of its class."""
    return {"com.linkedin.metadata.snapshot.DatasetSnapshot": {"urn": urn, "aspects": [{aspect: value}]}}


ENVELOPES: dict[MessageFormat, Callable[[Any], Any]] = {
    MessageFormat.PROPOSAL: lambda value: {"proposal": proposal(value), "async": "false"},
    MessageFormat.PROPOSALS: lambda value: {"proposals": [proposal(value)], "async": "true"},
    MessageFormat.ENTITIES: lambda value: [entity(value)],
    MessageFormat.SNAPSHOT: lambda value: {
        "entity": {"value": snapshot(value)},
        "systemMetadata": {"lastObserved": OBSERVED_MS},
    },
    MessageFormat.SNAPSHOTS: lambda value: {
        "entities": [{"value": snapshot(value)}],
        "systemMetadata": [{"lastObserved": OBSERVED_MS}],
    },
    MessageFormat.FILE: lambda value: [{**proposal(None), "aspect": {"json": value}}],
}
"""One `upstreamLineage`, as each form has it."""


def ingested(
    document: Any, form: MessageFormat = MessageFormat.ENTITIES, *, now_ms: int = NOW_MS
) -> ParsedMessage:
    """Parse a message."""
    return read(document, form=form, now_ms=now_ms)


_NAMES = st.sampled_from(["a", "b", "c", "d.e"])
_FIELDS = st.builds(field, st.sampled_from([ORDERS, RATES, DAILY, dataset("x", "s3", "DEV")]), _NAMES)
_ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "upstreams": st.lists(_FIELDS | st.sampled_from([ORDERS, RATES]), max_size=3),
        "downstreams": st.lists(st.builds(field, st.sampled_from([DAILY, RATES]), _NAMES), max_size=3),
        "transformOperation": st.sampled_from(["", "max(a)", "IDENTITY"]),
        "confidenceScore": st.sampled_from([0.5, 1, 1.0]),
        "query": st.sampled_from(["urn:li:query:1", "urn:li:query:2"]),
        "upstreamType": st.sampled_from(["FIELD_SET", "DATASET", "NONE"]),
    },
)
_UPSTREAMS = st.builds(
    upstream, st.sampled_from([ORDERS, RATES, DAILY]), time=st.sampled_from([None, 0, 5, 1_600_000_000_000])
)
aspects = st.fixed_dictionaries(
    {"upstreams": st.lists(_UPSTREAMS, max_size=3)},
    optional={"fineGrainedLineages": st.lists(_ENTRIES, max_size=5)},
)
"""Aspects of lineage, of so few words that they collide."""
