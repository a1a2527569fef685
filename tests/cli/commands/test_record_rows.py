"""`fll record` of query history: options, counts, lines of refused rows, and names in answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.ingest.registry import ROW_FORMATS
from tests.support.commands import fll
from tests.support.format_documents import DOCUMENTS


def write(path: Path, *rows: Any) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("source", [document_format.name for document_format in ROW_FORMATS])
def test_rows_are_recorded_and_then_repeated(source: str, target: tuple[str, str], tmp_path: Path) -> None:
    file = write(tmp_path / "rows", *DOCUMENTS[source][source])
    options = (f"--{source}", file, "--namespace", f"history of {source}", *target)
    preview = fll("record", *options, "--dry-run")
    assert (preview.exit_code, "1 would be recorded, 0 refused" in preview.stdout) == (0, True)
    counts = [fll("record", *options).stdout for _ in range(2)]
    assert counts == [
        "1 recorded, 0 replaced, 0 repeated, 0 refused\n",
        "0 recorded, 0 replaced, 1 repeated, 0 refused\n",
    ]


def test_a_refused_row_is_named_and_the_others_are_recorded(target: tuple[str, str], tmp_path: Path) -> None:
    first = DOCUMENTS["databricks"]["databricks"][0]
    rows = [{**first, "statement_id": f"{tmp_path.name} {number}"} for number in range(3)]
    rows[1] = {**rows[1], "event_time": "noon", "source_table_full_name": None}
    file = write(tmp_path / "rows", *rows)
    result = fll("record", "--databricks", file, "--namespace", "shop", *target)
    assert (result.exit_code, result.stdout) == (1, "2 recorded, 0 replaced, 0 repeated, 1 refused\n")
    refused = result.stderr
    assert "line 2: refused" in refused
    assert "databricks.0.event_time: 'noon' is not a time" in refused
    assert "databricks.0.source_column_name: belongs to no source" in refused


def test_rows_are_not_taken_for_data_of_a_run(target: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("statement_id\n1\n")
    result = fll("record", "--databricks", str(path), "--namespace", "shop", *target)
    assert result.exit_code == 1
    assert "is data" not in result.stderr
    assert "is data" in fll("record", str(path), "--namespace", "shop", *target).stderr


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--databricks", "FILE"], "--databricks needs --namespace too."),
        (["--databricks", "FILE", "--sql"], "Give --databricks or --sql, not both."),
        (["--databricks", "--dbt", "."], "Give --databricks or --dbt, not both."),
        (["--databricks", "--trino", "FILE"], "Give --databricks or --trino, not both."),
        (["--databricks"], "Missing argument 'FILE'."),
        (["FILE", "--dataset-namespace", "x"], "--dataset-namespace needs --dbt, SQL or one of"),
    ],
)
def test_options_that_do_not_fit(options: list[str], error: str, tmp_path: Path) -> None:
    file = write(tmp_path / "rows", {})
    given = [file if option == "FILE" else option for option in options]
    if "--sql" in given:
        given += ["--namespace", "n", "--application", "a", "--program", "p"]
    result = fll("record", *given)
    assert result.exit_code == 2
    assert error in result.stderr
