"""Field-level lineage: which runs produced a field, from which source fields, by which operations.

from fll_hbase import connect

with connect("http://localhost:8080") as client:
    print(client.programs("bank", "DailyTransactions", field="UID", direction="forward").rows)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fll_hbase.runtime import release

if TYPE_CHECKING:
    from fll_hbase.client.opening import connect as connect

__all__ = ["__version__", "connect"]

__version__ = release.VERSION


def __getattr__(name: str) -> Any:
    # On first use: tasks of Spark import this package and need neither HTTP nor SQL.
    if name == "connect":
        from fll_hbase.client.opening import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
