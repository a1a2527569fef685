"""`fll questions` and the method of the client: batches of questions through a server."""

from __future__ import annotations

import json

import pytest

from fll_hbase import connect
from fll_hbase.runtime.errors import ConfigurationError
from tests.support.commands import complaint, fll, printed

PATHS = ["/v3/namespaces", "/v3/search?q=uid", "/v3/namespaces/bank/endpoints/DailyTransactions"]


def test_answers_are_those_of_the_requests(server: str) -> None:
    lines = "".join(f"{path}\n\n" for path in PATHS).encode()
    result = fll("questions", "-", "--server", server, stdin=lines)
    assert (result.exit_code, result.stderr) == (0, "")
    answers = json.loads(result.stdout)["answers"]
    assert [answer["status"] for answer in answers] == [200] * 3
    assert answers[0]["body"] == json.loads(printed("ls", "--server", server, "--json"))
    batch = json.dumps({"questions": [{"path": PATHS[0], "id": "first"}]}).encode()
    [answer] = json.loads(fll("questions", "-", "--server", server, stdin=batch).stdout)["answers"]
    assert (answer["id"], answer["body"]) == ("first", answers[0]["body"])


def test_a_question_without_an_answer_stops_no_other(server: str) -> None:
    result = fll("questions", "-", "--server", server, stdin=b"/v3/namespaces\n/v3/nothing\n")
    assert result.exit_code == 1
    assert [answer["status"] for answer in json.loads(result.stdout)["answers"]] == [200, 404]
    assert result.stderr == "fll: 1 of 2 questions failed; the status of each says why.\n"


@pytest.mark.parametrize("text", [b"", b"\n \n", b"{", b"{}", b'{"questions": 7}', b"\xff"])
def test_files_without_questions(server: str, text: bytes) -> None:
    result = fll("questions", "-", "--server", server, stdin=text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no questions" in result.stderr


@pytest.mark.slow
def test_from_python_more_than_a_request_has(server: str, sampled: str) -> None:
    with connect(server) as client:
        answers = client.batch(*(f"/v3/search?q={number}" for number in range(230))).body.answers
    assert [answer.status for answer in answers] == [200] * 230
    with connect(sampled) as client, pytest.raises(ConfigurationError, match="needs a server"):
        client.batch("/v3/namespaces")


def test_a_store_is_no_server(sampled: str, tmp_path: object) -> None:
    assert "needs a server" in complaint("questions", __file__, "--store", sampled, code=2)
