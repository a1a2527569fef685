"""Trino source: query-completed events."""

from __future__ import annotations

from fll_hbase.sources.trino.document import read_document

__all__ = ["read_document"]
