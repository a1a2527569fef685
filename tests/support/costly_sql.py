"""SQL that is dear to read, by what makes it so: its dialect and its text."""

from __future__ import annotations


def doubled() -> str:
    """A query that selects all columns of the one before twice, and so on."""
    queries = [f"c{n} AS (SELECT * FROM c{n - 1} a CROSS JOIN c{n - 1} b)" for n in range(1, 23)]
    return f"INSERT INTO o WITH c0 AS (SELECT 1 AS x), {', '.join(queries)} SELECT * FROM c22"


COSTLY = {
    "indexes": ("tsql", f"INSERT INTO o SELECT x{'[0]' * 2_000} FROM t"),
    "members": ("duckdb", f"INSERT INTO o SELECT x{'.b' * 20_000} FROM t"),
    "pipes": ("bigquery", f"INSERT INTO o SELECT x FROM t{' |> SELECT x' * 500}"),
    "clauses": ("bigquery", f"INSERT INTO o SELECT x{' FROM' * 5_000} t"),
    "types": ("spark", f"INSERT INTO o SELECT {', '.join(['DATE(' * 8 + 'x' + ')' * 8] * 100)} FROM t"),
    "cross joins": ("spark", doubled()),
    "pivots": (
        "duckdb",
        f"INSERT INTO o SELECT * FROM t PIVOT (sum(a) FOR{' x IN (1, 2, 3, 4, 5, 6)' * 12})",
    ),
    "a long text": ("spark", f"INSERT INTO o SELECT {', '.join(['x'] * 5_000_000)} FROM t"),
}
