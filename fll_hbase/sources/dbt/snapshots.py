"""Snapshots: the columns that dbt adds to the rows of a snapshot's query."""

from __future__ import annotations

from fll_hbase.sources.dbt.manifest import SnapshotConfig

SNAPSHOT_QUERY = "dbt_snapshot"
"""The name of the snapshot's own query in the one around it."""

_NOW = "current_timestamp"
_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")


def with_version_columns(sql: str, config: SnapshotConfig) -> str:
    """The query of a snapshot with dbt's columns, each made from what dbt makes it from.

    A version of a row is named by a hash of its key and time. That time is `updated_at` in the strategy
    `timestamp`, else the time of the run; a version ends when the next one of its key begins.
    """
    by_timestamp = config.strategy == "timestamp" and bool(config.updated_at)
    time = config.updated_at if by_timestamp else _NOW
    version = ", ".join((*config.unique_key, time))
    expressions = (f"md5(concat({version}))", time, time, config.updated_at if by_timestamp else "null")
    columns = dict(zip(_COLUMNS, expressions, strict=True))
    if config.hard_deletes == "new_record":
        columns["dbt_is_deleted"] = "'False'"
    added = ", ".join(
        f"{expression} as {config.columns.get(name, name)}" for name, expression in columns.items()
    )
    return f"select {SNAPSHOT_QUERY}.*, {added} from (\n{sql}\n) as {SNAPSHOT_QUERY}"
