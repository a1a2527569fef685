"""BigQuery source: rows of the view JOBS of INFORMATION_SCHEMA."""

from __future__ import annotations

from fll_hbase.sources.bigquery.document import read_document

__all__ = ["read_document"]
