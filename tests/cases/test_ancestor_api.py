"""The ancestor's routes answer as its tests expect, over runs that were recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.cases.ancestor import DECIDED_OTHERWISE, case_id, cases

Json = dict[str, Any]

ANY_CASE = {"http-direction-case"}
"""Here as in the ancestor: only its own routes take a direction in any case."""


@pytest.fixture
def store() -> Iterator[LineageStore]:
    opened = LineageStore(open_table("sqlite:///:memory:"))
    yield opened
    opened.close()


@pytest.fixture
def client(store: LineageStore) -> FlaskClient:
    return create_app(store).test_client()


def record(client: FlaskClient, operations: list[Json], *, run: str = "r1", **members: Any) -> None:
    """Record a run that must be new; its operations name namespaces."""
    program = {"application": "app", "type": "SPARK", "program": "sparkprogram", "run": run, "startTime": 1}
    document = {"run": {**program, **members}, "operations": operations}
    answer = client.post("/v3/namespaces/ns/lineage", json=document)
    assert answer.status_code == 201, answer.text


def read(name: str, dataset: str, fields: list[str]) -> Json:
    """A READ of `namespace.dataset`."""
    namespace, _, source = dataset.partition(".")
    return {
        "type": "READ",
        "name": name,
        "source": {"namespace": namespace, "name": source},
        "outputs": fields,
    }


def transform(name: str, inputs: list[Json], outputs: list[str]) -> Json:
    return {"type": "TRANSFORM", "name": name, "inputs": inputs, "outputs": outputs}


def write(name: str, dataset: str, inputs: list[Json]) -> Json:
    """A WRITE of `namespace.dataset`."""
    namespace, _, target = dataset.partition(".")
    destination = {"namespace": namespace, "name": target}
    return {"type": "WRITE", "name": name, "destination": destination, "inputs": inputs}


def fields_of(origin: str, names: list[str]) -> list[Json]:
    return [{"origin": origin, "name": name} for name in names]


def answer(client: FlaskClient, dataset: str, rest: str, **query: Any) -> Any:
    """The answer about `namespace.dataset` in the window of all runs."""
    namespace, _, name = dataset.partition(".")
    params = urlencode({"start": 0, "end": "9223372036854775.807", **query})
    response = client.get(f"/v3/namespaces/{namespace}/datasets/{name}/lineage/{rest}?{params}")
    assert response.status_code == 200, response.text
    return response.json


def entity(dataset: Json) -> Json:
    return {"namespace": dataset["ns"], "dataset": dataset["name"], "entity": "DATASET"}


def by_name(items: list[Json], member: str) -> list[Json]:
    return sorted(items, key=lambda item: str(item[member]))


@pytest.mark.parametrize("case", cases("api_fields"), ids=case_id)
def test_fields(store: LineageStore, client: FlaskClient, case: Json) -> None:
    written, schema = case["reader"]["fields"], case["dataset_schema_fields"]
    record(
        client,
        [
            read("r", "ns.origin", ["x"]),
            transform("t", fields_of("r", ["x"]), written),
            write("w", "ns.file", fields_of("t", written)),
        ],
    )
    if schema is not None:
        store.put_metadata([DatasetMetadata(Dataset("ns", "file"), tuple(map(Field, schema)))])
    request, expected = case["request"], by_name(case["expect"]["fields"], "name")
    query = {"prefix": request["prefix"]} if request["prefix"] is not None else {}
    if request["include_current"]:
        assert answer(client, "ns.file", "fields", includeCurrent="true", **query) == expected
    else:
        # Names alone, as from the ancestor.
        assert answer(client, "ns.file", "fields", **query) == [field["name"] for field in expected]


@pytest.mark.parametrize("case", cases("api_field_summary"), ids=case_id)
def test_field_summary(client: FlaskClient, case: Json) -> None:
    dataset = "{ns}.{name}".format(**case["request"]["endpoint"])
    field = case["request"]["field"]
    sources: dict[str, list[str]] = {}
    for name in case["reader"]["incoming_summary"]:
        source, _, source_field = name.rpartition(".")
        sources.setdefault(source, []).append(source_field)
    reads = [read(f"r.{source}", source, names) for source, names in sources.items()]
    inputs = [item for source, names in sources.items() for item in fields_of(f"r.{source}", names)]
    record(client, [*reads, transform("t", inputs, [field]), write("w", dataset, fields_of("t", [field]))])
    outputs = [
        write(f"w.{target}", target, fields_of(f"t.{target}", names)) for target, names in sources.items()
    ]
    steps = [transform(f"t.{target}", fields_of("r", [field]), names) for target, names in sources.items()]
    record(client, [read("r", dataset, [field]), *steps, *outputs], run="r2")
    body = answer(client, dataset, f"fields/{field}", direction=case["request"]["direction"])
    for word in ("incoming", "outgoing"):
        due = case["expect"][word]
        if due is None:
            assert word not in body
        else:
            expected = [{"dataset": entity(item["dataset"]), "fields": item["fields"]} for item in due]
            assert body[word] == by_name(expected, "dataset")
    assert not body["truncated"]


@pytest.mark.parametrize("case", cases("api_dataset_summary"), ids=case_id)
def test_dataset_summary(client: FlaskClient, case: Json) -> None:
    reader, request, expect = case["reader"], case["request"], case["expect"]
    dataset = "{ns}.{name}".format(**request["endpoint"])
    record(client, [*_sources(reader, dataset), write("w", dataset, _outputs(reader["incoming_summary"]))])
    record(client, _targets(reader, dataset), run="r2")
    body = answer(client, dataset, "allfieldlineage", direction=request["direction"])
    assert (body["direction"], body["start-ts"], body["end-ts"], body["entityId"], body["fields"]) == (
        expect["direction"],
        expect["start_ts"],
        expect["end_ts"],
        entity(expect["entity"]),
        expect["fields"],
    )
    for word in ("incoming", "outgoing"):
        assert body[word] == [
            {
                "entityId": entity(item["dataset"]),
                "fieldCount": item["field_count"],
                "relations": sorted(
                    item["relations"], key=lambda pair: (pair["source"], pair["destination"])
                ),
            }
            for item in expect[word]
        ]


def _outputs(summary: Json) -> list[Json]:
    return [{"origin": f"t.{field}", "name": field} for field in summary]


def _sources(reader: Json, dataset: str) -> list[Json]:
    """Operations that read every source with all its fields, and make each field of the summary."""
    reads = [read(f"r.{name}", name, reader["fields"][name]) for name in reader["fields"] if ".src" in name]
    return reads + [
        transform(
            f"t.{field}",
            [
                item
                for name in names
                for item in fields_of(f"r.{name[: name.rindex('.')]}", [name.split(".")[2]])
            ],
            [field],
        )
        for field, names in reader["incoming_summary"].items()
    ]


def _targets(reader: Json, dataset: str) -> list[Json]:
    """Operations that read the dataset, and write every destination with all its fields, some generated."""
    used: dict[str, list[str]] = {}
    for field, names in reader["outgoing_summary"].items():
        for name in names:
            used.setdefault(name, []).append(field)
    targets = {name: fields for name, fields in reader["fields"].items() if ".dest" in name}
    written = [(name, field, f"{name}.{field}") for name, fields in targets.items() for field in fields]
    steps = [
        transform(f"t.{path}", fields_of("r", used.get(path, [])), [field]) for _, field, path in written
    ]
    writes = [
        write(f"w.{name}", name, [{"origin": f"t.{name}.{field}", "name": field} for field in fields])
        for name, fields in targets.items()
    ]
    return [read("r", dataset, list(reader["outgoing_summary"])), *steps, *writes]


@pytest.mark.parametrize("case", cases("api_operations"), ids=case_id)
def test_operations(client: FlaskClient, case: Json) -> None:
    """The runs also parse `body`, which the operations of the field asked about do not need."""
    runs = 0
    for performed in case["reader"]["program_run_operations"]:
        operations = [_document(item) for item in performed["operations"]]
        operations.append(transform("parse", fields_of("read", ["body"]), ["name", "address", "zip"]))
        for run in performed["runs"]:
            runs += 1
            program = {name: run["program"][name] for name in ("application", "type", "program")}
            record(client, operations, run=f"r{runs}", startTime=run["start_ms"], **program)
    body = answer(client, "ns.anotherfile", "fields/offset/operations", **case["request"])
    assert "outgoing" not in body
    # The ancestor's entries are a set; ours begin with those of the newest run.
    expected = [_expected(entry) for entry in reversed(case["expect"]["incoming"])]
    assert body["incoming"] == expected


def _document(operation: Json) -> Json:
    ends = {
        member: {"namespace": operation[member]["ns"], "name": operation[member]["name"]}
        for member in {"source", "destination"} & operation.keys()
    }
    return {**operation, **ends}


def _expected(entry: Json) -> Json:
    programs = [
        {
            "program": {**item["program"], "version": "", "entity": "PROGRAM"},
            "lastExecutedTimeInSeconds": item["last_executed_s"],
        }
        for item in entry["programs"]
    ]
    operations = [
        {**item, "inputs": _ends(item["inputs"]), "outputs": _ends(item["outputs"])}
        for item in entry["operations"]
    ]
    return {"programs": programs, "operations": operations}


def _ends(item: Json) -> Json:
    if "endpoint" not in item:
        return item
    return {"endPoint": {"namespace": item["endpoint"]["ns"], "name": item["endpoint"]["name"]}}


@pytest.mark.parametrize("case", cases("http"), ids=case_id)
def test_statuses(client: FlaskClient, case: Json) -> None:
    """Parameters are refused by the ancestor's own routes, too; `levels` belongs to none of them."""
    request = case["request"]
    for namespace, name in (("ns1", "test"), ("default", "dummy")):
        record(
            client,
            [read("r", f"{namespace}.{name}", ["a"]), write("w", "ns.copy", fields_of("r", ["a"]))],
            run=name,
        )
    query = {
        name: request[name]
        for name in ("start", "end", "direction", "levels")
        if request.get(name) is not None
    }
    rest = "fields" if request["what"] == "fields of dataset" else "allfieldlineage"
    path = f"/v3/namespaces/{request['endpoint']['ns']}/datasets/{request['endpoint']['name']}/lineage/{rest}"
    decided = {} if case["id"] in ANY_CASE else DECIDED_OTHERWISE
    expected = decided.get(case["id"], case["expect"]["status"])
    assert client.get(f"{path}?{urlencode(query)}").status_code == expected
