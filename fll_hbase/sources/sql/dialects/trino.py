"""Trino, and Athena, which derives from it."""

from __future__ import annotations

from dataclasses import replace

from fll_hbase.sources.sql.dialects.facts import DialectFacts

TRINO = DialectFacts(
    name="trino",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    numbered_columns="_col{}",
    numbers_fields=True,
)

ATHENA = replace(TRINO, name="athena")
