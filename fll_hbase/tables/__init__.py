"""Sorted rows of bytes behind one interface, independent of lineage."""

from fll_hbase.tables.base import Batch, Cell, CellKey, Put, Row, Scan, Sync, Table
from fll_hbase.tables.factory import open_table, store_exists

__all__ = ["Batch", "Cell", "CellKey", "Put", "Row", "Scan", "Sync", "Table", "open_table", "store_exists"]
