"""Checks of the rows of tokens and grants, which nothing but their own commands changes."""

from __future__ import annotations

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import access_rows
from fll_hbase.store.access import decode_grants, decode_token
from fll_hbase.store.maintenance.audit.check_indexes import known_cells
from fll_hbase.store.maintenance.audit.expectations import RowFacts
from fll_hbase.tables import Row


def collect_access(key: bytes, row: Row, facts: RowFacts) -> None:
    """Check the row of a token or of grants. Raises CorruptRow."""
    cells = known_cells(key, row, facts)
    if key.startswith(access_rows.TOKENS):
        decode_token(key, cells)
    elif key.startswith(access_rows.GRANTS):
        decode_grants(key, cells)
    else:
        raise CorruptRow("is neither the key of a token nor of grants")
