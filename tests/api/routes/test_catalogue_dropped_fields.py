"""The list of fields says when each one was written last, and marks those that the newest schema lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.cli import main
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Row, Table, open_table

FIRST_MS = 1_772_330_400_000
FIELDS = "/v3/namespaces/db/endpoints/t/fields"
EMPTY = "sqlite:///:memory:"


@pytest.fixture
def client() -> FlaskClient:
    return create_app(LineageStore(open_table(EMPTY))).test_client()


def event(day: int, schema: Sequence[str] | None, columns: Sequence[str] = (), **members: Any) -> Any:
    """An event of one run a day: fields of the schema of its output, and those with lineage."""
    inputs = {"inputFields": [{"namespace": "db", "name": "s", "field": "x"}]}
    facets: dict[str, Any] = {"columnLineage": {"fields": dict.fromkeys(columns, inputs)}} if columns else {}
    if schema is not None:
        facets["schema"] = {"fields": [{"name": name} for name in schema]}
    return {
        "eventTime": f"2026-{3 + day // 28:02}-{day % 28 + 1:02}T02:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": f"run {day}"},
        "job": {"namespace": "jobs", "name": "nightly"},
        "outputs": [{"namespace": "db", "name": members.pop("name", "t"), "facets": facets}],
        **members,
    }


def native(day: int, fields: Sequence[str], **run: str) -> Any:
    inputs = [{"origin": "r", "name": field} for field in fields]
    return {
        "run": {
            "application": "a",
            "type": "t",
            "program": "p",
            "run": f"native {day}",
            "startTime": FIRST_MS + day * DAY_MS,
            **run,
        },
        "operations": [
            {
                "type": "READ",
                "name": "r",
                "source": {"namespace": "db", "name": "s"},
                "outputs": list(fields),
            },
            {
                "type": "WRITE",
                "name": "w",
                "destination": {"namespace": "db", "name": "t"},
                "inputs": inputs,
            },
        ],
    }


def record(client: FlaskClient, *documents: Any) -> None:
    for document in documents:
        path = "/v3/namespaces/db/lineage" if "operations" in document else "/api/v1/lineage"
        assert client.post(path, json=document).status_code in (200, 201)


def fields(client: FlaskClient) -> dict[str, tuple[int | None, bool]]:
    """The day of the last write of each field that the newest run lacks, and whether it is marked."""
    listed = client.get(FIELDS).json["fields"]
    return {field["name"]: (_day(field.get("lastWritten")), field.get("dropped", False)) for field in listed}


def _day(start_ms: int | None) -> int | None:
    return None if start_ms is None else (start_ms - FIRST_MS) // DAY_MS


def test_a_dropped_column_is_marked_with_its_last_run(client: FlaskClient) -> None:
    record(client, event(0, "ab", "ab"), event(1, "ab", "ab"), event(2, "a", "a"), event(3, "a", "a"))
    assert fields(client) == {"a": (None, False), "b": (1, True)}


def test_the_order_of_arrival_is_of_no_importance(client: FlaskClient) -> None:
    events = [event(2, "a", "a"), event(0, "ab", "ab"), event(3, "a", "a"), event(1, "ab", "ab")]
    assert client.post("/api/v1/lineage/batch", json=events).json["summary"]["failed"] == 0
    assert fields(client) == {"a": (None, False), "b": (1, True)}


def test_a_renamed_column_leaves_the_old_one_marked(client: FlaskClient) -> None:
    record(client, event(0, ["a", "old"], ["a", "old"]), event(1, ["a", "new"], ["a", "new"]))
    assert fields(client) == {"a": (None, False), "new": (None, False), "old": (0, True)}


def test_a_column_that_comes_back_is_no_longer_marked(client: FlaskClient) -> None:
    record(client, event(0, "ab", "ab"), event(1, "a", "a"), event(2, "ab", "ab"))
    assert fields(client) == {"a": (None, False), "b": (None, False)}


def test_a_column_without_lineage_is_marked_without_a_time(client: FlaskClient) -> None:
    record(client, event(0, "ab"), event(1, "a"))
    assert fields(client) == {"a": (None, False), "b": (None, True)}


def test_a_run_that_writes_some_columns_drops_none(client: FlaskClient) -> None:
    """An UPDATE writes one column of many: only a schema says which columns there are."""
    record(client, native(0, "abc"), native(1, "a"))
    assert fields(client) == {"a": (None, False), "b": (0, False), "c": (0, False)}


def test_a_run_after_the_newest_schema_counts(client: FlaskClient) -> None:
    record(client, event(0, "ab", "ab"), event(1, "a", "a"), native(2, "b"))
    assert fields(client) == {"a": (1, False), "b": (None, False)}


def test_a_failed_run_changes_nothing(client: FlaskClient) -> None:
    record(client, event(0, "ab", "ab"), event(1, "a", "a", eventType="FAIL"))
    record(client, native(2, "b", state="FAIL"))
    assert fields(client) == {"a": (None, False), "b": (None, False)}


def test_a_dropped_table_has_no_columns(client: FlaskClient) -> None:
    dropped = event(1, None)
    dropped["outputs"][0]["facets"]["lifecycleStateChange"] = {"lifecycleStateChange": "DROP"}
    record(client, event(0, "ab", "ab"), dropped)
    assert fields(client) == {"a": (0, True), "b": (0, True)}


def test_parts_of_a_column_are_there_with_it(client: FlaskClient) -> None:
    """A schema may list a struct without its parts."""
    record(client, event(0, None, ["s/x", "s/y", "u/x"]), event(1, ["s", "u", "u/z"], ["u/z"]))
    assert {name for name, (_, is_dropped) in fields(client).items() if is_dropped} == {"u/x"}


def test_an_alias_counts_as_the_dataset(client: FlaskClient) -> None:
    later = event(1, "a", "a", name="alias")
    symlinks = {"identifiers": [{"namespace": "db", "name": "t", "type": "TABLE"}]}
    later["outputs"][0]["facets"]["symlinks"] = symlinks
    record(client, event(0, "ab", "ab"), later)
    assert fields(client) == {"a": (None, False), "b": (0, True)}


def test_a_dataset_that_is_only_read_has_no_marks(client: FlaskClient) -> None:
    record(client, event(0, "ab", "ab"))
    listed = client.get("/v3/namespaces/db/endpoints/s/fields").json["fields"]
    assert listed == [{"name": "x", "read": True, "written": False}]


def test_the_command_shows_both(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    record(create_app(LineageStore(open_table(url))).test_client(), event(0, "ab", "ab"), event(1, "a", "a"))
    arguments = ["ls", "db/t", "--store", url]
    result = CliRunner().invoke(main, [*arguments, "--format", "table"])
    assert result.exit_code == 0, result.output
    line = next(line for line in result.output.splitlines() if line.startswith("b"))
    assert "2026-03-01 02:00" in line
    assert "yes" in line
    csv = CliRunner().invoke(main, [*arguments, "--format", "csv"]).output.splitlines()
    assert csv[0].split(",")[-2:] == ["lastWritten", "dropped"]


class CountedTable:
    """Passes calls on, and counts the rows that are read."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def rows(self, *arguments: Any, **options: Any) -> dict[bytes, Row]:
        rows = self._table.rows(*arguments, **options)
        self.read += len(rows)
        return rows

    def scan(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, Row]]:
        for item in self._table.scan(*arguments, **options):
            self.read += 1
            yield item

    def scan_many(self, *arguments: Any, **options: Any) -> list[list[tuple[bytes, Row]]]:
        pages = [list(page) for page in self._table.scan_many(*arguments, **options)]
        self.read += sum(map(len, pages))
        return pages


@pytest.mark.parametrize("has_dropped", [False, True])
def test_the_cost_does_not_follow_the_runs(has_dropped: bool) -> None:
    counts = []
    for runs in (40, 400):
        table = CountedTable(open_table(EMPTY))
        client = create_app(LineageStore(table)).test_client()
        wide = native(-runs, "ab" if has_dropped else "a")
        lines = [wide, *(native(-number, "a") for number in range(runs))]
        # All within one day: the days are what an index has rows for.
        for number, line in enumerate(lines):
            line["run"]["startTime"] = FIRST_MS + number * 1_000
            line["run"]["run"] = str(number)
        client.post(
            "/v3/namespaces/db/lineage/batch",
            data="\n".join(json.dumps(line) for line in lines),
            content_type="application/x-ndjson",
        )
        table.read = 0
        listed = LineageStore(table).field_writes.fields(Dataset("db", "t"))
        assert {item.field.name: item.last_written_ms for item in listed} == {
            "a": None,
            **({"b": FIRST_MS} if has_dropped else {}),
        }
        counts.append(table.read)
    assert counts[1] <= counts[0] + 20
