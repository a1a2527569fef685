"""Snapshots: the columns that dbt adds to the rows of a snapshot's query."""

from __future__ import annotations

from fll_hbase.sources.dbt.manifest import SnapshotConfig

SNAPSHOT_QUERY = "dbt_snapshot"
"""Alias of the snapshot's query in the query around it."""

_NOW = "current_timestamp"
_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")


def with_version_columns(sql: str, config: SnapshotConfig) -> str:
    """Return a query that adds dbt's columns to the query of a snapshot.

    `dbt_scd_id` is derived from the unique key and the time of the row, the other columns from that time: the
    column `updated_at` in the strategy `timestamp`, else the time of the run. Values differ from dbt's.
    """
    by_timestamp = config.strategy == "timestamp" and bool(config.updated_at)
    time = config.updated_at if by_timestamp else _NOW
    version = ", ".join((*config.unique_key, time))
    expressions = (f"md5(concat({version}))", time, time, config.updated_at if by_timestamp else "null")
    # Only the inputs of each column matter for lineage: dbt's own expressions depend on the adapter.
    columns = dict(zip(_COLUMNS, expressions, strict=True))
    if config.hard_deletes == "new_record":
        columns["dbt_is_deleted"] = "'False'"
    added = ", ".join(
        f"{expression} as {config.columns.get(name, name)}" for name, expression in columns.items()
    )
    # Line breaks around the query, since it may end with a `--` comment.
    return f"select {SNAPSHOT_QUERY}.*, {added} from (\n{sql}\n) as {SNAPSHOT_QUERY}"
