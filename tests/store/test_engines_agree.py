"""Do both engines hold the very same bytes after the same runs?"""

from __future__ import annotations

from contextlib import closing

from engines import Hbase
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import recorded_runs

from fll_hbase import sample
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table, open_table

SAMPLE_END_MS = 1_700_000_000_000
EXAMPLES = 40

Bytes = dict[bytes, dict[bytes, bytes]]


def bytes_of(table: Table) -> Bytes:
    """Every row, without the stamps."""
    return {
        key: {column: cell.value for column, cell in row.items()} for key, row in table.scan(b"", b"\xff")
    }


def stored(url: str, runs: list[RecordedRun]) -> tuple[list[str], Bytes]:
    with closing(open_table(url)) as table:
        outcomes = [repr(outcome) for outcome in LineageStore(table).record(runs)]
        return outcomes, bytes_of(table)


@given(runs=st.lists(recorded_runs, max_size=8))
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_runs_are_the_same_rows(hbase: Hbase, runs: list[RecordedRun]) -> None:
    assert stored(hbase.emptied(), runs) == stored("sqlite:///:memory:", runs)


def test_the_sample_is_the_same_rows(hbase: Hbase) -> None:
    found = []
    for url in (hbase.emptied(), "sqlite:///:memory:"):
        with closing(open_table(url)) as table:
            sample.load(LineageStore(table), SAMPLE_END_MS)
            found.append(bytes_of(table))
    assert len(found[0]) > 1_000
    assert found[0] == found[1]
