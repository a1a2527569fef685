"""Questions in words are answered by at most two calls, from the sample."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest
from mcp import Client

from fll_hbase.client.opening import open_client
from fll_hbase.mcp.tool_server import INSTRUCTIONS, ToolSource, create_server
from fll_hbase.queries.query import Query
from tests.support.assistants import body_of, text_of
from tests.support.sampled_store import load_sampled

Call = Callable[..., Awaitable[Any]]

SEPTEMBER = {"start": "2025-09-01", "end": "2025-10-01"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolSource]:
    """The tools of a store with the sample, which ends on 2025-10-09."""
    with open_client(load_sampled(tmp_path_factory.mktemp("sample"))) as client:
        client.put_tag("bank", "DailyTransactions", "UID", "PII")
        yield ToolSource(client.read_answer, None, str, 20_000)


async def _who_read_uid_in_september(call: Call) -> None:
    hits = await call("search", text="uid", kind="field")
    hit = next(item for item in hits["results"] if item["name"] == "DailyTransactions")
    answer = await call("programs", **hit, direction="forward", **SEPTEMBER)
    assert {"features", "build_accounts"} <= {item["program"] for item in answer["programs"]}


async def _where_does_risk_band_come_from(call: Call) -> None:
    answer = await call("provenance", namespace="bank", name="RiskScores", field="risk_band", **SEPTEMBER)
    assert {item["namespace"] for item in answer["sources"]} == {"bank"}


async def _which_fields_derive_from_uid(call: Call) -> None:
    names = {"namespace": "bank", "name": "DailyTransactions", "field": "UID"}
    answer = await call("reach", **names, direction="forward", **SEPTEMBER)
    assert any(item["name"] == "CustomerAccounts" for item in answer["nodes"])


async def _how_was_the_score_computed(call: Call) -> None:
    names = {"namespace": "hospital", "name": "PatientRecords", "field": "patient_medical_score"}
    answer = await call("derivations", **names, **SEPTEMBER)
    assert answer["paths"][0]["operations"]


async def _when_did_the_score_change(call: Call) -> None:
    names = {"namespace": "hospital", "name": "PatientRecords", "field": "patient_medical_score"}
    answer = await call("history", **names, start="2025-07-01", end="2025-10-10")
    assert len(answer["stretches"]) == 2
    assert answer["stretches"][0]["firstStart"].startswith("2025-08-")


async def _what_changed_in_the_records_since_august(call: Call) -> None:
    windows = {"base_start": "2025-07-11", "base_end": "2025-08-01"}
    answer = await call("dataset_diff", namespace="hospital", name="PatientRecords", **SEPTEMBER, **windows)
    assert any(item["field"] == "patient_medical_score" for item in answer["fields"])


async def _which_runs_failed_on_the_last_days(call: Call) -> None:
    answer = await call("all_runs", state="FAIL", start="2025-09-01", end="2025-10-10")
    assert all(item["state"] == "FAIL" for item in answer["runs"])
    assert answer["runs"]


async def _which_datasets_does_the_bank_have(call: Call) -> None:
    answer = await call("datasets", namespace="bank")
    assert "RiskScores" in str(answer)


async def _what_did_the_newest_run_do(call: Call) -> None:
    listed = await call("runs", namespace="bank", name="RiskScores", limit=1, **SEPTEMBER)
    answer = await call("content", checksum=listed["runs"][0]["checksum"])
    assert any(item["type"] == "WRITE" for item in answer["operations"])


async def _which_fields_are_personal(call: Call) -> None:
    tags = await call("tags")
    assert "PII" in str(tags)
    answer = await call("tagged_fields", tag="PII")
    assert "UID" in str(answer)


QUESTIONS = [
    _who_read_uid_in_september,
    _where_does_risk_band_come_from,
    _which_fields_derive_from_uid,
    _how_was_the_score_computed,
    _when_did_the_score_change,
    _what_changed_in_the_records_since_august,
    _which_runs_failed_on_the_last_days,
    _which_datasets_does_the_bank_have,
    _what_did_the_newest_run_do,
    _which_fields_are_personal,
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda item: item.__name__.strip("_"))
def test_at_most_two_calls_answer_a_question(
    source: ToolSource, question: Callable[[Call], Awaitable[None]]
) -> None:
    async def run() -> int:
        calls: list[str] = []
        async with Client(create_server(source)) as client:

            async def call(name: str, /, **arguments: Any) -> Any:
                calls.append(name)
                result = await client.call_tool(name, arguments)
                assert len(text_of(result).encode()) <= source.bytes_max
                body = body_of(result)
                if "start" in arguments:
                    assert body["window"]["start"] == f"{arguments['start']}T00:00:00.000Z"
                return body["answer"]

            await question(call)
        return len(calls)

    assert anyio.run(run) <= 2


def test_instructions_are_short_and_name_tools_that_exist(source: ToolSource) -> None:
    async def run() -> set[str]:
        async with Client(create_server(source)) as client:
            assert client.instructions == INSTRUCTIONS
            return {item.name for item in (await client.list_tools()).tools}

    tools = anyio.run(run)
    arguments = {"namespace", "name", "field", "start", "end", "complete", "next", "limit"}
    words = {word for word in INSTRUCTIONS.split("`")[1::2] if word.replace("_", "").isalpha()}
    assert words - arguments - {"leftOut", "retainedFrom"} <= tools
    assert len(INSTRUCTIONS) < 2_500


def test_unforeseen_errors_are_answers() -> None:
    def fail(_: Query[Any]) -> Any:
        raise ZeroDivisionError

    source = ToolSource(fail, None, lambda error: f"internal: {type(error).__name__}", 4_000, 5.0)

    async def run() -> Any:
        async with Client(create_server(source)) as client:
            return await client.call_tool("namespaces", {})

    result = anyio.run(run)
    assert result.is_error
    assert text_of(result) == "internal: ZeroDivisionError"
