"""Sorted rows of bytes behind one interface, independent of lineage."""

from fll_hbase.tables.base import Batch, Cell, CellKey, Put, Row, Scan, StampedPut, Sync, Table, read_rows
from fll_hbase.tables.factory import (
    FORMS,
    back_up,
    canonical_url,
    is_read_only,
    is_readable_by_others,
    is_shared,
    is_store_url,
    open_table,
    store_exists,
)
from fll_hbase.tables.scratch import scratch_database

__all__ = [
    "FORMS",
    "Batch",
    "Cell",
    "CellKey",
    "Put",
    "Row",
    "Scan",
    "StampedPut",
    "Sync",
    "Table",
    "back_up",
    "canonical_url",
    "is_read_only",
    "is_readable_by_others",
    "is_shared",
    "is_store_url",
    "open_table",
    "read_rows",
    "scratch_database",
    "store_exists",
]
