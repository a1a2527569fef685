"""dbt's adapters: the dataset names of dbt's OpenLineage integration."""

from __future__ import annotations

import re

FIXED_NAMESPACES = {"bigquery": "bigquery"}
"""Namespaces of adapters, without those that contain a host, an account or a file."""

# Quotes of standard SQL, of BigQuery and Spark, and of T-SQL: a dot inside of them separates nothing.
_PART = re.compile(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^."`\[\]\s]+)')


def dataset_name(database: str, schema: str, table: str) -> str:
    """Return the name that OpenLineage's dbt integration gives a dataset: non-empty parts joined by dots."""
    return ".".join(part for part in (database, schema, table) if part)


def unquote_relation(relation: str) -> str:
    """Return a quoted name such as `"shop"."main"."orders"` without its quotes: `shop.main.orders`."""
    groups = (match.groups("") for match in _PART.finditer(relation))
    return ".".join(quoted.replace('""', '"') or "".join(others) for quoted, *others in groups)
