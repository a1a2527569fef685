"""Examples of the OpenAPI document and of the pages on REST work on the sample."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import jsonschema_rs
import pytest
from flask.testing import FlaskClient

from api import create_app
from api.security.hosts import RESPONSE_HEADERS
from fll_hbase.runtime import clock
from fll_hbase.sample.load import load
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

pytestmark = pytest.mark.slow

Json = dict[str, Any]

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
SECTIONS = {"rest.md": ("# REST API", "Batch questions"), "cdap.md": ("",)}
"""Pages with examples of answers that the sample gives at any time, and how the sections with them begin."""

ALWAYS_404 = {"post /"}
"""It names the paths to use instead."""

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WINDOW = re.compile(r'"(Window-(?:Start|End))":"[0-9.]+"')


@pytest.fixture(scope="module")
def client() -> Iterator[FlaskClient]:
    """A client of an app over the sample, which ends now."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    load(store, clock.now_ms())
    test_client = create_app(store).test_client()
    # The example of a policy is one on the age of data.
    policy = {"tag": "PII", "into": "ads/*"}
    assert test_client.put("/v3/policies/no-ads?allowUnknown=true", json=policy).status_code == 201
    yield test_client
    store.close()


@pytest.fixture(scope="module")
def document(client: FlaskClient) -> Json:
    payload: Json = client.get("/openapi.json").json
    return payload


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Method, path and operation of each route, those that record first."""
    listed = [
        (method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    ]
    yield from sorted(listed, key=lambda item: ["put", "post", "patch", "get", "delete"].index(item[0]))


def send(client: FlaskClient, method: str, path: str, operation: Json) -> Any:
    """The answer to a request with the examples of a route."""
    parameters = {"path": {}, "query": {}}  # type: dict[str, Json]
    for parameter in operation.get("parameters", ()):
        if "example" in parameter:
            parameters[parameter["in"]][parameter["name"]] = parameter["example"]
    for name, value in parameters["path"].items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    content = operation.get("requestBody", {}).get("content", {})
    options: Json = {}
    for media_type, media in content.items():
        example = media["example"]
        text = example if isinstance(example, str) else json.dumps(example)
        options = {"data": text, "content_type": media_type}
    target = f"{path}?{urlencode(parameters['query'])}"
    return client.open(target, method=method.upper(), **options)


def validate(document: Json, operation: Json, answer: Any) -> None:
    """An answer must have the shape that the document gives it."""
    content = operation["responses"][str(answer.status_code)]["content"]
    schema = {**content[answer.mimetype]["schema"], "components": document["components"]}
    jsonschema_rs.Draft202012Validator(schema).validate(answer.json)


@pytest.mark.slow
def test_the_examples_of_every_route_are_answered(client: FlaskClient, document: Json) -> None:
    refused = {}
    for method, path, operation in operations(document):
        answer = send(client, method, path, operation)
        if answer.status_code // 100 != 2:
            refused[f"{method} {path}"] = f"{answer.status_code} {answer.text[:500]}"
        elif answer.mimetype == "application/x-ndjson":
            assert {json.loads(line)["status"] for line in answer.text.splitlines()} == {201}
        elif answer.is_json:
            validate(document, operation, answer)
    assert refused.keys() == ALWAYS_404, refused


def test_questions_of_the_examples_have_something_to_show(client: FlaskClient, document: Json) -> None:
    for path in ("/v3/search", "/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage"):
        answer = send(client, "get", path, document["paths"][path]["get"])
        assert any(answer.json.values() if isinstance(answer.json, dict) else answer.json), path
    questions = "/v3/questions"
    for item in send(client, "post", questions, document["paths"][questions]["post"]).json["answers"]:
        assert item["status"] == 200
        assert item["body"]


def test_operation_ids_are_a_verb_and_a_noun_and_name_one_route_each(document: Json) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert all(re.fullmatch("[a-z]+(_[a-z0-9]+)+", name) for name in ids)
    assert len(set(ids)) == len(ids)


def test_every_parameter_and_group_is_described(document: Json) -> None:
    for method, path, operation in operations(document):
        for parameter in (*operation.get("parameters", ()), *document["paths"][path].get("parameters", ())):
            assert parameter.get("description"), (method, path, parameter["name"])
        assert operation["summary"], path
    assert all(tag["description"] for tag in document["tags"])
    assert [tag["name"] for tag in document["tags"]][:2] == ["questions", "reach"]
    assert "truncated" in document["info"]["description"]


def test_headers_are_declared_where_they_are_sent(client: FlaskClient, document: Json) -> None:
    sent = set()
    for method, path, operation in operations(document):
        if method == "get":
            answer = send(client, method, path, operation)
            declared = operation["responses"]["200"].get("headers", {})
            for name in {*RESPONSE_HEADERS.split(", ")} - {"ETag", "X-Request-ID"}:
                if name in answer.headers:
                    sent.add(name)
                    assert name in declared, (path, name)
    assert {"Window-Start", "Window-End", "Base-Start", "Base-End"} <= sent


def examples_of_page() -> list[tuple[list[str], str]]:
    """Words of each command in the sections, and what it prints."""
    text = "\n".join(
        section
        for page, titles in SECTIONS.items()
        for section in (REFERENCE / page).read_text(encoding="utf-8").split("\n## ")
        if section.startswith(titles)
    )
    parts = [
        part for block in _BLOCK.findall(text) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    commands = []
    for part in parts:
        # The answer is one line, the command may have several.
        command, _, output = part.rstrip("\n").rpartition("\n")
        commands.append((shlex.split(command), output))
    return commands


def test_the_page_shows_what_is_answered(client: FlaskClient) -> None:
    shown = examples_of_page()
    assert len(shown) >= 5
    for words, output in shown:
        url = next(word for word in words if word.startswith("http://"))
        target = urlsplit(url)
        request = f"{target.path}?{target.query}"
        if "-d" in words:
            body = words[words.index("-d") + 1]
            answer = client.post(request, data=body, content_type="application/json")
        else:
            answer = client.get(request)
        assert _WINDOW.sub(r'"\1":""', answer.text) == _WINDOW.sub(r'"\1":""', output), words
