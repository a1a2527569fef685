"""PostgreSQL, and Redshift, which derives from it.

A column without an alias has the name that PostgreSQL's parser gives to a target (as seen in PostgreSQL 15).
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from fll_hbase.sources.sql.dialects.facts import DialectFacts, FunctionName, IsTable
from fll_hbase.sources.sql.script.statement_tokens import Tokens, closing_position, new_token

_T = TokenType
_REWRITTEN = {_T.OBJECT_IDENTIFIER, _T.UNNEST, _T.UNPIVOT}
_PSQL = re.compile(r"\s*\\[a-zA-Z!?]")
_TYPES = {
    "INT": "int4",
    "BIGINT": "int8",
    "SMALLINT": "int2",
    "DOUBLE": "float8",
    "FLOAT": "float4",
    "BOOLEAN": "bool",
    "DECIMAL": "numeric",
    "CHAR": "bpchar",
    "TIMESTAMPTZ": "timestamptz",
}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_NAMES: dict[type[exp.Expr], str] = {
    **{
        kind: kind.key
        for kind in (
            *(exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Exists, exp.Array, exp.Extract),
            *(exp.Substring, exp.Interval, exp.Overlay, exp.Localtime, exp.Localtimestamp),
        )
    },
    exp.Tuple: "row",
    exp.AtTimeZone: "timezone",
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.StrPosition: "position",
}


def postgres_name(node: exp.Expr, _: IsTable, function: FunctionName) -> str:
    """Return the name that PostgreSQL gives a column without an alias, or "" instead of `?column?`."""
    return _name(node, function)[0]


def _name(node: exp.Expr, function: FunctionName) -> tuple[str, int]:
    """Return the name in PostgreSQL's parser and its strength: 2, 1 from a type or CASE, 0 without a name."""
    match node:
        case exp.Column() | exp.Identifier():
            return node.name, 2
        case exp.Dot():
            return _name(node.expression, function)
        case exp.Anonymous() | exp.Trim():
            name = function(node)
            if isinstance(node, exp.Trim):
                name = _TRIMS.get(str(node.args.get("position")).upper(), "btrim")
            return "btrim" if name == "trim" else name, 2
        case exp.Cast():
            name, strength = _name(node.this, function)
            kind = node.to.this.name if isinstance(node.to.this, exp.DType) else str(node.to.this)
            return (name, strength) if strength > 1 else (_TYPES.get(kind, kind.lower()), 1)
        case exp.Case():
            default = node.args.get("default")
            name, strength = _name(default, function) if isinstance(default, exp.Expr) else ("", 0)
            return (name, strength) if strength > 1 else ("case", 1)
        case exp.Subquery():
            query = node.unnest()
            first = query.selects[0] if isinstance(query, exp.Query) and query.selects else query
            return (first.alias, 2) if first.alias else _name(first, function)
        case exp.Paren() | exp.Bracket() | exp.Collate() | exp.Window() | exp.Filter() | exp.WithinGroup():
            return _name(node.this, function)
    name = _NAMES.get(type(node), "")
    return name, 2 if name else 0


def with_known_parts(tokens: Tokens) -> Tokens:
    """Return tokens with `oid[]` as `oid`, and `(unnest(l) x JOIN …)` as any other function.

    PostgreSQL prints these in views. Redshift's `FROM t, UNPIVOT t.o AS v AT k` loses the word UNPIVOT.
    """
    kinds = [token.token_type for token in tokens]
    if _REWRITTEN.isdisjoint(kinds):
        return tokens
    result: list[Token] = []
    for number, token in enumerate(tokens):
        kind, previous = kinds[number], kinds[max(0, number - 1)]
        if kind is _T.UNNEST and previous is _T.L_PAREN:
            stop = closing_position(tokens, number + 1) + 1
            token = token if kinds[stop : stop + 1] == [_T.R_PAREN] else new_token(_T.VAR, token.text, token)
        if kinds[max(0, number - 2) : number + 1] == [_T.OBJECT_IDENTIFIER, _T.L_BRACKET, _T.R_BRACKET]:
            result.pop()
        elif kind is not _T.UNPIVOT or previous not in (_T.COMMA, _T.FROM):
            result.append(token)
    return result


POSTGRES = DialectFacts(
    name="postgres",
    fold=str.lower,
    folds_columns=True,
    has_exact_quotes=True,
    name_expression=postgres_name,
    unnamed_column="?column?",
    client_command=_PSQL,
    rewrite=with_known_parts,
    has_declare_section=True,
    has_whole_rows=True,
    pseudo_columns=frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}),
    names_functions=True,
)

REDSHIFT = replace(
    POSTGRES,
    name="redshift",
    has_exact_quotes=False,
    has_lateral_aliases=True,
    pseudo_columns=frozenset(),
    names_functions=False,
)
