"""The cost of a small body is bounded: errors, blank lines, the size of the answer, the ratio of gzip."""

from __future__ import annotations

import gzip
from io import BytesIO
from typing import Any

import pytest
from flask.testing import FlaskClient

from fll_hbase.ingest.document_batches import ErrorBudget
from fll_hbase.ingest.ndjson import BLANK_LINES_MAX, open_stream, read_lines
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import LineageError, NotFound, StoreUnavailable
from tests.api.conftest import BATCH_BYTES_MAX, MakeClient
from tests.support.api_client import assert_problem, assert_problem_body, batch, lines, path, record, send
from tests.support.lineage_documents import Json, copying, encoded, run
from tests.support.raw_http import Server, answer, head
from tests.support.work import count_calls

pytestmark = pytest.mark.slow

ROUTE = "lineage/batch"
ERRORS_MAX = DEFAULTS.batch_errors_max


def numbered(number: int) -> Json:
    """A small document with a run of its own."""
    return copying("a", "b", "x", run=run(f"r{number}"))


def stop(answers: list[Any]) -> str:
    """Return the detail of the last answer, which must say that the batch was stopped."""
    assert_problem_body(answers[-1], 413)
    assert answers[-1]["type"].endswith(":batch-stopped")
    return str(answers[-1]["detail"])


class TestErrors:
    def test_half_a_million_bad_lines_in_a_kilobyte_stop_at_the_bound(self, client: FlaskClient) -> None:
        body = gzip.compress(b"x\n" * 2**19)
        assert len(body) < 1_100
        answers = batch(client, body, Content_Encoding="gzip")
        assert len(answers) == ERRORS_MAX + 1
        assert f"line {ERRORS_MAX + 1} and all after it were not read" in stop(answers)

    @pytest.mark.slow
    def test_the_work_does_not_follow_the_number_of_bad_lines(self, make_client: MakeClient) -> None:
        client = make_client(batch_errors_max=1_000)
        batch(client, b"x\n" * 1_000)
        calls = [
            count_calls(lambda number=number: batch(client, b"x\n" * number))  # type: ignore[misc]
            for number in (10_000, 500_000)
        ]
        # The rest of the body is read and discarded, in large parts.
        assert calls[1] < calls[0] * 1.01

    def test_lines_before_the_bound_are_recorded(self, make_client: MakeClient) -> None:
        client = make_client(batch_errors_max=3)
        body = encoded(numbered(1)) + b"x\nx\n" + encoded(numbered(2)) + b"x\n" + encoded(numbered(3))
        answers = batch(client, body)
        assert [payload["status"] for payload in answers] == [201, 400, 400, 201, 400, 413]
        assert "line 6 and all after" in stop(answers)
        assert record(client, numbered(2)).json["recorded"] is False
        assert record(client, numbered(3)).json["recorded"] is True

    def test_the_bound_at_the_end_of_the_body_stops_nothing(self, make_client: MakeClient) -> None:
        answers = batch(make_client(batch_errors_max=3), b"x\n" * 3)
        assert [payload["status"] for payload in answers] == [400] * 3

    def test_each_error_of_a_line_counts(self, make_client: MakeClient) -> None:
        bad = encoded({**numbered(1), "operations": [1] * 500})
        answers = batch(make_client(batch_errors_max=1_200), bad * 10)
        assert [len(payload.get("errors", ())) for payload in answers] == [500, 500, 500, 0]
        assert "line 4 and all after" in stop(answers)

    def test_errors_of_the_store_count_too(self) -> None:
        budget = ErrorBudget(3)
        documents: list[str | LineageError] = ["a", NotFound("b"), "c", "d"]
        results = [StoreUnavailable("away"), documents[1], "stored", StoreUnavailable("away")]
        assert list(budget.take(documents)) == documents
        budget.count_new(documents, results)
        assert list(budget.take(["e"])) == []

    @pytest.mark.slow
    def test_good_lines_have_no_bound(self, make_client: MakeClient) -> None:
        answers = batch(make_client(batch_errors_max=1), encoded(*map(numbered, range(5_000))))
        assert {payload["status"] for payload in answers} == {201}
        assert len(answers) == 5_000


class TestEvents:
    PATH = "/api/v1/lineage/batch"

    def post(self, client: FlaskClient, events: list[Any], **query: str) -> Any:
        answered = client.post(self.PATH, json=events, query_string=query)
        assert answered.status_code == 200
        return answered.json

    @pytest.mark.slow
    @pytest.mark.parametrize("query", [{}, {"dryRun": "true"}])
    def test_the_rest_after_too_many_errors_is_one_failure(
        self, client: FlaskClient, query: dict[str, str]
    ) -> None:
        summary = self.post(client, [1] * 50_000, **query)
        assert len(summary["failed_events"]) == ERRORS_MAX + 1
        assert summary["failed_events"][-1]["index"] == ERRORS_MAX
        assert "event 10000 and all after it were not read" in summary["failed_events"][-1]["reason"]
        assert summary["summary"]["failed"] == summary["refused"] == 50_000
        assert summary["status"] == "failure"

    def test_a_few_errors_stop_nothing(self, client: FlaskClient) -> None:
        assert self.post(client, [1, 2, 3])["summary"]["failed"] == 3


class TestBlankLines:
    @pytest.mark.parametrize("blank", [b"\n", b" \r\n"])
    def test_a_million_in_a_kilobyte_are_one_error(self, client: FlaskClient, blank: bytes) -> None:
        body = gzip.compress(encoded(numbered(1)) + blank * 2**18)
        answers = batch(client, body, Content_Encoding="gzip")
        assert [payload["status"] for payload in answers] == [201, 400]
        assert f"more than {BLANK_LINES_MAX} blank lines" in answers[-1]["detail"]

    @pytest.mark.slow
    def test_one_between_every_two_documents_is_no_error(self, client: FlaskClient) -> None:
        count = BLANK_LINES_MAX // 2
        body = encoded(*map(numbered, range(count)), ending=b"\n\n") + b"\n" * BLANK_LINES_MAX
        assert {payload["status"] for payload in batch(client, body)} == {201}


class TestRatio:
    def test_a_batch_of_little_but_repetition_is_stopped(self, client: FlaskClient) -> None:
        body = gzip.compress(encoded(numbered(1)) + b" " * 2**25)
        answers = batch(client, body, Content_Encoding="gzip")
        assert [payload["status"] for payload in answers] == [201, 413]
        assert "more than 300 times its size (FLL_GZIP_RATIO_MAX)" in answers[-1]["detail"]

    def test_a_document_of_little_but_repetition_is_413(self, client: FlaskClient) -> None:
        body = gzip.compress(encoded(numbered(1)) + b" " * 2**22)
        problem = assert_problem(send(client, body, Content_Encoding="gzip"), 413)
        assert "300 times" in problem["detail"]

    def test_the_first_mebibyte_is_free(self, client: FlaskClient) -> None:
        body = gzip.compress(encoded(numbered(1)) + b" " * 2**19)
        assert send(client, body, Content_Encoding="gzip").status_code == 201

    @pytest.mark.parametrize("fields", [1, 10, 100, 1_000])
    def test_repeated_documents_stay_below(self, fields: int) -> None:
        document = encoded(copying("a", "b", *(f"f{number}" for number in range(fields))))
        body = gzip.compress(document * (2**24 // len(document)), compresslevel=9)
        stream = open_stream(BytesIO(body).read, gzipped=True, ratio_max=DEFAULTS.gzip_ratio_max)
        assert {line.raw for line in read_lines(stream, line_bytes_max=2**24)} == {document}

    def test_the_setting(self, make_client: MakeClient) -> None:
        body = gzip.compress(encoded(numbered(1)) + b" " * 2**22)
        assert send(make_client(gzip_ratio_max=2_000), body, Content_Encoding="gzip").status_code == 201


def test_the_answer_is_no_larger_than_a_batch_may_be(make_client: MakeClient) -> None:
    body = encoded(*map(numbered, range(100)))
    client = make_client(batch_bytes_max=len(body))
    answered = client.post(
        path("ns1", *ROUTE.split("/"), dryRun="true"), data=body, content_type="application/x-ndjson"
    )
    answers = lines(answered.data)
    assert 1 < len(answers) < 100
    assert f"line {len(answers)} and all after it have no answer" in stop(answers)


@pytest.mark.slow
def test_a_client_that_sends_all_before_it_reads_sees_where_it_stopped(server: Server) -> None:
    # The rest fills the buffers of both sockets: the client is still sending when the answer is ready.
    body = b"x\n" * (ERRORS_MAX + 1) + (b"x" * 500 + b"\n") * 8_000
    assert len(body) < BATCH_BYTES_MAX
    target = path("stopped", *ROUTE.split("/"))
    with server.connected() as connection:
        connection.sendall(head("POST", target, Content_Length=str(len(body))))
        connection.sendall(body)
        answers = lines(answer(connection, "POST").body)
    assert "were not read" in stop(answers)
