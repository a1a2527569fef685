"""`fll export` and back again, from a store and from a server."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from fll_hbase.keys import layout
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from tests.support.commands import END_MS, WINDOW, complaint, fll, printed
from tests.support.copy_runs import SOURCE, copying

END_POINT = ("hospital", "PatientRecords")


@pytest.fixture(params=["store", "server"])
def target(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Where to export from, as options."""
    name = {"store": "sampled", "server": "server"}[request.param]
    return f"--{request.param}", request.getfixturevalue(name)


def test_exported_events_recorded_again_give_the_same_answer(target: tuple[str, str], tmp_path: Path) -> None:
    lines = printed("export", *END_POINT, *WINDOW, *target)
    events = [json.loads(line) for line in lines.splitlines()]
    listed = json.loads(printed("runs", *END_POINT, *WINDOW, *target, "--limit", "10000", "--json"))["runs"]
    assert [event["run"]["facets"]["fll_run"]["run"]["run"] for event in events] == [r["run"] for r in listed]
    store = ("--store", f"sqlite:///{tmp_path}/other.db")
    result = fll("record", "-", *store, stdin=lines.encode())
    assert result.stdout == f"{len(events)} recorded, 0 replaced, 0 repeated, 0 refused\n"
    again = fll("record", "-", *store, stdin=lines.encode())
    assert again.stdout == f"0 recorded, 0 replaced, {len(events)} repeated, 0 refused\n"
    query = ("lineage", *END_POINT, *WINDOW, "--json")
    assert printed(*query, *store) == printed(*query, *target)


def test_events_are_recorded_through_a_server_too(server: str, sampled: str) -> None:
    events = printed("export", *END_POINT, *WINDOW, "--store", sampled).splitlines()[:3]
    broken = json.dumps({**json.loads(events[0]), "eventTime": "yesterday"})
    result = fll("record", "-", "--server", server, stdin="\n".join([*events, broken]).encode())
    assert result.exit_code == 1
    assert "0 replaced" in result.stdout
    assert result.stdout.endswith("1 refused\n")
    assert "line 4: refused: eventTime: 'yesterday' is not a time" in result.stderr


def test_a_dataset_event_has_fields_alone(tmp_path: Path) -> None:
    event = {
        "eventTime": "2026-01-01T00:00:00Z",
        "dataset": {
            "namespace": "ns",
            "name": "people",
            "facets": {"schema": {"fields": [{"name": "age", "type": "int"}]}},
        },
    }
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    result = fll("record", "-", *store, stdin=json.dumps(event).encode())
    assert result.stdout == "1 recorded, 0 replaced, 0 repeated, 0 refused\n"
    assert "age" in printed("find", "age", *store)


def test_an_end_point_never_seen_is_reported(target: tuple[str, str]) -> None:
    assert "no recorded run read or wrote" in complaint("export", "hospital", "nowhere", *target, code=1)


def test_an_export_without_damaged_runs_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with closing(open_table(url)) as table:
        store = LineageStore(table)
        for name in "ab":
            store.record_one(copying(name))
        key = layout.run_row("b", "ns")
        table.write([[Put(key, column, b"x") for column in table.get(key)]])
    result = fll("export", SOURCE.namespace, SOURCE.name, "--start", "0", "--store", url)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    assert "fll: not complete: damaged rows are left out" in result.stderr


def test_an_empty_window_is_no_line(target: tuple[str, str]) -> None:
    start = str(END_MS // 1000 - 1)
    assert printed("export", *END_POINT, "--start", start, "--end", start, *target) == ""
