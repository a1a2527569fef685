"""Any JSON gives runs or says what is wrong with it; never another error, and never slowly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.errors import InvalidLineage, UnreadableDocument
from fll_hbase.sources.datahub import MessageFormat, ParsedMessage
from tests.support.datahub_messages import (
    DAILY,
    ENVELOPES,
    JOB,
    ORDERS,
    RATES,
    aspects,
    derived,
    entity,
    field,
    ingested,
    lineage,
    proposal,
    snapshot,
    upstream,
)
from tests.support.work import calls_allowed, count_calls

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["\ud800", "urn:li:", DAILY, ORDERS, JOB, field(ORDERS, "a"), "urn:li:schemaField:()", "?"]
    )
)
members = st.sampled_from(
    [
        *("urn", "entityUrn", "aspectName", "aspect", "value", "json", "changeType", "systemMetadata"),
        *("lastObserved", "proposal", "proposals", "entity", "entities", "proposedSnapshot", "aspects"),
        *("upstreams", "fineGrainedLineages", "downstreams", "dataset", "auditStamp", "time", "fields"),
        *("inputDatasets", "outputDatasetEdges", "inputDatasetFields", "destinationUrn", "fieldPath", "type"),
        *("patch", "op", "path", "description", "sourceField", "targetField", "Left", "Right", "columns"),
        *("upstreamLineage", "dataJobInputOutput", "schemaMetadata", "datasetProperties", "constraints"),
    ]
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(members | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=25,
)

PATCH = [
    {"op": "add", "path": f"/upstreams/{ORDERS}", "value": upstream(ORDERS, time=5)},
    {
        "op": "add",
        "path": f"/fineGrainedLineages/NONE/{field(DAILY, 'a')}/NONE/{field(ORDERS, 'b')}",
        "value": {},
    },
    {"op": "replace", "path": "", "value": lineage()},
    {"op": "add", "path": "/description", "value": "x"},
    {"op": "add", "path": "/fields", "value": [{"fieldPath": "a"}]},
]
JOB_ASPECT = {
    "inputDatasets": [ORDERS],
    "inputDatasetEdges": [{"destinationUrn": RATES, "created": {"time": 1, "actor": "a"}}],
    "outputDatasets": [DAILY],
    "inputDatasetFields": [field(ORDERS, "a")],
    "outputDatasetFields": [{"destinationUrn": field(DAILY, "b")}],
    "fineGrainedLineages": [derived(field(DAILY, "c"), field(ORDERS, "d"), ORDERS)],
}
SCHEMA = {"fields": [{"fieldPath": "a.b", "nativeDataType": "int", "type": {"type": {"x.StringType": {}}}}]}
PAIR = [
    {"Left": {"fqtnTableName": "t", "fqtnDatabaseName": "d", "fqtnSchemaName": "s"}},
    {"columns": [{"fqcnTableName": "t", "fqcnColumnName": "c"}], "tables": [{"fqtnTableName": "t"}]},
]
FIRST = {"upstreams": [{"dataset": ORDERS, "fields": [{"sourceField": "a", "targetField": "b"}]}]}

REAL: list[tuple[MessageFormat, Any]] = [
    *((form, wrap(lineage())) for form, wrap in ENVELOPES.items()),
    (MessageFormat.ENTITIES, [entity(JOB_ASPECT, "dataJobInputOutput", urn=JOB)]),
    (
        MessageFormat.ENTITIES,
        [entity(SCHEMA, "schemaMetadata"), entity({"description": "x"}, "datasetProperties")],
    ),
    *(
        (MessageFormat.PATCHES, [entity(PATCH, aspect)])
        for aspect in ("upstreamLineage", "schemaMetadata", "datasetProperties")
    ),
    (
        MessageFormat.FILE,
        [{"proposedSnapshot": snapshot(FIRST, "com.linkedin.dataset.FineGrainUpstreamLineage")}],
    ),
    (MessageFormat.FILE, [proposal(lineage()), entity(SCHEMA, "schemaMetadata")]),
    (MessageFormat.FILE, [PAIR, PAIR]),
    (MessageFormat.FILE, PAIR),
]


def tried(document: Any, form: MessageFormat) -> ParsedMessage | None:
    """Parse a message; None if it is refused."""
    try:
        return ingested(document, form)
    except (UnreadableDocument, InvalidLineage) as error:
        if not error.errors:
            raise
        return None


@pytest.mark.parametrize("form", MessageFormat)
@given(anything)
def test_any_json(form: MessageFormat, document: Any) -> None:
    tried(document, form)


@given(st.data())
def test_json_near_what_is_sent(data: st.DataObject) -> None:
    form, document = data.draw(st.sampled_from(REAL))
    changed = json.loads(json.dumps(document))
    for _ in range(data.draw(st.integers(1, 3))):
        changed = mutated(changed, data)
    tried(changed, form)


def mutated(value: Any, data: st.DataObject) -> Any:
    """The same JSON with one thing in it replaced, left out, or doubled."""
    if isinstance(value, (dict, list)) and value and data.draw(st.integers(0, 5)):
        path = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else list(range(len(value)))))
        deed = data.draw(st.sampled_from(["into", "into", "into", "drop", "rename"]))
        if deed == "into":
            value[path] = mutated(value[path], data)
        elif deed == "drop":
            del value[path]
        elif isinstance(value, dict):
            value[data.draw(members)] = value.pop(path)
        else:
            value.append(value[path])
        return value
    return data.draw(anything)


@pytest.mark.parametrize(("form", "document"), REAL)
def test_what_is_sent_is_understood(form: MessageFormat, document: Any) -> None:
    result = tried(document, form)
    assert result is not None
    assert result.runs or result.schemas


@given(aspects)
def test_lineage_of_any_shape_is_valid(payload: Any) -> None:
    assert tried([entity(payload)], MessageFormat.ENTITIES) is not None


@pytest.mark.parametrize(
    "payload",
    [
        {
            "fineGrainedLineages": [
                derived(field(DAILY, "a"), field(ORDERS, "b"), transformOperation=f"{number}")
                for number in range(5_000)
            ]
        },
        {"upstreams": [upstream(f"{ORDERS[:-6]}{number},PROD)") for number in range(10_000)]},
        {
            "upstreams": [upstream(ORDERS)],
            "fineGrainedLineages": [
                derived(field(DAILY, f"f{number}"), *(field(ORDERS, f"g{n}") for n in range(10)))
                for number in range(500)
            ],
        },
        {"upstreams": [upstream("urn:li:dataset:(urn:li:dataPlatform:a," + "(,%25" * 20_000 + ",PROD)")]},
        {"fineGrainedLineages": [derived(field(DAILY, "[type=" * 20_000), field("(" * 100_000, "a"))]},
    ],
    ids=["one field in many ways", "many upstreams", "many fields", "a long name", "a long path"],
)
def test_work_is_linear_in_the_length(payload: Any) -> None:
    document = [entity(payload)]
    calls = count_calls(lambda: tried(document, MessageFormat.ENTITIES))
    assert calls < calls_allowed(len(json.dumps(document)), 3_000_000)
