"""Trino, and Athena, which is made of it."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts

TRINO = DialectFacts(
    name="trino",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    numbered_columns="_col{}",
)

ATHENA = DialectFacts(
    name="athena",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    numbered_columns="_col{}",
)
