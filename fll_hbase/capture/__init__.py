"""Capture: field lineage of PySpark jobs, read from the analysed plans of their executions.

from fll_hbase import capture

capture.install(spark, "http://lineage:8080", namespace="shop")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fll_hbase.capture.capture_session import flush as flush
    from fll_hbase.capture.capture_session import install as install
    from fll_hbase.capture.capture_session import uninstall as uninstall

__all__ = ["flush", "install", "uninstall"]


def __getattr__(name: str) -> Any:
    """Import `flush`, `install` or `uninstall` on first use. Raises AttributeError for any other name."""
    # Imported on first use, because every Python process with the hook imports this package when it starts.
    if name in __all__:
        from fll_hbase.capture import capture_session

        return getattr(capture_session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
