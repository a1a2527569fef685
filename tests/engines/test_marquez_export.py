"""The documented command exports Marquez's table as rows that `fll record --marquez` reads."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from fll_hbase.sources.lineage_exports.marquez import read_event
from tests.support import marquez_rows
from tests.support.repository import ROOT

TABLE = """
CREATE TABLE lineage_events (
    event_time timestamptz NOT NULL, event jsonb NOT NULL, event_type text, job_name text, job_namespace text,
    producer text, run_uuid uuid, created_at timestamp, _event_type varchar(64)
)
"""
"""The columns that Marquez's migrations give the table."""


@pytest.mark.slow
def test_the_documented_command(postgres: psycopg.Connection, tmp_path: Path) -> None:
    page = (ROOT / "docs/record/moving-in.md").read_text(encoding="utf-8")
    match = re.search(r"^(psql .*?) > events\.ndjson$", page, re.MULTILINE | re.DOTALL)
    assert match
    events = list(marquez_rows.events(2_500))
    postgres.execute("DROP TABLE IF EXISTS lineage_events")
    postgres.execute(TABLE)
    with postgres.cursor().copy("COPY lineage_events FROM STDIN") as copy:
        for event in events:
            row = marquez_rows.row(event) | {"event": json.dumps(event)}
            copy.write_row(tuple(row.values()))
    info = postgres.info
    names = {"PGHOST": info.host, "PGUSER": info.user, "PGDATABASE": info.dbname}
    command = match[1].replace(" marquez", "")
    done = subprocess.run(
        command, shell=True, env=os.environ | names, capture_output=True, check=True, cwd=tmp_path
    )
    postgres.execute("DROP TABLE lineage_events")
    exported = [json.loads(read_event(line)) for line in done.stdout.splitlines()]
    assert [event["eventTime"] for event in exported] == sorted(event["eventTime"] for event in events)
    assert sorted(map(str, map(_sorted, exported))) == sorted(map(str, map(_sorted, events)))


def _sorted(event: dict[str, object]) -> str:
    """An event as text, whatever the order of its members: jsonb does not keep it."""
    return json.dumps(event, sort_keys=True)
