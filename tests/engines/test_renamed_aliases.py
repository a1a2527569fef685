"""The names that a query gives to its relations and inner columns do not matter to its lineage."""

from __future__ import annotations

import re
from itertools import cycle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines.random_queries import DUCKDB, POSTGRES, SPARK, SQLITE, TABLES, Engine, queries
from tests.engines.recorded_query import record
from tests.support import profiles

ALIAS = re.compile(r"\b[ceftqxyz]\d+\b")
"""An alias of a random query, which no other part of it has: of a column (e, x, y, z) or relation."""

QUOTES = {"spark": "`"}


def spans(query: str) -> dict[str, tuple[int, int]]:
    """Return the innermost brackets around each alias of a FROM: those of its SELECT, or more."""
    opened, innermost, ends = [0], [], {0: len(query)}
    for position, sign in enumerate(query):
        opened += [position] if sign == "(" else []
        innermost.append(opened[-1])
        if sign == ")":
            ends[opened.pop()] = position
    aliases = re.finditer(r"\bAS ([fqt]\d+)\b", query)
    return {match[1]: (innermost[match.start()], ends[innermost[match.start()]]) for match in aliases}


def can_share(query: str, first: str, second: str) -> bool:
    """Return whether two aliases of FROMs can have one name: a SELECT with the inner one lacks the outer."""
    brackets = spans(query)
    (start, end), (inner_start, inner_end) = brackets[first], brackets[second]
    if (start, end) == (inner_start, inner_end):
        return False
    hidden = first if start <= inner_start and inner_end <= end else second
    inner = query[inner_start:inner_end] if hidden == first else query[start:end]
    return not re.search(rf"\b{hidden}\b", inner)


def names_of_tables(query: str, alias: str) -> list[str]:
    """Return names of tables or columns that an alias can have, because the query does not mean these."""
    words = set(re.findall(r"\w+", query))
    if alias[0] in "fqt":
        return [*TABLES, "id", "k"]
    if alias[0] == "c":
        return [name for name in TABLES if name not in words]
    is_bare = re.search(rf"(?<!\.)(?<!AS )\b{alias}\b", query)
    is_listed = "*" in query.replace("count(*)", "") or "NATURAL" in query
    columns = dict.fromkeys(name for names in TABLES.values() for name in names)
    return [] if is_bare or is_listed else [name for name in columns if name not in words]


@st.composite
def renamings(draw: st.DrawFn, query: str, outputs: tuple[str, ...], quote: str) -> dict[str, str]:
    """Return other names of aliases: new ones, those of tables and columns, those of other SELECTs."""
    renaming: dict[str, str] = {}
    for number, alias in enumerate(dict.fromkeys(ALIAS.findall(query))):
        if alias in outputs:
            continue
        options = [f"n{number}", f"{quote}a b.{number}{quote}", f"{quote}select{number}{quote}"]
        is_shared = alias[0] in "fqt"
        for name in dict.fromkeys(
            [*names_of_tables(query, alias), *(renaming.values() if is_shared else ())]
        ):
            others = [other for other, its in renaming.items() if its == name]
            if all(is_shared and other[0] in "fqt" and can_share(query, other, alias) for other in others):
                options.append(name)
        renaming[alias] = draw(st.sampled_from(options))
    return renaming


def renamed(query: str, renaming: dict[str, str]) -> str:
    """Return a query with other names; every second use of one without quotes is in upper case."""
    cases = cycle([str.lower, str.upper])

    def name(match: re.Match[str]) -> str:
        new = renaming.get(match[0], match[0])
        return next(cases)(new) if new.isidentifier() and match[0] in renaming else new

    return ALIAS.sub(name, query)


@pytest.mark.parametrize("engine", [POSTGRES, DUCKDB, SQLITE, SPARK], ids=lambda engine: engine.dialect)
def test_random_selects(engine: Engine) -> None:
    @settings(max_examples=profiles.QUERIES, suppress_health_check=list(HealthCheck))
    @given(queries(engine), st.data())
    def holds(query: str, data: st.DataObject) -> None:
        recorded = record(query, engine.dialect, engine.tables())
        quote = QUOTES.get(engine.dialect, '"')
        renaming = data.draw(renamings(query, recorded.columns, quote))
        other = renamed(query, renaming)
        assert record(other, engine.dialect, engine.tables()) == recorded

    holds()
