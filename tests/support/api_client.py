"""Requests to the API through the test client, and checks of answers and problems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

ALL = {"start": "0", "end": "9223372036854775.807"}
"""The window of every run that there can be."""

_LINK = re.compile(r'<([^>]*)>; rel="next"')
_INTERNALS = ("Traceback", ".py", "sqlite3", "site-packages")


def path(*segments: str, **query: Any) -> str:
    """`/v3/namespaces/…`, each segment one name, with parameters."""
    return target("v3", "namespaces", *segments, **query)


def target(*segments: str, **query: Any) -> str:
    """A path of any segments, with parameters."""
    query_string = urlencode({name: str(value) for name, value in query.items()}, quote_via=quote, safe="")
    return "".join(f"/{quote(segment, safe='')}" for segment in segments) + (
        f"?{query_string}" if query_string else ""
    )


def record(client: FlaskClient, document: Any, *, namespace: str = "ns1", **query: Any) -> TestResponse:
    """Post one document."""
    return client.post(path(namespace, "lineage", **query), json=document)


def record_new(client: FlaskClient, *documents: Any, namespace: str = "ns1") -> list[str]:
    """Record documents that must be new; return their checksums."""
    answers = [record(client, document, namespace=namespace) for document in documents]
    assert [answer.status_code for answer in answers] == [201] * len(answers), answers[-1].text
    return [answer.json["checksum"] for answer in answers]


def batch(client: FlaskClient, body: bytes, *, namespace: str = "ns1", **headers: str) -> list[Any]:
    """The answers to a batch, line by line."""
    answer = send(client, body, "lineage/batch", namespace=namespace, **headers)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "application/x-ndjson"
    return lines(answer.data)


def lines(body: bytes) -> list[Any]:
    """The values of NDJSON."""
    assert body == b"" or body.endswith(b"\n")
    return [json.loads(line) for line in body.splitlines()]


def send(
    client: FlaskClient, body: bytes, route: str = "lineage", *, namespace: str = "ns1", **headers: str
) -> TestResponse:
    """Send exactly these bytes and return the answer; header names use `_` for `-`."""
    payload = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return client.post(f"/v3/namespaces/{quote(namespace, safe='')}/{route}", data=body, headers=payload)


def lineage(client: FlaskClient, name: str, *, namespace: str = "ns1", **query: Any) -> Any:
    """The answer to the high-level question."""
    return get_json(client, namespace, "endpoints", name, "fields", "lineage", **{**ALL, **query})


def get_json(client: FlaskClient, *segments: str, **query: Any) -> Any:
    """The body of an answer that must be there."""
    answer = client.get(path(*segments, **query))
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "application/json"
    return answer.json


def pages(client: FlaskClient, first: str, member: str) -> Iterator[list[Any]]:
    """The pages of a list, from link to link."""
    link: str | None = first
    while link is not None:
        answer = client.get(link)
        assert answer.status_code == 200, answer.text
        yield answer.json[member]
        link = next_link(answer)


def next_link(answer: TestResponse) -> str | None:
    """Where the next page is."""
    payload = answer.headers.get("Link")
    if payload is None:
        return None
    match = _LINK.fullmatch(payload)
    assert match, payload
    return match[1]


def is_store_empty(client: FlaskClient) -> bool:
    """Whether no run was ever recorded."""
    return get_json(client) == {"namespaces": []}


def assert_problem(answer: TestResponse, status: int) -> Any:
    """The body of an answer that must be a problem of that status."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.mimetype == "application/problem+json"
    return assert_problem_body(answer.json, status)


def assert_problem_body(body: Any, status: int) -> Any:
    """A problem that must have all its members, and nothing of the inside of the server."""
    assert body["status"] == status
    assert all(isinstance(body[name], str) and body[name] for name in ("type", "title", "detail"))
    for fault in body.get("errors", ()):
        assert set(fault) == {"at", "detail"}
        assert isinstance(fault["at"], str)
        assert isinstance(fault["detail"], str)
        assert fault["detail"]
    assert not [word for word in _INTERNALS if word in str(body)]
    return body


def error_paths(answer: TestResponse, status: int) -> list[str]:
    """Where the faults of a problem are, sorted."""
    return sorted(fault["at"] for fault in assert_problem(answer, status)["errors"])


def errors_by_path(answer: TestResponse) -> dict[str, str]:
    """Return the errors of a 400 answer, by parameter."""
    return {fault["at"]: fault["detail"] for fault in assert_problem(answer, 400)["errors"]}
