"""Teradata, with the commands of BTEQ."""

from __future__ import annotations

import re

from fll_hbase.sources.sql.dialects.facts import DialectFacts

TERADATA = DialectFacts(
    name="teradata",
    fold=str.lower,
    name_parts=2,
    client_command=re.compile(r"\s*\.[a-zA-Z]"),
    has_lateral_aliases=True,
)
