"""Execution plans and events of Spline, converted to OpenLineage events."""

from __future__ import annotations

from fll_hbase.capture.spline.executions import read_executions

__all__ = ["read_executions"]
