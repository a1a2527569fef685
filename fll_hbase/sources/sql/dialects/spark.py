"""Spark, Databricks, which is made of it, and Hive, which both descend from."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts, ExpressionNames

SPARK = DialectFacts(
    name="spark",
    fold=str.lower,
    is_database_before_table=True,
    expression_names=ExpressionNames.SPARK,
    may_quote_names=True,
    has_lateral_aliases=True,
    values_column="col{}",
)

DATABRICKS = DialectFacts(
    name="databricks",
    fold=str.lower,
    is_database_before_table=True,
    expression_names=ExpressionNames.SPARK,
    may_quote_names=True,
    has_lateral_aliases=True,
)

HIVE = DialectFacts(
    name="hive",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    name_parts=2,
    numbered_columns="_c{}",
    may_quote_names=True,
    pseudo_columns=frozenset({"block__offset__inside__file", "input__file__name"}),
    values_column="col{}",
)
