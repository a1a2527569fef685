"""Runs as an earlier release recorded them: their keys have no namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fll_hbase.keys import calendars
from fll_hbase.model.runs import RunKey
from fll_hbase.store.write import batching
from fll_hbase.tables import CellKey, Table
from tests.support.table_cells import LATER_MS


@contextmanager
def earlier_release(table: Table) -> Iterator[None]:
    """Record into the table meanwhile with keys of the earlier release."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "run_key", lambda run, _: RunKey(run))
        yield
    table.delete([CellKey(calendars.MARK_ROW, calendars.RUN_KEYS_COLUMN)], until_ms=LATER_MS)
