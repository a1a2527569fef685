"""Documents that are as large as wanted in one of their parts, of every source that is not SQL alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

Json: TypeAlias = Any
Document: TypeAlias = Callable[[int], Json]

DOCUMENTS: dict[str, tuple[str, Document]] = {}
"""By name: the format, and what builds a document with about that many bytes."""


def _format(document_format: str) -> Callable[[Document], Document]:
    def register(build: Document) -> Document:
        DOCUMENTS[build.__name__.removeprefix("_")] = document_format, build
        return build

    return register


def _many(make: Callable[[int], Json], size_bytes: int) -> list[Json]:
    """As many different parts as have the size together."""
    return [make(number) for number in range(size_bytes // (len(json.dumps(make(99_999))) + 2))]


def _table(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def _column(table: str, name: str) -> str:
    return f"urn:li:schemaField:({_table(table)},{name})"


def _proposal(aspect: str, value: Json, *, urn: str = _table("t"), change: str = "UPSERT") -> Json:
    return {"entityUrn": urn, "changeType": change, "aspectName": aspect, "aspect": {"json": value}}


@_format("datahub")
def _proposals(size: int) -> Json:
    return _many(
        lambda n: _proposal(
            "upstreamLineage", {"upstreams": [{"dataset": _table(f"s{n}")}]}, urn=_table(f"t{n}")
        ),
        size,
    )


@_format("datahub")
def _derivations(size: int) -> Json:
    entries = _many(
        lambda n: {"upstreams": [_column("s", f"c{n}")], "downstreams": [_column("t", f"c{n}")]}, size
    )
    return _proposal("upstreamLineage", {"upstreams": [], "fineGrainedLineages": entries})


@_format("datahub")
def _inputs_of_one_field(size: int) -> Json:
    entry = {"upstreams": _many(lambda n: _column("s", f"c{n}"), size), "downstreams": [_column("t", "x")]}
    return _proposal("upstreamLineage", {"upstreams": [], "fineGrainedLineages": [entry]})


@_format("datahub")
def _fields_of_a_chart(size: int) -> Json:
    fields = _many(
        lambda n: {"schemaFieldUrn": _column("s", f"c{n}"), "schemaField": {"fieldPath": f"x{n}"}}, size
    )
    return _proposal("inputFields", {"fields": fields}, urn="urn:li:chart:(looker,a)")


@_format("datahub")
def _fields_of_a_schema(size: int) -> Json:
    fields = _many(lambda n: {"fieldPath": f"[version=2.0].[type=int].f{n}", "nativeDataType": "int"}, size)
    return _proposal("schemaMetadata", {"fields": fields})


@_format("datahub")
def _steps_of_a_path(size: int) -> Json:
    path = "[version=2.0]" + ".[type=a" * (size // 8)
    return _proposal("schemaMetadata", {"fields": [{"fieldPath": path, "nativeDataType": "int"}]})


@_format("datahub")
def _patches(size: int) -> Json:
    edges = _many(lambda n: {"op": "add", "path": f"/upstreams/{_table(f's{n}')}", "value": {}}, size)
    return _proposal("upstreamLineage", edges, change="PATCH")


@_format("datahub")
def _pairs(size: int) -> Json:
    return _many(
        lambda n: [
            {"Right": {"fqcnTableName": f"t{n}", "fqcnColumnName": "c"}},
            {"columns": [{"fqcnTableName": "s", "fqcnColumnName": "c"}]},
        ],
        size,
    )


@_format("datahub")
def _commas_of_a_urn(size: int) -> Json:
    urn = "urn:li:dataset:(urn:li:dataPlatform:h," + "a," * (size // 2) + "!"
    return _proposal("upstreamLineage", {"upstreams": [{"dataset": urn}]})


@_format("datahub")
def _empty_objects(size: int) -> Json:
    return [{}] * (size // 4)


def _event(**parts: Json) -> Json:
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "run": {"runId": "r"},
        "job": {"namespace": "n", "name": "j"},
        **parts,
    }


def _dataset(name: str, **facets: Json) -> Json:
    return {"namespace": "n", "name": name, "facets": facets}


def _derived_from(source: str, field: str) -> Json:
    return {"fields": {"a": {"inputFields": [{"namespace": "n", "name": source, "field": field}]}}}


@_format("openlineage")
def _schema(size: int) -> Json:
    fields = _many(lambda n: {"name": f"f{n}", "type": "int"}, size)
    return _event(outputs=[_dataset("t", schema={"fields": fields})])


@_format("openlineage")
def _columns(size: int) -> Json:
    fields = dict(_many(lambda n: (f"f{n}", _derived_from("s", f"g{n}")["fields"]["a"]), size))
    return _event(outputs=[_dataset("t", columnLineage={"fields": fields})])


@_format("openlineage")
def _inputs_of_one_column(size: int) -> Json:
    inputs = _many(lambda n: {"namespace": "n", "name": "s", "field": f"g{n}"}, size)
    return _event(outputs=[_dataset("t", columnLineage={"fields": {"x": {"inputFields": inputs}}})])


@_format("openlineage")
def _outputs(size: int) -> Json:
    return _event(outputs=_many(lambda n: _dataset(f"t{n}", columnLineage=_derived_from(f"s{n}", "b")), size))


@_format("openlineage")
def _inputs_with_lineage(size: int) -> Json:
    return _event(inputs=_many(lambda n: _dataset(f"t{n}", columnLineage=_derived_from(f"s{n}", "b")), size))


@_format("openlineage")
def _one_output_again_and_again(size: int) -> Json:
    return _event(outputs=_many(lambda n: _dataset("t", schema={"fields": [{"name": f"f{n}"}]}), size))


@_format("openlineage")
def _symlinks_and_tags(size: int) -> Json:
    links = _many(lambda n: {"namespace": "n", "name": f"t{n}"}, size // 2)
    tags = _many(lambda n: {"field": f"f{n}", "key": "k", "value": "true"}, size // 2)
    return _event(outputs=[_dataset("t", symlinks={"identifiers": links}, tags={"tags": tags})])


RUN = {"application": "a", "version": "1", "type": "t", "program": "p", "run": "r", "startTime": 1}


def _pipeline(*middle: Json, schema: Json | None = None) -> Json:
    """A source, these stages one after the other, and a sink."""
    fields = schema or [{"name": "a", "type": "int"}]
    first = {
        "name": "first",
        "plugin": {"name": "x", "type": "batchsource"},
        "outputSchema": json.dumps({"type": "record", "name": "r", "fields": fields}),
    }
    stages = [first, *middle, {"name": "last", "plugin": {"name": "x", "type": "batchsink"}}]
    names = [stage["name"] for stage in stages]
    connections = [{"from": origin, "to": target} for origin, target in pairwise(names)]
    return {"run": RUN, "config": {"stages": stages, "connections": connections}}


def _transform(name: str, **members: Json) -> Json:
    return {"name": name, "plugin": {"name": "x", "type": "transform"}, **members}


@_format("pipelines")
def _stages(size: int) -> Json:
    return _pipeline(*_many(lambda n: _transform(f"s{n}"), size // 2))


@_format("pipelines")
def _fields_of_a_stage(size: int) -> Json:
    return _pipeline(_transform("s"), schema=_many(lambda n: {"name": f"a{n}", "type": "int"}, size))


@_format("pipelines")
def _operations_of_a_stage(size: int) -> Json:
    operations = _many(
        lambda n: {"name": f"o{n}", "type": "TRANSFORM", "inputFields": ["a"], "outputFields": ["a"]}, size
    )
    return _pipeline(_transform("s", operations=operations))


@_format("pipelines")
def _directives(size: int) -> Json:
    recipe = {"directives": "set-column :a a+1\n" * (size // 18)}
    return _pipeline({"name": "s", "plugin": {"name": "Wrangler", "type": "transform", "properties": recipe}})


@_format("pipelines")
def _macros(size: int) -> Json:
    document = _pipeline()
    document["config"]["stages"][0]["plugin"]["properties"] = {"referenceName": "${" * (size // 2)}
    return document


def _manifest(nodes: dict[str, Json]) -> Json:
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "generated_at": "2026-01-31T09:30:00Z",
        "invocation_id": "i",
        "adapter_type": "postgres",
    }
    return {"manifest": {"metadata": metadata, "nodes": nodes, "sources": {}}}


def _node(name: str, **members: Json) -> Json:
    return {
        "resource_type": "model",
        "schema": "s",
        "alias": name,
        "package_name": "p",
        "relation_name": f'"s"."{name}"',
        "language": "python",
        "compiled_code": "x",
        **members,
    }


@_format("dbt")
def _models(size: int) -> Json:
    return _manifest(dict(_many(lambda n: (f"model.p.m{n}", _node(f"m{n}")), size)))


@_format("dbt")
def _columns_of_a_seed(size: int) -> Json:
    columns = dict(_many(lambda n: (f"c{n}", {"name": f"c{n}"}), size))
    return _manifest({"seed.p.x": _node("x", resource_type="seed", columns=columns)})


@_format("dbt")
def _quotes_of_a_relation(size: int) -> Json:
    return _manifest({"model.p.m": _node("m", relation_name="[" * size)})


@_format("lineage")
def _chain(size: int) -> Json:
    source, field = {"namespace": "n", "name": "s"}, [{"name": "a"}]
    steps = _many(
        lambda n: {
            "type": "TRANSFORM",
            "name": f"t{n}",
            "inputs": [{"name": "a", "origin": f"t{n - 1}"}],
            "outputs": field,
        },
        size,
    )
    steps[0]["inputs"][0]["origin"] = "r"
    read = {"type": "READ", "name": "r", "source": source, "outputs": field}
    write = {"type": "WRITE", "name": "w", "destination": source, "inputs": steps[-1]["inputs"]}
    return {"run": RUN, "operations": [read, *steps, write]}


@_format("lineage")
def _wrong_operations(size: int) -> Json:
    return {"run": RUN, "operations": _many(lambda n: {"type": "TRANSFORM", "number": n}, size)}


@_format("lineage")
def _nested(size: int) -> Json:
    return {"run": RUN, "operations": [[[[{"a": []}]]]] * (size // 18)}
