"""PostgreSQL, and Redshift, which is made of it."""

from __future__ import annotations

import re

from fll_hbase.sources.sql.dialects.facts import DialectFacts, ExpressionNames

_PSQL = re.compile(r"\s*\\[a-zA-Z!?]")

POSTGRES = DialectFacts(
    name="postgres",
    fold=str.lower,
    folds_columns=True,
    has_exact_quotes=True,
    expression_names=ExpressionNames.POSTGRES,
    client_command=_PSQL,
    has_declare_section=True,
    has_whole_rows=True,
    pseudo_columns=frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}),
    names_functions=True,
)

REDSHIFT = DialectFacts(
    name="redshift",
    fold=str.lower,
    folds_columns=True,
    expression_names=ExpressionNames.POSTGRES,
    client_command=_PSQL,
    has_declare_section=True,
    has_lateral_aliases=True,
    has_whole_rows=True,
)
