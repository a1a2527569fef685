"""Batches of questions: answered as their own requests are, in order, sharing what they read."""

from __future__ import annotations

import gzip
import json
import socket
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from api import create_app
from api.routes import questions as question_routes
from api.wire.budget import CLIENT_LEFT
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Row, Scan, Table, open_table
from fll_hbase.tables.base import Columns
from tests.support.api_client import ALL, assert_problem, assert_problem_body, path, record_new
from tests.support.lineage_documents import Json, copying, run

URL = "/v3/questions"
MEMBERS = (
    *("Link", "Truncated", "Truncated-By", "Window-Start", "Window-End", "Base-Start", "Base-End"),
    "Retry-After",
)


class CountingTable:
    """Passes calls on to a table, and counts the reads among them by method."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls: Counter[str] = Counter()

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        self.calls["get"] += 1
        return self._table.get(row, columns=columns)

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        self.calls["rows"] += 1
        return self._table.rows(keys, columns=columns)

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        self.calls["scan_many"] += 1
        return self._table.scan_many(scans)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


def ask(client: FlaskClient, *paths: str) -> Json:
    """The body of the answer to a batch that is valid."""
    response = client.post(URL, json={"questions": [{"path": question} for question in paths]})
    assert response.status_code == 200, response.text
    body: Json = response.json
    assert len(body["answers"]) == len(paths)
    return body


def alone(client: FlaskClient, question: str) -> Json:
    """The answer to a question of its own request, in the form of a batch."""
    response = client.get(question, headers={"Accept": "application/json"})
    headers = {name: response.headers[name] for name in MEMBERS if name in response.headers}
    return {"status": response.status_code, "headers": headers, "body": response.json}


def lineage_path(name: str, **query: Any) -> str:
    return path("ns1", "endpoints", name, "fields", "lineage", **{**ALL, **query})


class TestAnswers:
    def test_each_is_what_its_own_request_answers(self, client: FlaskClient) -> None:
        record_new(client, *(copying("a", f"b/{n} %|🙂", "x", run=run(f"r{n}")) for n in range(3)))
        base = ("ns1", "endpoints", "b/1 %|🙂")
        questions = [
            lineage_path("a", level=3),
            lineage_path("b/1 %|🙂"),
            path(*base, "fields", "x", "lineage", **ALL),
            path(*base, "fields", "x", "lineage", **ALL, view="simple"),
            path(*base, "fields", "x", "diff", **ALL),
            path(*base, "diff", **ALL),
            path(*base, "runs", **ALL),
            path("ns1", "endpoints", "a", "runs", **ALL, limit=1),
            path(*base, "programs", **ALL),
            path("ns1", "datasets", "a", "lineage", "allfieldlineage", **ALL),
            path("ns1", "endpoints", limit=2),
            "/v3/namespaces",
            "/v3/search?q=b",
            "/v3/runs/r1",
            # Wrong ones between them.
            lineage_path("never"),
            lineage_path("a", level=0, directon="both"),
            "/v3/namespaces/ns1/endpoints/%zz/fields/lineage",
            "/v3/namespaces/ns1/endpoints//fields/lineage",
            "/v3/no/such/route",
            "/v3/namespaces/ns1/lineage",
            "/v3/",
        ]
        body = ask(client, *questions)
        assert body["answers"] == [alone(client, question) for question in questions]
        assert {answer["status"] for answer in body["answers"]} == {200, 400, 404, 405}
        assert body["truncated"] is False

    def test_names_beyond_ascii_need_no_escapes(self, client: FlaskClient) -> None:
        record_new(client, copying("größer🙂", "b", "x"))
        plain, escaped = ask(
            client,
            "/v3/namespaces/ns1/endpoints/größer🙂/fields/lineage?start=0&direction=forward",
            f"/v3/namespaces/ns1/endpoints/{quote('größer🙂')}/fields/lineage?start=0&direction=forward",
        )["answers"]
        assert plain["status"] == 200
        assert plain["body"] == escaped["body"] != []

    def test_ids_are_returned(self, client: FlaskClient) -> None:
        questions = [{"path": "/v3/namespaces", "id": "first"}, {"path": "/v3/namespaces"}]
        answers = client.post(URL, json={"questions": questions}).json["answers"]
        assert [answer.get("id") for answer in answers] == ["first", None]

    def test_now_is_one_time_for_all(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x"))
        questions = [lineage_path(name, start="now-7d", end="now") for name in "abab"]
        windows = {
            (answer["headers"]["Window-Start"], answer["headers"]["Window-End"])
            for answer in ask(client, *questions)["answers"]
        }
        assert len(windows) == 1

    def test_gzip_in_both_directions(self, client: FlaskClient) -> None:
        body = gzip.compress(json.dumps({"questions": [{"path": "/v3/no"}] * 50}).encode())
        headers = {
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "Accept-Encoding": "gzip",
            # Of the batch, not of its questions.
            "Accept": "text/html",
        }
        response = client.post(URL, data=body, headers=headers)
        assert response.headers["Content-Encoding"] == "gzip"
        answers = json.loads(gzip.decompress(response.data))["answers"]
        assert [answer["status"] for answer in answers] == [404] * 50

    def test_a_foreign_host_is_refused_as_in_a_request(self, client: FlaskClient) -> None:
        assert client.post(URL, json={"questions": []}, headers={"Host": "evil.example"}).status_code == 421


class TestErrors:
    def test_every_error_at_once(self, client: FlaskClient) -> None:
        questions = [
            {"path": "/v3/namespaces"},
            {"path": "http://other/v3/namespaces"},
            {"path": 7, "id": ""},
            {},
            "text",
            {"path": "/metrics", "colour": 1},
            {"path": "/v3/questions?x=1"},
            {"path": "", "id": []},
        ]
        problem = assert_problem(client.post(URL, json={"questions": questions, "more": 1}), 400)
        assert [error["at"] for error in problem["errors"]] == [
            "more",
            "questions.1.path",
            "questions.2.path",
            "questions.3.path",
            "questions.4",
            "questions.5.colour",
            "questions.5.path",
            "questions.6.path",
            "questions.7.path",
            "questions.7.id",
        ]

    @pytest.mark.parametrize(
        ("body", "error_path"),
        [
            (b"", ""),
            (b"{", ""),
            (b"[]", ""),
            (b"{}", "questions"),
            (b'{"questions": []}', "questions"),
            (b'{"questions": {}}', "questions"),
            (b'{"questions": null}', "questions"),
            (json.dumps({"questions": [{"path": "/v3/no"}] * 101}).encode(), "questions"),
            (b"[" * 100_000, ""),
        ],
        ids=["nothing", "broken", "array", "missing", "empty", "object", "null", "many", "deep"],
    )
    def test_a_batch_that_is_none(self, client: FlaskClient, body: bytes, error_path: str) -> None:
        response = client.post(URL, data=body, headers={"Content-Type": "application/json"})
        assert [error["at"] for error in assert_problem(response, 400)["errors"]] == [error_path]

    def test_a_body_needs_a_type(self, client: FlaskClient) -> None:
        assert_problem(client.post(URL, data=b'{"questions": [{"path": "/v3/namespaces"}]}'), 415)

    def test_it_is_no_get(self, client: FlaskClient) -> None:
        assert client.get(URL).status_code == 405

    def test_a_parameter_is_unknown(self, client: FlaskClient) -> None:
        assert_problem(client.post(f"{URL}?dryRun=true", json={"questions": [{"path": "/v3/no"}]}), 400)


class TestBounds:
    def calls(self, questions: int, **query: Any) -> Counter[str]:
        """The reads of a batch of lineage questions about many datasets, half of them without lineage."""
        table = CountingTable(open_table("sqlite:///:memory:"))
        client = create_app(LineageStore(table)).test_client()  # type: ignore[arg-type]
        documents = [copying("origin", f"d{n}", "x", run=run(f"r{n}")) for n in range(questions)]
        record_new(client, *documents)
        # Another store: nothing is cached.
        client = create_app(LineageStore(table)).test_client()  # type: ignore[arg-type]
        table.calls.clear()
        paths = [
            lineage_path(f"d{n}", direction="backward" if n % 2 else "forward") for n in range(questions)
        ]
        answers = ask(client, *paths)["answers"]
        assert [len(answer["body"]) for answer in answers] == [n % 2 for n in range(questions)]
        return table.calls

    @pytest.mark.slow
    def test_the_calls_of_100_questions_are_bounded(self) -> None:
        first, many = self.calls(10), self.calls(100)
        # Contents are loaded in growing batches; everything else takes the same calls.
        assert many.total() <= first.total() + 3
        # Which runs are not shown any more, for all questions.
        assert many["get"] == first["get"] == 1
        assert many["scan_many"] == first["scan_many"]

    @pytest.mark.parametrize(
        ("route", "query", "marginal"),
        [
            # A question of its own reads at most so often: its contents, and what differs by question.
            (("fields", "x", "lineage"), {}, 2),
            (("fields", "x", "reach"), {"counts": "false", "level": 1}, 2),
            # Also the days on which the contents ran that one window has alone.
            (("fields", "x", "diff"), {"baseStart": 0, "baseEnd": 0}, 7),
            (("diff",), {"baseStart": 0, "baseEnd": 0}, 7),
            (("fields", "x", "tags"), {"inherited": "true", "level": 1}, 5),
        ],
        ids=["field", "reach", "diff", "diff of a dataset", "tags"],
    )
    def test_first_reads_are_shared(
        self, route: tuple[str, ...], query: dict[str, Any], marginal: int
    ) -> None:
        table = CountingTable(open_table("sqlite:///:memory:"))
        store = LineageStore(table)  # type: ignore[arg-type]
        record_new(
            create_app(store).test_client(),
            *(copying("o", f"d{n}", "x", run=run(f"r{n}")) for n in range(40)),
        )
        calls = []
        for count in (20, 40):
            client = create_app(LineageStore(table)).test_client()  # type: ignore[arg-type]
            table.calls.clear()
            paths = [path("ns1", "endpoints", f"d{n}", *route, **{**ALL, **query}) for n in range(count)]
            assert {answer["status"] for answer in ask(client, *paths)["answers"]} == {200}
            calls.append(table.calls.copy())
        # Windows are scanned together, whatever the number of questions; then a diff scans the days of what
        # one window has alone.
        scans = 2 if "diff" in route else 0
        assert calls[1]["scan_many"] == calls[0]["scan_many"] + scans * 20
        assert calls[1].total() - calls[0].total() <= marginal * 20 + 4

    def test_equal_questions_are_asked_once(self) -> None:
        table = CountingTable(open_table("sqlite:///:memory:"))
        client = create_app(LineageStore(table)).test_client()  # type: ignore[arg-type]
        record_new(client, copying("a", "b", "x"))
        question = path("ns1", "endpoints", "b", "runs", **ALL)
        # The first one puts the content into the cache.
        ask(client, question)
        table.calls.clear()
        ask(client, question)
        once = table.calls.copy()
        table.calls.clear()
        answers = ask(client, *[question] * 100)["answers"]
        assert table.calls == once
        assert answers == [alone(client, question)] * 100

    @pytest.mark.slow
    def test_what_the_time_does_not_reach_is_503(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            table = open_table(f"hbase://127.0.0.1:{silent.getsockname()[1]}/t")
            client = create_app(LineageStore(table), Settings(request_seconds=1)).test_client()
            body = ask(client, *(lineage_path(f"d{number}") for number in range(100)))
            table.close()
        for answer in body["answers"]:
            assert_problem_body(answer["body"], 503)
            assert int(answer["headers"]["Retry-After"]) > 0
        assert (body["truncated"], body["truncatedBy"]) == (True, ["request_seconds=1"])

    def test_a_client_that_has_left_gets_no_answers(self, client: FlaskClient) -> None:
        questions = {"questions": [{"path": "/v3/namespaces"}]}
        response = client.post(URL, json=questions, environ_base={CLIENT_LEFT: lambda: True})
        assert [answer["status"] for answer in response.json["answers"]] == [503]

    def test_a_batch_of_large_answers_is_cut(
        self, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record_new(client, copying("a", "b", "x"))
        monkeypatch.setattr(question_routes, "ANSWER_BYTES_MAX", 10)
        # Equal ones count, too: each of them is sent.
        for questions in (("a", "b"), ("a", "a")):
            body = ask(client, *map(lineage_path, questions))
            assert [answer["status"] for answer in body["answers"]] == [200, 413]
        assert_problem_body(body["answers"][1]["body"], 413)
        assert body["truncatedBy"] == ["answer_bytes_max=10"]

    def test_a_truncated_answer_says_so(self) -> None:
        store = LineageStore(open_table("sqlite:///:memory:"), Settings(pairs_max=1))
        client = create_app(store).test_client()
        record_new(client, copying("a", "b", "x", "y"))
        (answer,) = ask(client, lineage_path("b"))["answers"]
        assert (answer["headers"]["Truncated"], answer["headers"]["Truncated-By"]) == ("true", "pairs_max=1")
