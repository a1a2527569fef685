"""Dialects: their facts, by the names that documents, engines and clients use."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from fll_hbase.sources.sql.dialects.ansi import ANSI, SQLITE
from fll_hbase.sources.sql.dialects.bigquery import BIGQUERY
from fll_hbase.sources.sql.dialects.clickhouse import CLICKHOUSE
from fll_hbase.sources.sql.dialects.duckdb import DUCKDB
from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.dialects.mysql import MYSQL
from fll_hbase.sources.sql.dialects.oracle import ORACLE
from fll_hbase.sources.sql.dialects.postgres import POSTGRES, REDSHIFT
from fll_hbase.sources.sql.dialects.snowflake import SNOWFLAKE
from fll_hbase.sources.sql.dialects.spark import DATABRICKS, HIVE, SPARK
from fll_hbase.sources.sql.dialects.teradata import TERADATA
from fll_hbase.sources.sql.dialects.trino import ATHENA, TRINO
from fll_hbase.sources.sql.dialects.tsql import TSQL

# In the order in which an error lists the dialects that accept a statement: the most common first.
_FACTS = (
    *(POSTGRES, SNOWFLAKE, BIGQUERY, TSQL, ORACLE, MYSQL, REDSHIFT, DATABRICKS, DUCKDB, TRINO, HIVE),
    *(CLICKHOUSE, TERADATA, ATHENA, SQLITE, SPARK, ANSI),
)
_BY_NAME = {facts.name: facts for facts in _FACTS}

SUGGESTED = tuple(_BY_NAME)
"""Dialects in the order in which an error names them."""

STANDARD_SQL = ""
"""The parser's own dialect, for `ansi` and for engines without a dialect."""


@cache
def facts_of(name: str) -> DialectFacts:
    """Return the facts of a dialect, or the facts of most engines for an unknown name.

    STANDARD_SQL has the facts of `ansi`, but leaves names as written.
    """
    if name == STANDARD_SQL:
        return replace(ANSI, name=name, fold=str)
    return _BY_NAME.get(name) or DialectFacts(name=name)
