"""Snowflake source: rows of the view ACCESS_HISTORY."""

from __future__ import annotations

from fll_hbase.sources.snowflake.document import read_document

__all__ = ["read_document"]
