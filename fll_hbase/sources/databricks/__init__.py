"""Databricks source: rows of Unity Catalog's lineage system tables."""

from __future__ import annotations

from fll_hbase.sources.databricks.document import read_document

__all__ = ["read_document"]
