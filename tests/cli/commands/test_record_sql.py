"""A file of SQL is one run, to a store and to a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fll_hbase.ingest.document_batches import batch_documents
from fll_hbase.ingest.ndjson import InputLine
from tests.support.commands import END_MS, complaint, complaints, fll, printed
from tests.support.small_documents import START_MS, document

COUNTS = "{} recorded, {} replaced, {} repeated, {} refused\n"
SCRIPT = b"CREATE TABLE totals AS SELECT net + tax AS total FROM orders WHERE day = '2026-11-21'"
NAMES = ("--namespace", "shop", "--application", "a", "--program", "p")


def script(raw: bytes, *options: str) -> Result:
    return fll("record", "--sql", "-", *NAMES, *options, stdin=raw)


def runs(end_point: str, *target: str) -> list[dict[str, Any]]:
    output = printed("runs", "shop", end_point, "--start", "0", "--end", "now+9999d", *target, "--json")
    return list(json.loads(output)["runs"])


def sql_document(name: str, sql: str, **also: Any) -> dict[str, Any]:
    """A document with SQL."""
    return {"namespace": "shop", "run": document(name)["run"], "sql": sql, **also}


def ndjson(*documents: Any) -> bytes:
    return b"".join(json.dumps(payload).encode() + b"\n" for payload in documents)


@pytest.mark.slow
def test_a_script_is_one_run(target: tuple[str, str], name: str) -> None:
    options = ("--run", name, "--start", "1759999000")
    assert script(SCRIPT, *options, *target).stdout == COUNTS.format(1, 0, 0, 0)
    assert script(SCRIPT, *options, *target).stdout == COUNTS.format(0, 0, 1, 0)
    (run,) = [run for run in runs("totals", *target) if run["run"] == name]
    assert (run["application"], run["type"], run["program"]) == ("a", "sql", "p")
    assert run["startTime"] == START_MS
    field = printed("field", "shop", "totals", "total", "--start", "0", *target)
    assert "net + tax" in field


def test_a_run_has_an_id_and_a_start_of_its_own(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    file = tmp_path / "nightly.sql"
    file.write_bytes(SCRIPT)
    for _ in range(2):
        assert fll("record", "--sql", str(file), *NAMES, *store).exit_code == 0
    first, second = runs("totals", *store)
    assert first["run"] != second["run"]
    assert first["startTime"] == second["startTime"] == END_MS


def test_the_date_of_a_daily_job_changes_nothing(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    for day in (b"2026-11-21", b"2026-11-22"):
        script(SCRIPT.replace(b"2026-11-21", day), *store)
    first, second = runs("totals", *store)
    assert first["checksum"] == second["checksum"]


def test_a_dialect(target: tuple[str, str], name: str) -> None:
    sql = b"SELECT TOP 1 [a b] AS x INTO made FROM [s t]"
    assert "refused" in script(sql, "--run", name, *target).stderr
    assert script(sql, "--run", name, "--dialect", "tsql", *target).stdout == COUNTS.format(1, 0, 0, 0)


def test_what_cannot_be_resolved_is_reported(target: tuple[str, str], name: str) -> None:
    result = script(b"INSERT INTO t SELECT a FROM s", "--run", name, *target)
    assert (result.exit_code, result.stdout) == (0, COUNTS.format(1, 0, 0, 0))
    assert "line 1: warning: sql: the columns of 't', which is written by position" in result.stderr


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"SELECT a FROM s", "no statement writes"),
        (b"INSERT INTO", "line 1 column"),
        (b"", "sql: must not be empty"),
        (b"SELECT '\xff'", "not UTF-8"),
    ],
)
def test_a_script_that_is_refused(target: tuple[str, str], raw: bytes, fault: str) -> None:
    result = script(raw, *target)
    assert (result.exit_code, result.stdout) == (1, COUNTS.format(0, 0, 0, 1))
    assert fault in result.stderr


def test_a_script_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_DOCUMENT_BYTES_MAX", "20")
    assert "longer than 20 bytes" in script(SCRIPT, "--store", "sqlite:///:memory:").stderr


def test_options_that_do_not_go_together() -> None:
    assert "needs --application, --program too" in complaint(
        "record", "--sql", "/dev/null", "--namespace", "shop", code=2
    )
    assert "--run, --dialect: only with --sql" in complaint(
        "record", "/dev/null", "--run", "r", "--dialect", "hive", code=2
    )
    assert "is not a time" in complaint("record", "--sql", "/dev/null", *NAMES, "--start", "noon", code=2)


def test_documents_with_sql_are_distinguished(target: tuple[str, str], name: str) -> None:
    several = ndjson(
        document(f"{name} 1"),
        sql_document(f"{name} 2", "CREATE TABLE copied AS SELECT * FROM invoices"),
        sql_document(f"{name} 3", "SELECT 1"),
        document(f"{name} 4"),
    )
    result = fll("record", "-", *target, stdin=several)
    assert result.stdout == COUNTS.format(3, 0, 0, 1)
    (refusal,) = complaints(result)
    assert refusal.startswith("line 3: refused: sql: no statement writes a field of a table")
    assert "total" in printed("field", "shop", "copied", "total", "--start", "0", *target)


def test_a_document_with_sql_over_many_lines_and_one_without_a_namespace(
    target: tuple[str, str], name: str
) -> None:
    payload = sql_document(name, SCRIPT.decode())
    pretty = json.dumps(payload, indent=1).encode()
    assert fll("record", "-", *target, stdin=pretty).stdout == COUNTS.format(1, 0, 0, 0)
    del payload["namespace"]
    assert "namespace: missing" in fll("record", "-", *target, stdin=ndjson(payload)).stderr


def test_a_document_with_sql_is_a_batch_by_itself() -> None:
    """It is read by what was recorded before it."""
    payloads = (document("1"), document("2"), sql_document("3", "x"), document("4"))
    lines = [InputLine(number, ndjson(payload)) for number, payload in enumerate(payloads, 1)]
    batches = batch_documents(lines, namespace="", documents_max=9)
    assert [[item.line.number for item in batch] for batch in batches] == [[1, 2], [3], [4]]


def test_names_are_those_of_the_dataset_namespace_without_the_option_for_sql(tmp_path: Path) -> None:
    file = tmp_path / "nightly.sql"
    file.write_bytes(SCRIPT)
    options = ("--dataset-namespace", "postgres://db:5432", "--store", f"sqlite:///{tmp_path}/store.db")
    outputs = [
        fll("record", *kind, str(file), *NAMES, *options, "--dry-run").stdout for kind in ([], ["--sql"])
    ]
    assert "postgres://db:5432/totals" in outputs[0]
    assert outputs[0] == outputs[1]


def test_names_of_other_sources(target: tuple[str, str], name: str) -> None:
    naming = ("--catalog", "shop", "--schema", "public", "--dataset-namespace", "postgres://db:5432")
    sql = b"INSERT INTO totals (amount) SELECT net FROM orders"
    assert script(sql, "--dialect", "postgres", *naming, "--run", name, *target).exit_code == 0
    output = printed(
        "runs",
        "postgres://db:5432",
        "shop.public.totals",
        "--start",
        "0",
        "--end",
        "now+9999d",
        *target,
        "--json",
    )
    assert [run["run"] for run in json.loads(output)["runs"]] == [name]
    assert "--dataset-namespace needs --dbt, SQL or one of --databricks" in complaint(
        "record", "/dev/null", "--dataset-namespace", "x", code=2
    )
