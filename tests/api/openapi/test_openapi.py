"""The OpenAPI document describes the app: every route, shape and status."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.api.conftest import MakeUrl
from tests.support.api_client import ALL, path, record, record_new, target
from tests.support.lineage_documents import START_LIMIT_MS, Json, copying, first_design, worked
from tests.support.profiles import COSTLY
from tests.support.wrong_documents import WRONG, WRONG_FIRST_DESIGN, with_wrong
from tests.support.wrong_documents import stated as error_ids

CONFORMANCE = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]
METHODS = ("post", "get", "put", "delete", "patch")

RECORDED_NAMES = {
    "namespace": ["ns1"],
    "name": ["people", "user_data", "a/b"],
    "field": ["body", "first_name", "x"],
}
MOMENTS = {
    "start": ["0", "1", "now-7d", "1442863938"],
    "end": ["2100-01-01", "now+1d", "1442863938.0005"],
}


@pytest.fixture(scope="module")
def app(fresh_url: MakeUrl) -> Iterator[Flask]:
    """An app whose store holds what the questions below are about."""
    store = LineageStore(open_table(fresh_url()))
    app = create_app(store)
    client = app.test_client()
    record_new(client, worked(), first_design(), copying("people", "a/b", "first_name", "x"))
    yield app
    store.close()


@pytest.fixture(scope="module")
def document(app: Flask) -> Json:
    answer = app.test_client().get("/openapi.json")
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    payload: Json = answer.json
    return payload


def resolved(document: Json, schema: Json) -> jsonschema_rs.Validator:
    """A validator of one schema of the document."""
    return jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})


@pytest.fixture(scope="module")
def recordable(document: Json) -> jsonschema_rs.Validator:
    """Strategies for request bodies, from the OpenAPI document."""
    operation = document["paths"]["/v3/namespaces/{namespace}/lineage"]["post"]
    return resolved(document, operation["requestBody"]["content"]["application/json"]["schema"])


def answered(document: Json, route: str, answer: Any) -> None:
    """An answer must have the shape that the document gives it."""
    method = answer.request.method.lower()
    responses = document["paths"][route][method]["responses"]
    payload = responses[str(answer.status_code)]["content"][answer.mimetype]["schema"]
    resolved(document, payload).validate(answer.json)


class TestTheDocument:
    """Valid, complete, and true."""

    def test_it_is_an_openapi_document(self, document: Json) -> None:
        assert document["openapi"].startswith("3.1.")
        OPENAPI_31_VALIDATOR.validate(document)

    def test_every_reference_leads_somewhere(self, document: Json) -> None:
        for reference in re.findall(r"'\$ref': '([^']*)'", str(document)):
            result: Any = document
            for step in reference.removeprefix("#/").split("/"):
                result = result[step]
            assert result

    def test_it_lists_every_route_of_the_app(self, app: Flask, document: Json) -> None:
        routes = {
            (re.sub(r"<(?:[^:>]*:)?([^>]*)>", r"{\1}", rule.rule), method.lower())
            for rule in app.url_map.iter_rules()
            if not rule.endpoint.startswith(("documentation.", "mcp.", "page."))
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        }
        listed = {
            (route, method)
            for route, payload in document["paths"].items()
            for method in METHODS
            if method in payload
        }
        assert listed == routes
        assert len(listed) >= 12

    def test_every_parameter_of_a_path_is_reported(self, document: Json) -> None:
        for route, payload in document["paths"].items():
            message = {item["name"] for item in payload.get("parameters", ()) if item["in"] == "path"}
            assert message == set(re.findall(r"{([^}]*)}", route))

    def test_every_parameter_of_a_query_is_reported(self, app: Flask, document: Json) -> None:
        client = app.test_client()
        for route, payload in document["paths"].items():
            method = next(item for item in METHODS if item in payload)
            message = {
                item["name"] for item in payload[method].get("parameters", ()) if item["in"] == "query"
            }
            query = re.sub(r"{[^}]*}", "x", route.replace("{checksum}", "0" * 32))
            refused = client.open(f"{query}?no%20parameter=1", method=method)
            assert refused.status_code == 400
            detail = next(item["detail"] for item in refused.json["errors"] if item["at"] == "no parameter")
            assert not [name for name in message if name not in detail]
            for name in message:
                answer = client.open(f"{query}?{name}=%00", method=method)
                assert "unknown parameter" not in answer.text

    def test_every_answer_that_is_no_success_is_a_problem(self, document: Json) -> None:
        for payload in document["paths"].values():
            for method in METHODS:
                for status, answer in payload.get(method, {}).get("responses", {}).items():
                    if int(status) >= 400:
                        assert set(answer["content"]) == {"application/problem+json"}
                        schema = answer["content"]["application/problem+json"]["schema"]
                        assert schema == {"$ref": "#/components/schemas/Problem"}

    def test_every_operation_says_what_it_does(self, document: Json) -> None:
        for payload in document["paths"].values():
            for method in METHODS:
                assert method not in payload or payload[method]["summary"]

    def test_descriptions_have_no_examples_in_python(self, document: Json) -> None:
        assert ">>>" not in json.dumps(document)


class TestShapesToRecord:
    """The document accepts what is recorded, and refuses what is refused for its shape."""

    @pytest.mark.parametrize("inputs", [worked(), first_design(), worked(state="FAIL", colour="red")])
    def test_what_is_recorded(self, recordable: jsonschema_rs.Validator, inputs: Json) -> None:
        recordable.validate(inputs)

    @pytest.mark.parametrize("start_ms", [0, 1, START_LIMIT_MS - 1])
    def test_the_first_and_the_last_start(self, recordable: jsonschema_rs.Validator, start_ms: int) -> None:
        recordable.validate(worked(startTime=start_ms))

    @pytest.mark.parametrize(
        ("position", "value"),
        [
            (position, value)
            for position, value in WRONG
            if (position, value) not in (("run.startTime", 1.0), ("operations.1.inputs.0.kind", "filter"))
        ],
        ids=error_ids,
    )
    def test_what_is_400(self, recordable: jsonschema_rs.Validator, position: str, value: Any) -> None:
        assert not recordable.is_valid(with_wrong(worked(), position, value))

    @pytest.mark.parametrize(("position", "value"), WRONG_FIRST_DESIGN, ids=error_ids)
    def test_likewise_in_the_first_designs_form(
        self, recordable: jsonschema_rs.Validator, position: str, value: Any
    ) -> None:
        assert not recordable.is_valid(with_wrong(first_design(), position, value))


class TestShapesOfAnswers:
    """Every answer of the contract's example has the shape that the document gives it."""

    END_POINT = "/v3/namespaces/{namespace}/endpoints/{name}"
    ROUTES = {
        "/v3/namespaces": target("v3", "namespaces"),
        "/v3/namespaces/{namespace}/endpoints": path("ns1", "endpoints"),
        f"{END_POINT}/fields": path("ns1", "endpoints", "people", "fields"),
        f"{END_POINT}/runs": path("ns1", "endpoints", "people", "runs", **ALL),
        f"{END_POINT}/fields/lineage": path("ns1", "endpoints", "people", "fields", "lineage", **ALL),
        f"{END_POINT}/fields/{{field}}/lineage": path(
            "ns1", "endpoints", "people", "fields", "first_name", "lineage", **ALL
        ),
        "/v3/namespaces/{namespace}/datasets/{name}/fields/{field}/lineage": path(
            "ns1", "datasets", "people", "fields", "first_name", "lineage", **ALL
        ),
        "/v3/namespaces/{namespace}/runs": path("ns1", "runs", **ALL),
        "/v3/namespaces/{namespace}/openlineage": path("ns1", "openlineage", **ALL),
        "/v3/runs": target("v3", "runs", **ALL),
        "/v3/openlineage": target("v3", "openlineage", **ALL),
        "/v3/search": target("v3", "search", q="e"),
        "/healthz": "/healthz",
        "/readyz": "/readyz",
    }

    @pytest.mark.parametrize("route", ROUTES)
    def test_questions(self, app: Flask, document: Json, route: str) -> None:
        client = app.test_client()
        answer = client.get(self.ROUTES[route])
        assert answer.status_code == 200
        answered(document, route, answer)
        answered(document, route, client.get(f"{self.ROUTES[route].partition('?')[0]}?no=1"))

    def test_recording(self, client: FlaskClient, document: Json) -> None:
        route = "/v3/namespaces/{namespace}/lineage"
        for sent, query in (
            (worked(), {}),
            (worked(), {}),
            (worked(state="RUNNING", colour=1), {}),
            (worked(), {"dryRun": "true"}),
            ({}, {}),
            ({**worked(), "operations": []}, {}),
        ):
            answered(document, route, record(client, sent, **query))

    def test_every_kind_of_pair_and_node(self, client: FlaskClient, document: Json) -> None:
        key = {"origin": "read", "name": "x", "influence": "indirect", "kind": "filter"}
        mixed = copying("a", "b", "x", "y")
        mixed["operations"][0]["outputs"] = ["x", {"name": "y", "type": "int"}]
        mixed["operations"][1]["inputs"].append(key)
        mixed["operations"] += [
            {"type": "TRANSFORM", "name": "make", "outputs": ["made"]},
            {"type": "TRANSFORM", "name": "drop", "inputs": [{"origin": "read", "name": "y"}, key]},
            {"type": "WRITE", "name": "more", "destination": {"name": "c"}, "inputs": [key]},
            {"type": "READ", "name": "unread", "source": {"name": "d"}},
        ]
        mixed["operations"][1]["inputs"].append({"origin": "make", "name": "made"})
        record_new(client, mixed)
        route = f"{self.END_POINT}/fields/lineage"
        for name in "abcd":
            answered(document, route, client.get(path("ns1", "endpoints", name, "fields", "lineage", **ALL)))
        route = f"{self.END_POINT}/fields/{{field}}/lineage"
        for name, field in (("a", "x"), ("a", "y"), ("b", "made"), ("b", "x")):
            for view in ("simple", "detailed"):
                for direction in ("backward", "forward"):
                    query = path(
                        *("ns1", "endpoints", name, "fields", field, "lineage"),
                        **{**ALL, "view": view, "direction": direction},
                    )
                    answered(document, route, client.get(query))


@schemathesis.serializer("application/x-ndjson")
def ndjson(context: Any, value: Any) -> bytes:
    """Texts as they are, and now and then a document in one line."""
    text = value if isinstance(value, str) else json.dumps(value)
    return "\n".join([text, json.dumps(worked()), text]).encode("utf-8", "surrogatepass")


@schemathesis.deserializer("application/x-ndjson")
def as_text(context: Any, response: Any) -> str:
    """An answer to a batch, as the document describes it."""
    text: str = response.content.decode()
    return text


@pytest.fixture
def tried(app: Flask) -> Any:
    """The document as schemathesis reads it, which now and then asks about what was recorded."""
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)

    @schema.hook
    def map_path_parameters(context: Any, path_parameters: Json | None) -> Json | None:
        return _swapped(path_parameters, RECORDED_NAMES)

    @schema.hook
    def map_query(context: Any, query: Json | None) -> Json | None:
        return _swapped(query, MOMENTS)

    return schema


def _swapped(parameters: Json | None, instead: dict[str, list[str]]) -> Json | None:
    """Two of three generated values give way to one of a few; which, the values themselves decide."""
    if not isinstance(parameters, dict):
        return parameters
    swapped = dict(parameters)
    for name in instead.keys() & parameters.keys():
        dice = sum(str(parameters[name]).encode("utf-8", "surrogatepass"))
        if dice % 3:
            swapped[name] = instead[name][dice % len(instead[name])]
    return swapped


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode)
def test_whatever_is_asked_the_answer_is_as_documented(tried: Any, mode: GenerationMode) -> None:
    checks = CHECKS.get_by_names(CONFORMANCE)
    statuses: dict[str, list[int]] = {}
    for operation in (item.ok() for item in tried.get_all_operations()):
        if not list(operation.iter_parameters()):
            continue
        answered_statuses = statuses.setdefault(operation.label, [])

        @settings(max_examples=COSTLY, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers_as_documented(case: Any) -> None:
            plain = {"Accept-Encoding": "identity"}
            response = case.call_and_validate(checks=checks, headers=plain)
            answered_statuses.append(response.status_code)  # noqa: B023 (called at once)

        answers_as_documented()
        assert answered_statuses, operation.label
    seen = {status for answers in statuses.values() for status in answers}
    assert {400} <= seen
    assert mode is GenerationMode.NEGATIVE or {200, 404} <= seen


def test_a_token_is_declared_and_optional(client: FlaskClient) -> None:
    document = client.get("/openapi.json").get_json()
    assert document["security"] == [{}, {"token": []}]
    token = document["components"]["securitySchemes"]["token"]
    assert (token["type"], token["scheme"]) == ("http", "bearer")
