"""Functions that return rows: in a FROM, or for each row of a query in its SELECT list."""

from __future__ import annotations

from sqlglot import exp

WITH_POSITION = (exp.Posexplode, exp.PosexplodeOuter)
EXPLODE = (exp.Explode, exp.ExplodeOuter, exp.Inline, *WITH_POSITION)
"""Functions that return a row for each element."""
_ROW_FUNCTIONS = {
    *("generate_subscripts", "json_array_elements", "json_array_elements_text", "json_object_keys"),
    *("jsonb_array_elements", "jsonb_array_elements_text", "jsonb_object_keys", "jsonb_path_query"),
    *("json_each", "jsonb_each", "json_each_text", "jsonb_each_text", "regexp_split_to_table"),
    *("string_to_table", "unnest", "json_populate_recordset", "jsonb_populate_recordset"),
}
"""Further functions of PostgreSQL, which may be in a SELECT list, too."""
ROW_GENERATORS = _ROW_FUNCTIONS | {
    *("generate_series", "generator", "generaterandom", "numbers", "numbers_mt", "range", "sequence"),
    *("zeros", "zeros_mt", "string_split", "split_to_table", "json_tree", "strtok_split_to_table"),
    *("values", "view", "input", "dual"),
}
"""Functions in a FROM that make rows from their arguments only."""
_ONE_ROW = {"json_tuple", "parse_url_tuple", "json_to_record", "jsonb_to_record"}
"""Functions that return one row of several columns."""
CALLS = (*EXPLODE, exp.ExplodingGenerateSeries, exp.Anonymous)
"""Calls that may return rows; Anonymous is any function that the library does not know."""


def makes_rows(node: exp.Expr) -> bool:
    """Return whether an expression is a function whose number of rows depends on its arguments."""
    is_plain = isinstance(node, exp.Anonymous) and node.name.lower() not in _ROW_FUNCTIONS
    return isinstance(node, CALLS) and not is_plain and not makes_fixed_rows(node)


def makes_fixed_rows(node: exp.Expr) -> bool:
    """Return whether a generator, or its only argument, returns as many rows as the SQL has values."""
    value = node.this if isinstance(node, EXPLODE) else node
    if isinstance(value, exp.Array):
        return not any(isinstance(item, exp.Query) for item in value.expressions)
    is_one = isinstance(value, exp.Anonymous) and value.name.lower() in _ONE_ROW
    return is_one or isinstance(value, (exp.Stack, exp.VarMap))
