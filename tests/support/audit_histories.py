"""Random histories of documents and events, and the cells that an audit needs."""

from __future__ import annotations

from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout
from fll_hbase.model import run_events
from fll_hbase.model.run_events import EventRunFacts, EventType
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import CellKey, Table
from tests.support.event_runs import ALIAS, part
from tests.support.retained_histories import documents
from tests.support.small_world import STARTS_MS
from tests.support.strategies import recorded_runs

_parts = st.sampled_from([part("a"), part("a", "b"), part("b", aliases=(ALIAS,))])
incoming_events = st.builds(
    run_events.make_event,
    st.sampled_from(["run", "other|run"]),
    st.sampled_from(STARTS_MS),
    st.sampled_from(EventType),
    _parts,
    st.just(EventRunFacts()),
)
HISTORIES = st.lists(documents() | incoming_events | recorded_runs, min_size=1, max_size=8)


def essential(table: Table) -> dict[CellKey, bytes]:
    """Return all cells but seals; of commit records the one that counts, of tokens only that they exist."""
    cells_left = {}
    for key, row in table.scan(b"", b"\xff"):
        for column, cell in row.items():
            if not column.startswith((layout.COMMIT, calendars.SEAL, calendars.STARTS)):
                is_token = key.startswith(layout.CALENDARS)
                cells_left[CellKey(key, column)] = b"" if is_token else cell.value
        if key.startswith(b"r|"):
            cells_left[CellKey(key, layout.COMMIT)] = run_rows.commit_value(row) or b""
    return cells_left
