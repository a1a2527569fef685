"""DataHub messages become the expected runs, metadata and errors."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources.datahub import AspectCount, AspectCounters, AspectOutcome, MessageFormat
from tests.support.datahub_messages import (
    DAILY,
    ENVELOPES,
    JOB,
    NOW_MS,
    OBSERVED_MS,
    ORDERS,
    RATES,
    Json,
    aspects,
    dataset,
    derived,
    entity,
    field,
    ingested,
    lineage,
    proposal,
    snapshot,
    upstream,
)


def pairs(document: Any, form: MessageFormat = MessageFormat.ENTITIES) -> set[tuple[Any, Any, Any, Any]]:
    """The pairs of all runs of a message, each with its end points' names."""
    result = set()
    for run in ingested(document, form).runs:
        for entry in acknowledgements.dry_run(run.info)["lineage"]:
            ends = [entry[end] and entry[end]["name"] for end in ("source", "destination")]
            result |= {(ends[0], pair["from"], ends[1], pair["to"]) for pair in entry["fieldmap"]}
            if entry.get("unknown"):
                result.add((ends[0], "?", ends[1], "?"))
    return result


LINEAGE = {
    ("orders", "amount", "daily", "revenue"),
    ("rates", "rate", "daily", "revenue"),
    ("orders", "day", "daily", "day"),
    ("orders", "customer_id", "daily", "customer"),
}


def faults(document: Any, form: MessageFormat = MessageFormat.ENTITIES) -> dict[str, str]:
    """Return the errors of a message, by path."""
    with pytest.raises(UnreadableDocument) as error:
        ingested(document, form)
    return {fault.path: fault.detail for fault in error.value.errors}


class TestEnvelopes:
    """The same aspect is the same run, however it comes."""

    @pytest.mark.parametrize("form", ENVELOPES)
    def test_every_form_says_the_same(self, form: MessageFormat) -> None:
        document = ENVELOPES[form](lineage())
        (run,) = ingested(document, form).runs
        (as_entity,) = ingested([entity(lineage())]).runs
        assert run == as_entity
        assert pairs(document, form) == LINEAGE

    def test_the_run_is_of_the_dataset(self) -> None:
        (run,) = ingested([entity(lineage(), urn=DAILY)]).runs
        assert (run.run.namespace, run.run.application, run.run.type) == ("hive", "hive", "DATAHUB")
        assert run.run.program == DAILY

    def test_a_file_of_everything(self) -> None:
        event = {"proposedSnapshot": snapshot(lineage()), "systemMetadata": {"lastObserved": OBSERVED_MS}}
        result = ingested([proposal(lineage()), event, entity(lineage())], MessageFormat.FILE)
        assert len(result.runs) == 1
        assert result.counted == {AspectCount(DAILY, "upstreamLineage", AspectOutcome.RECORDED): 3}

    def test_the_emitters_escapes_in_a_single_proposal_are_undone(self) -> None:
        escaped = proposal(lineage(), urn=dataset("gr\\u00f6\\u00dfe"))
        (run,) = ingested({"proposal": escaped}, MessageFormat.PROPOSAL).runs
        assert run.run.program == dataset("größe")

    def test_nulls_are_as_good_as_nothing(self) -> None:
        payload = {**lineage(), "fineGrainedLineages": None}
        wrapped = {
            "urn": DAILY,
            "upstreamLineage": {"value": payload, "systemMetadata": None, "headers": None},
        }
        assert pairs([wrapped]) == {("orders", "?", "daily", "?"), ("rates", "?", "daily", "?")}


class TestRuns:
    """The run of an aspect, and its start."""

    @pytest.mark.parametrize(
        ("times", "observed_ms", "start_ms"),
        [
            ((5, 7, 6), OBSERVED_MS, 7),
            ((0, 0), OBSERVED_MS, OBSERVED_MS),
            ((None, 9), 0, 9),
            ((None,), 0, NOW_MS),
            ((0,), None, NOW_MS),
        ],
    )
    def test_the_start(self, times: tuple[int, ...], observed_ms: int | None, start_ms: int) -> None:
        payload = {"upstreams": [upstream(dataset(f"s{n}"), time=time) for n, time in enumerate(times)]}
        wrapped = entity(payload)
        wrapped["upstreamLineage"]["systemMetadata"] = (
            None if observed_ms is None else {"lastObserved": observed_ms}
        )
        (run,) = ingested([wrapped]).runs
        assert run.run.start_ms == start_ms

    def test_a_resend_is_the_same_run_and_another_day_is_another_with_the_same_checksum(self) -> None:
        (first,) = ingested([entity(lineage())]).runs
        (again,) = ingested([entity(lineage())], now_ms=NOW_MS + 5).runs
        wrapped = entity(lineage())
        wrapped["upstreamLineage"]["systemMetadata"]["lastObserved"] += 86_400_000
        (tomorrow,) = ingested([wrapped]).runs
        assert first == again
        assert tomorrow.run.run != first.run.run
        assert tomorrow.info == first.info

    def test_other_lineage_at_the_same_time_is_another_run(self) -> None:
        (first,) = ingested([entity(lineage())]).runs
        less = lineage()
        less["fineGrainedLineages"].pop()
        (second,) = ingested([entity(less)]).runs
        assert first.run.run != second.run.run

    @given(aspects, st.randoms(use_true_random=False))
    def test_the_order_of_arrays_does_not_matter(self, payload: Json, dice: random.Random) -> None:
        assert ingested([entity(shuffled(payload, dice))]) == ingested([entity(payload)])

    @given(aspects)
    def test_every_edge_is_reported(self, payload: Json) -> None:
        runs = ingested([entity(payload)]).runs
        expected = bool(payload["upstreams"] or any(map(names_any, payload.get("fineGrainedLineages", []))))
        assert len(runs) == expected
        sources = {owner for run in runs for owner in run.info.sources}
        assert {Dataset("hive", item["dataset"].split(",")[1]) for item in payload["upstreams"]} <= sources

    def test_what_is_beside_lineage_is_kept_with_the_run(self) -> None:
        sure = derived(field(DAILY, "x"), field(ORDERS, "x"), confidenceScore=0.5, query="urn:li:query:2")
        payload = {
            "upstreams": [{**upstream(ORDERS), "query": "urn:li:query:1"}],
            "fineGrainedLineages": [sure],
        }
        (run,) = ingested([entity(payload)]).runs
        assert json.loads(run.run.details) == {
            "aspect": "upstreamLineage",
            "confidence": {"derive x": 0.5},
            "queries": ["urn:li:query:1", "urn:li:query:2"],
        }

    def test_a_job(self) -> None:
        payload = {"inputDatasets": [ORDERS], "outputDatasetEdges": [{"destinationUrn": DAILY}]}
        (run,) = ingested([entity(payload, "dataJobInputOutput", urn=JOB)]).runs
        assert (run.run.namespace, run.run.application, run.run.program) == ("airflow", "nightly", JOB)
        assert pairs([entity(payload, "dataJobInputOutput", urn=JOB)]) == {("orders", "?", "daily", "?")}

    def test_a_urn_of_megabytes_is_a_fault(self) -> None:
        long = ORDERS.replace(",", "," * 1_000_000)
        ways = [derived(field(DAILY, "x"), field(long, "y"))]
        refused = faults([entity({"upstreams": [upstream(long)], "fineGrainedLineages": ways})])
        assert sum(detail.startswith("is longer than 65536 bytes") for detail in refused.values()) == 2

    @pytest.mark.parametrize("end", ["input", "output"])
    def test_a_job_that_reports_one_side(self, end: str) -> None:
        payload = {f"{end}Datasets": [ORDERS]}
        (run,) = ingested([entity(payload, "dataJobInputOutput", urn=JOB)]).runs
        assert Dataset("hive", "orders") in (*run.info.sources, *run.info.destinations)

    def test_a_field_made_in_several_ways(self) -> None:
        ways = [derived(field(DAILY, "x"), field(ORDERS, "y"), transformOperation=item) for item in "abc"]
        (run,) = ingested([entity({"upstreams": [], "fineGrainedLineages": ways})]).runs
        by_name = {operation.name: operation.description for operation in run.info.operations}
        assert [by_name[name] for name in ("derive x", "derive x#2", "derive x#3")] == ["a", "b", "c"]

    def test_names_of_operations_report_two_end_points_of_one_text_apart(self) -> None:
        twins = [dataset("b/c", "a"), dataset("c", "a/b")]
        payload = {
            "upstreams": [],
            "fineGrainedLineages": [derived(field(DAILY, "x"), field(owner, "x")) for owner in twins],
        }
        (run,) = ingested([entity(payload)]).runs
        assert {operation.name for operation in run.info.operations} >= {"read a/b/c", "read a/b/c#2"}


def shuffled(value: Any, dice: random.Random) -> Any:
    """The same JSON with every array in another order."""
    if isinstance(value, dict):
        return {name: shuffled(member, dice) for name, member in value.items()}
    if isinstance(value, list):
        items = [shuffled(item, dice) for item in value]
        dice.shuffle(items)
        return items
    return value


def names_any(entry: Json) -> bool:
    """Whether a fine-grained entry names any field or dataset."""
    return bool(entry.get("upstreams") or entry.get("downstreams"))


class TestPatches:
    """Additions become a run; removals are counted."""

    def test_what_is_added_is_what_an_aspect_with_it_would_say(self) -> None:
        operations = [
            {"op": "add", "path": f"/upstreams/{ORDERS}", "value": upstream(ORDERS)},
            {"op": "add", "path": f"/upstreams/{RATES}", "value": upstream(RATES)},
            *(
                {"op": "add", "path": f"/fineGrainedLineages/{steps}", "value": {"confidenceScore": 1.0}}
                for steps in (
                    f"SUM(amount * rate)/{field(DAILY, 'revenue')}/NONE/{field(ORDERS, 'amount')}",
                    f"SUM(amount * rate)/{field(DAILY, 'revenue')}/NONE/{field(RATES, 'rate')}",
                    f"NONE/{field(DAILY, 'day')}/NONE/{field(ORDERS, 'day')}",
                    f"NONE/{field(DAILY, 'customer')}/NONE/{field(ORDERS, 'customer_id')}",
                )
            ),
        ]
        (complete,) = ingested([entity(lineage())]).runs
        for form, document in (
            (MessageFormat.PATCHES, [entity({"patch": operations, "arrayPrimaryKeys": {}})]),
            (MessageFormat.PATCHES, [entity(operations)]),
            (MessageFormat.PROPOSAL, {"proposal": proposal(operations, changeType="PATCH")}),
        ):
            (run,) = ingested(document, form).runs
            assert run == complete

    def test_keys_are_unquoted(self) -> None:
        source = dataset("bucket/a~b", "s3")
        quoted = source.replace("~", "~0").replace("/", "~1")
        patch = [{"op": "add", "path": f"/upstreams/{quoted}", "value": {"type": "COPY"}}]
        (run,) = ingested([entity(patch)], MessageFormat.PATCHES).runs
        assert run.info.sources == (Dataset("s3", "bucket/a~b"),)

    def test_whole_lists(self) -> None:
        patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in lineage().items()]
        assert pairs([entity(patch)], MessageFormat.PATCHES) == LINEAGE
        assert (
            pairs([entity([{"op": "replace", "path": "", "value": lineage()}])], MessageFormat.PATCHES)
            == LINEAGE
        )

    def test_of_jobs(self) -> None:
        patch = [
            {"op": "add", "path": f"/inputDatasetEdges/{ORDERS}", "value": {"destinationUrn": ORDERS}},
            {
                "op": "add",
                "path": "/outputDatasetEdges/urn%3Ali%3Adataset%3A%28x",
                "value": {"destinationUrn": DAILY},
            },
            {"op": "add", "path": f"/inputDatasets/{RATES}", "value": RATES},
            {"op": "add", "path": "/inputDatajobEdges/x", "value": {"destinationUrn": JOB}},
        ]
        result = pairs([entity(patch, "dataJobInputOutput", urn=JOB)], MessageFormat.PATCHES)
        assert result == {("orders", "?", "daily", "?"), ("rates", "?", "daily", "?")}

    def test_removals_are_counted_and_no_run(self) -> None:
        patch = [{"op": "remove", "path": f"/upstreams/{ORDERS}", "value": {}}]
        result = ingested([entity(patch)], MessageFormat.PATCHES)
        assert not result.runs
        assert result.counted[AspectCount(DAILY, "upstreamLineage", AspectOutcome.REMOVED)] == 1

    @pytest.mark.parametrize(("kind", "removals"), [("move", 1), ("copy", 0), ("test", None)])
    def test_edges_that_are_moved_or_copied(self, kind: str, removals: int | None) -> None:
        patch = [{"op": kind, "from": f"/upstreams/{ORDERS}", "path": f"/upstreams/{RATES}"}]
        result = ingested([entity(patch)], MessageFormat.PATCHES)
        assert result.counted[AspectCount(DAILY, "upstreamLineage", AspectOutcome.REMOVED)] == (removals or 0)
        sources = [dataset.name for recorded in result.runs for dataset in recorded.info.sources]
        assert sources == ([] if removals is None else ["rates"])

    def test_tags_of_fields_are_none_of_ours(self) -> None:
        patch = [{"op": "add", "path": "/schemaFieldInfo/a/globalTags/tags/t", "value": {"tag": "t"}}]
        assert ingested([entity(patch, "schemaMetadata")], MessageFormat.PATCHES).schemas == (
            DatasetMetadata(Dataset("hive", "daily")),
        )

    def test_a_description(self) -> None:
        patch = [{"op": "add", "path": "/description", "value": "By day"}]
        (schema,) = ingested([entity(patch, "datasetProperties")], MessageFormat.PATCHES).schemas
        assert schema.description == "By day"


class TestCharts:
    """Fields that a chart shows."""

    def test_fields_of_a_chart_are_derived_from_those_of_datasets(self) -> None:
        chart = "urn:li:chart:(looker,a)"
        fields = [
            {
                "schemaFieldUrn": f"urn:li:schemaField:({ORDERS},amount)",
                "schemaField": {"fieldPath": "revenue"},
            },
            {"schemaFieldUrn": f"urn:li:schemaField:({ORDERS},day)"},
            {"schemaFieldUrn": "urn:li:schemaField:x"},
        ]
        document = [entity({"fields": fields}, "inputFields", urn=chart)]
        message = ingested(document)
        assert [warning.path for warning in message.warnings] == [
            "0.inputFields.value.fields.2.schemaFieldUrn"
        ]
        (run,) = message.runs
        assert (run.run.namespace, run.run.application) == ("urn:li:chart", "urn:li:chart")
        assert run.run.program == chart
        assert pairs(document) == {
            ("orders", "amount", "(looker,a)", "revenue"),
            ("orders", "day", "(looker,a)", "day"),
        }


class TestCatalogue:
    """Metadata of datasets without a run."""

    def test_fields_and_types(self) -> None:
        number = {"type": {"com.linkedin.schema.NumberType": {}}}
        payload = {
            "fields": [{"fieldPath": "a.b", "nativeDataType": "int"}, {"fieldPath": "c", "type": number}]
        }
        (schema,) = ingested([entity(payload, "schemaMetadata")]).schemas
        assert schema == DatasetMetadata(
            Dataset("hive", "daily"), (Field("a/b", "int"), Field("c", "number"))
        )

    def test_a_bare_type_is_a_field_where_there_is_no_other(self) -> None:
        payload = {"fields": [{"fieldPath": "[version=2.0].[type=string]", "nativeDataType": "string"}]}
        (schema,) = ingested([entity(payload, "schemaMetadata")]).schemas
        assert schema.fields == (Field("[version=2.0].[type=string]", "string"),)

    @pytest.mark.parametrize("aspect", ["status", "globalTags", "datasetProfile", "schemaMetadata"])
    def test_all_else_is_counted(self, aspect: str) -> None:
        chart = "urn:li:chart:(looker,a)"
        result = ingested([entity({"x": [1]}, aspect, urn=chart)])
        assert (result.runs, result.schemas) == ((), ())
        assert result.counted == {AspectCount(chart, aspect, AspectOutcome.COUNTED): 1}

    def test_counts_add_up(self) -> None:
        counts = AspectCounters()
        for urn in (DAILY, ORDERS):
            counts.add(Counter({AspectCount(urn, "status", AspectOutcome.COUNTED): 2}))
        assert counts.totals() == {("status", AspectOutcome.COUNTED): 4}


class TestFaults:
    """Every fault is named, at its place; what can be read is recorded."""

    def test_every_fault_at_once(self) -> None:
        payload = lineage()
        payload["upstreams"][0]["dataset"] = "orders"
        payload["upstreams"][1] = 5
        payload["fineGrainedLineages"][0]["confidenceScore"] = 2
        payload["fineGrainedLineages"][1]["downstreams"] = ["day"]
        payload["fineGrainedLineages"][2]["upstreams"] = "x"
        path = "1.upstreamLineage.value"
        message = ingested([entity(lineage()), entity(payload)])
        assert {warning.path for warning in message.warnings} == {
            f"{path}.upstreams.0.dataset",
            f"{path}.upstreams.1",
            f"{path}.upstreams.1.dataset",
            f"{path}.fineGrainedLineages.0.confidenceScore",
            f"{path}.fineGrainedLineages.1.downstreams",
            f"{path}.fineGrainedLineages.1.downstreams.0",
            f"{path}.fineGrainedLineages.2.upstreams",
        }
        del payload["upstreams"], payload["fineGrainedLineages"][1:]
        del payload["fineGrainedLineages"][0]["confidenceScore"]
        rest = ingested([entity(lineage()), entity(payload)])
        assert [run.info for run in message.runs] == [run.info for run in rest.runs]

    def test_a_proposal_that_cannot_be_read_costs_no_other(self) -> None:
        message = ingested([entity({"upstreams": 1}), entity(lineage()), {"urn": 2}])
        assert len(message.runs) == 1
        assert [error.path for error in message.refused] == ["0.upstreamLineage.value", "2.urn"]

    @pytest.mark.parametrize(
        ("form", "document", "path"),
        [
            (MessageFormat.PROPOSAL, {}, "proposal"),
            (MessageFormat.PROPOSAL, [], ""),
            (MessageFormat.PROPOSAL, {"proposal": {}}, "proposal.entityUrn"),
            (MessageFormat.PROPOSAL, {"proposal": proposal({}, changeType="MOVE")}, "proposal.changeType"),
            (MessageFormat.PROPOSAL, {"proposal": proposal({}, aspect="")}, "proposal.aspectName"),
            (MessageFormat.PROPOSAL, {"proposal": proposal({}) | {"aspect": None}}, "proposal.aspect"),
            (MessageFormat.PROPOSAL, {"proposal": proposal({}) | {"aspect": {}}}, "proposal.aspect.value"),
            (
                MessageFormat.PROPOSAL,
                {"proposal": proposal({}) | {"aspect": {"value": "{"}}},
                "proposal.aspect.value",
            ),
            (
                MessageFormat.PROPOSAL,
                {"proposal": proposal({}, urn="urn:li:dataset:x")},
                "proposal.entityUrn",
            ),
            (
                MessageFormat.PROPOSAL,
                {"proposal": proposal({}) | {"aspect": {"value": "?"}}},
                "proposal.aspect.value",
            ),
            (
                MessageFormat.ENTITIES,
                [entity({"upstreams": [{"dataset": "?"}]})],
                "0.upstreamLineage.value.upstreams.0.dataset",
            ),
            (MessageFormat.PROPOSALS, {}, "proposals"),
            (MessageFormat.PROPOSALS, {"proposals": [1]}, "proposals.0"),
            (MessageFormat.ENTITIES, [{}], "0.urn"),
            (MessageFormat.ENTITIES, [entity({}, "dataJobInputOutput")], "0.urn"),
            (MessageFormat.PATCHES, [entity("x")], "0.upstreamLineage.value"),
            (MessageFormat.PATCHES, [entity({})], "0.upstreamLineage.value.patch"),
            (MessageFormat.PATCHES, [entity([{"op": "add"}])], "0.upstreamLineage.value.0.path"),
            (MessageFormat.PATCHES, [entity([{"op": "x", "path": "/a"}])], "0.upstreamLineage.value.0.op"),
            (
                MessageFormat.PATCHES,
                [entity([{"op": "add", "path": "/fineGrainedLineages/a/b", "value": {}}])],
                "0.upstreamLineage.value.0.path",
            ),
            (MessageFormat.SNAPSHOT, {}, "entity"),
            (MessageFormat.SNAPSHOT, {"entity": {"value": {}}}, "entity.value"),
            (MessageFormat.SNAPSHOTS, {}, "entities"),
            (MessageFormat.FILE, [{}], "0"),
            (MessageFormat.FILE, "x", ""),
        ],
    )
    def test_each(self, form: MessageFormat, document: Any, path: str) -> None:
        assert path in faults(document, form)

    @pytest.mark.parametrize(
        ("form", "document", "path"),
        [
            (MessageFormat.ENTITIES, [{"urn": DAILY, "status": {}}], "0.status.value"),
            (MessageFormat.ENTITIES, {"urn": DAILY, "status": 1}, "status"),
            (MessageFormat.FILE, [[{"Left": {}}, {}], 3], "1"),
            (MessageFormat.FILE, [{"Right": {}}, {"columns": [{}]}], "0.Right.fqcnTableName"),
        ],
    )
    def test_a_part_that_is_left_out_is_named(self, form: MessageFormat, document: Any, path: str) -> None:
        assert path in {warning.path for warning in ingested(document, form).warnings}

    @pytest.mark.parametrize("time", [-1, START_LIMIT_MS, "1", 1.5, True])
    def test_times_that_are_none(self, time: Any) -> None:
        payload = {"upstreams": [upstream(ORDERS, time=time)]}
        message = ingested([entity(payload)])
        paths = {warning.path for warning in message.warnings}
        assert paths == {"0.upstreamLineage.value.upstreams.0.auditStamp.time"}
        assert len(message.runs) == 1

    def test_names_that_are_too_long(self) -> None:
        payload = {"upstreams": [upstream(dataset("x" * 4097)), upstream(dataset("x", "p" * 1025))]}
        path = "0.upstreamLineage.value.upstreams"
        assert set(faults([entity(payload)])) == {
            f"{path}.0.dataset",
            f"{path}.1.dataset",
            "0.upstreamLineage.value",
        }
