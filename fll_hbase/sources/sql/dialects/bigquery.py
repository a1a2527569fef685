"""BigQuery: names are kept as written, and columns without a name are counted."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts

BIGQUERY = DialectFacts(
    name="bigquery",
    numbered_columns="f{}_",
    counts_unnamed=True,
    has_whole_rows=True,
    has_values_first=True,
    pseudo_columns=frozenset(
        {
            *("_file_name", "_partitiondate", "_partitiontime", "_table_suffix"),
            *("_change_type", "_change_timestamp", "_change_sequence_number"),
        }
    ),
)
