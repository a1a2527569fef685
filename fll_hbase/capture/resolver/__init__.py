"""Resolver of plan dumps: converts lines of the listener to OpenLineage events, without Spark."""

from __future__ import annotations

from fll_hbase.capture.resolver.resolver import Resolver

__all__ = ["Resolver"]
