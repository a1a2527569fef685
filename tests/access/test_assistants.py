"""No answer to an assistant depends on what is hidden from its principal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings

from api.wire.environ import PRINCIPAL
from fll_hbase.mcp.query_tools import query_tools
from fll_hbase.model.access import Principal
from fll_hbase.tables import open_table
from tests.access.queries import FIRST, NAMES, SECOND, VALUES, WINDOW, WITHOUT, client_of
from tests.access.worlds import HIDDEN_RUNS, READER, SPECS, START_MS, STEWARD, Spec
from tests.support.assistants import call_message, calls_of, post
from tests.support.call_log import CallLog
from tests.support.profiles import COSTLY

Json = dict[str, Any]

NO_NAMES = ({},)
"""Names of a tool that needs none."""

FIELDS = (NAMES[0], NAMES[1], NAMES[3])
"""A visible field, one of a dataset that is hidden in one world, and one that is hidden or missing."""


def _calls() -> Iterator[tuple[str, Json]]:
    """Yield calls of every tool, so that a new one is called without being listed here."""
    for name, tool in query_tools().items():
        required = {key for key, item in tool.parameters.items() if item.required}
        for names in FIELDS if required & NAMES[0].keys() else NO_NAMES:
            values: dict[str, tuple[Any, ...]] = {key: (value,) for key, value in (names | WINDOW).items()}
            values |= {key: VALUES[key] for key in ("run", "tag", "policy", "checksum")}
            values |= {"text": ("e", "secret"), "direction": ("both",), "inherited": (True,)}
            yield from ((name, arguments) for arguments in calls_of(tool, values))


def _answer(client: FlaskClient, call: tuple[str, Json], principal: Principal) -> bytes:
    response = post(client, call_message(*call), environ={PRINCIPAL: principal})
    assert response.status_code == 200, (call, response.text)
    return response.data


def _unnumbered(body: bytes) -> bytes:
    """Return an answer without numbers of hidden things and times of arrival, its parts sorted.

    Their order is by number.
    """
    body = re.sub(rb'(\\*"time\\*":\\*")[^"\\]*', rb"\1", body)
    return bytes(sorted(re.sub(rb'(hidden\\*"?[: -]*)[0-9]+', rb"\1", body)))


@settings(max_examples=COSTLY)
@given(SPECS)
def test_no_answer_depends_on_hidden_names(specs: list[Spec]) -> None:
    first, second = client_of(FIRST, specs), client_of(SECOND, specs)
    for number, call in enumerate(_calls()):
        principal = (READER, STEWARD)[number % 2]
        answers = [_answer(client, call, principal) for client in (first, second)]
        assert _unnumbered(answers[0]) == _unnumbered(answers[1]), call


@pytest.mark.slow
@settings(max_examples=COSTLY)
@given(SPECS)
def test_no_answer_and_no_read_depends_on_whether_anything_is_hidden(specs: list[Spec]) -> None:
    tables = CallLog(open_table("sqlite:///:memory:")), CallLog(open_table("sqlite:///:memory:"))
    clients = [
        client_of(world, [*HIDDEN_RUNS, *specs], table)
        for world, table in zip((FIRST, WITHOUT), tables, strict=True)
    ]
    for call in _calls():
        for table in tables:
            table.calls.clear()
        answers = [_answer(client, call, READER) for client in clients]
        assert _unnumbered(answers[0]) == _unnumbered(answers[1]), call
        reads = [[read[:2] for read in table.calls] for table in tables]
        assert reads[0] == reads[1], call


@pytest.mark.parametrize("namespace", ["secret0ns", "Q9nsX", "none"])
def test_what_is_refused_does_not_depend_on_whether_anything_is_hidden(namespace: str) -> None:
    run = {"application": "a", "type": "t", "program": "p", "run": "new", "startTime": START_MS}
    operations = [
        {"type": "READ", "name": "r", "source": {"namespace": namespace, "name": "t"}, "outputs": ["a"]},
        {
            "type": "WRITE",
            "name": "w",
            "destination": {"namespace": "open", "name": "t"},
            "inputs": [{"origin": "r", "name": "a"}],
        },
    ]
    document = {"document": {"run": run, "operations": operations}, "namespace": namespace}
    answers = [
        _answer(client_of(world, [*HIDDEN_RUNS]), ("record", document), STEWARD) for world in (FIRST, WITHOUT)
    ]
    assert answers[0] == answers[1]
    assert b'"isError":true' in answers[0]
