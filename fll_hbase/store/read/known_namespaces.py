"""Known namespaces: those of any dataset or program that was recorded."""

from __future__ import annotations

from fll_hbase.errors import NotFound
from fll_hbase.keys import layout, ranges
from fll_hbase.tables import Scan, Table


def require_namespace(table: Table, namespace: str) -> None:
    """Raise NotFound for a namespace of which neither a dataset nor a program was ever recorded."""
    prefixes = layout.dataset_prefix(namespace), layout.run_index_prefix(namespace)
    if not any(table.scan_many([Scan(*ranges.prefix_range(prefix), limit=1) for prefix in prefixes])):
        raise NotFound(f"namespace {namespace!r} not found: no dataset or program of it was recorded")
