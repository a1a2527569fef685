"""No answer depends on what is hidden from its principal: names, fields, descriptions, types, SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from werkzeug.test import TestResponse

from api.wire.environ import PRINCIPAL
from fll_hbase.model.access import Principal
from fll_hbase.tables import open_table
from tests.access.queries import FIRST, NAMES, SECOND, VALUES, WITHOUT, ask, client_of, targets
from tests.access.worlds import ADMIN, EXACT, HIDDEN_RUNS, READER, SPECS, START_MS, STEWARD, Spec
from tests.support.call_log import CallLog
from tests.support.profiles import COSTLY, PROFILE

PAIRS = 400 if PROFILE == "long" else COSTLY
"""Pairs of stores with and without hidden parts."""

SEVERAL_RESULTS = ("/lineage/fields/", "/reports/", "direction=both")
"""Parts of targets whose answers have several results of the store. Hidden datasets that look alike in the
first one are numbered at random there: no name decides, but a later result may show a difference."""

ACCEPTED = ("application/json", "text/csv", "text/html", "text/vnd.mermaid", "application/graphml+xml")


def _without_clock(body: bytes) -> bytes:
    """Return an answer without the time that it was made at, and those that documents arrived at."""
    return re.sub(rb'(Report of</dt><dd>)[^<]*|("time":)[0-9]+', rb"\1\2", body)


def _seen(response: TestResponse) -> tuple[Any, ...]:
    body = _without_clock(response.data)
    # A report names who asked for it.
    left_out = {"Principal"} if body == response.data else {"Principal", "ETag"}
    headers = [item for item in response.headers.items() if item[0] not in left_out]
    return response.status_code, sorted(headers), body


def _unnumbered(body: bytes) -> bytes:
    """Return an answer without the numbers of hidden things, its parts sorted: their order is by number."""
    body = _without_clock(body)
    return bytes(sorted(re.sub(rb'(hidden"?[: -]*)[0-9]+', rb"\1", body)))


def _assert_equal(first: TestResponse, second: TestResponse, target: str) -> None:
    assert first.status_code in (200, 404, 406), (target, first.text)
    if any(part in target for part in SEVERAL_RESULTS):
        assert _unnumbered(first.data) == _unnumbered(second.data), target
        assert first.status_code == second.status_code
    else:
        assert _seen(first) == _seen(second), target


def _worlds(specs: list[Spec]) -> tuple[FlaskClient, FlaskClient]:
    return client_of(FIRST, specs), client_of(SECOND, specs)


@settings(max_examples=COSTLY)
@given(SPECS)
def test_no_answer_depends_on_hidden_names(specs: list[Spec]) -> None:
    first, second = _worlds(specs)
    for number, target in enumerate(targets(first)):
        principal = (READER, STEWARD)[number % 2]
        for accepted in {ACCEPTED[0], ACCEPTED[number % len(ACCEPTED)]}:
            _assert_equal(
                ask(first, target, principal, accepted),
                ask(second, target, principal, accepted),
                f"{target} {accepted}",
            )


@settings(max_examples=PAIRS)
@given(SPECS)
def test_no_answer_and_no_call_depends_on_whether_anything_is_hidden(specs: list[Spec]) -> None:
    """Runs, contents, tags and policies without any visible part, and whole namespaces: also their time.

    Twice, since what the first answer left in a cache must not tell either. What hidden programs and datasets
    have to do with visible ones is shown, by numbers: runs with such parts are in both stores.
    """
    specs = [*HIDDEN_RUNS, *specs]
    tables = CallLog(open_table("sqlite:///:memory:")), CallLog(open_table("sqlite:///:memory:"))
    clients = [client_of(world, specs, table) for world, table in zip((FIRST, WITHOUT), tables, strict=True)]
    runs = clients[0].get("/v3/runs?start=0").json["runs"]
    checksums = {run["checksum"] for run in runs if run["run"] in VALUES["run"]}
    for number, target in enumerate(targets(clients[0], checksums=checksums)):
        for principal in (READER, STEWARD, EXACT)[number % 3 :][:1] * 2:
            for table in tables:
                table.calls.clear()
            answers = [ask(client, target, principal, "application/json") for client in clients]
            _assert_equal(*answers, target)
            # One row that may be hidden, or missing, is read for a name or an id that is asked for.
            calls = [[call[:2] for call in table.calls] for table in tables]
            assert calls[0] == calls[1], (target, principal)


@settings(max_examples=COSTLY)
@given(SPECS)
def test_what_is_refused_does_not_depend_on_whether_anything_is_hidden(specs: list[Spec]) -> None:
    """Changes of hidden tags and datasets, and SQL that reads from hidden tables."""
    specs = [*HIDDEN_RUNS, *specs]
    tables = CallLog(open_table("sqlite:///:memory:")), CallLog(open_table("sqlite:///:memory:"))
    clients = [client_of(world, specs, table) for world, table in zip((FIRST, WITHOUT), tables, strict=True)]
    for method, target, body in _changes():
        for table in tables:
            table.calls.clear()
        answers = [
            client.open(target, method=method, json=body, environ_overrides={PRINCIPAL: STEWARD})
            for client in clients
        ]
        assert answers[0].status_code == answers[1].status_code, (method, target)
        assert answers[0].data == answers[1].data, (method, target)
        calls = [[call[:2] for call in table.calls] for table in tables]
        assert calls[0] == calls[1], (method, target)


def test_metrics_answer_alike_without_the_role_that_they_need() -> None:
    """They count what is hidden, too; their own token and an admin of all namespaces see all there is."""
    tables = CallLog(open_table("sqlite:///:memory:")), CallLog(open_table("sqlite:///:memory:"))
    clients = [
        client_of(world, HIDDEN_RUNS, table) for world, table in zip((FIRST, WITHOUT), tables, strict=True)
    ]
    for table in tables:
        table.calls.clear()
    for principal in (READER, STEWARD, EXACT):
        answers = [ask(client, "/metrics", principal, "text/plain") for client in clients]
        assert _seen(answers[0]) == _seen(answers[1]), principal
        assert answers[0].status_code == 403
    assert [table.calls for table in tables] == [[], []]


def _changes() -> Iterator[tuple[str, str, Any]]:
    """Yield requests, that change or have a body, about what one world hides and another does not have."""
    for name in NAMES:
        dataset = f"/v3/namespaces/{name['namespace']}/endpoints/{name['name']}"
        yield "PUT", f"{dataset}/fields/{name['field']}/tags/PII", {}
        yield "DELETE", f"{dataset}/fields/{name['field']}/tags/hidden", None
        yield "DELETE", f"{dataset}?before=1690000000&dryRun=true", None
        run = {"application": "a", "type": "t", "program": "p", "run": "new", "startTime": START_MS}
        text = f"INSERT INTO mine SELECT * FROM `{name['name']}`"
        sql = {"text": text, "dialect": "spark", "namespace": name["namespace"]}
        yield "POST", "/v3/namespaces/open/sql?dryRun=true", {"run": run, "sql": sql}
        policy = {"maxAge": "1d", "field": name}
        yield "PUT", "/v3/policies/new", policy
    yield "DELETE", "/v3/policies/hidden-policy", None
    yield "DELETE", "/v3/policies/none", None


@pytest.mark.slow
@settings(max_examples=COSTLY)
@given(SPECS)
def test_with_all_rights_answers_are_those_without_authentication(specs: list[Spec]) -> None:
    client = client_of(FIRST, specs)
    for target in targets(client):
        assert _seen(ask(client, target, ADMIN, "application/json")) == _seen(
            client.get(target, headers={"X-Request-ID": "one"})
        ), target


@pytest.mark.slow
@settings(max_examples=COSTLY)
@given(SPECS)
def test_a_principal_that_reads_everything_sees_what_is_there(specs: list[Spec]) -> None:
    """The view itself, without the short cut of an admin, hides nothing that may be seen.

    A steward, since lists of tags say if they may not be changed.
    """
    from fll_hbase.model.access import Grant, Role

    everything = Principal("all", (Grant(Role.READER, "*"), Grant(Role.STEWARD, "*")))
    client = client_of(FIRST, specs)
    for target in targets(client):
        assert _seen(ask(client, target, everything, "application/json")) == _seen(
            client.get(target, headers={"X-Request-ID": "one"})
        ), target


@pytest.mark.slow
@settings(max_examples=COSTLY)
@given(SPECS)
def test_batches_of_questions_do_not_depend_on_hidden_names(specs: list[Spec]) -> None:
    first, second = _worlds(specs)
    questions = [{"path": target} for target in targets(first)]
    for begin in range(0, len(questions), 100):
        body = {"questions": questions[begin : begin + 100]}
        answers = [
            client.post("/v3/questions", json=body, environ_overrides={PRINCIPAL: READER})
            for client in (first, second)
        ]
        assert _unnumbered(answers[0].data) == _unnumbered(answers[1].data), json.dumps(body)[:500]
