"""Facts of a dialect that the SQL library does not have: how its engine names, ends and resolves things."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from fll_hbase.sources.sql.script.statement_tokens import Tokens

IsTable: TypeAlias = Callable[[str], bool]
"""Returns whether a name is that of a table of the query: a column is printed without its table."""
FunctionName: TypeAlias = Callable[[exp.Expr], str]
"""Returns the name of a function as the query has it, in lower case."""


class StatementEnd(Enum):
    """Ends of statements beside `;`: none, `/` on its own line, or GO and the first word of the next one."""

    SEMICOLON = ""
    SLASH = "/"
    NEXT_WORD = "GO"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectFacts:
    """One dialect under the name that documents give; the default of each fact is that of most engines.

    Names: `fold` gives the stored form of an unquoted name of a table, with `folds_columns` also of a new
    column; quoted ones keep their case if `has_exact_quotes`. `db..table` has the `default_schema`, and USE
    gives a database if `is_database_before_table`. A full name has `name_parts`, in DataHub in lower case if
    `is_lowercase_platform`. Columns without an alias have names by `numbered_columns`, a pattern that counts
    all columns, or with `counts_unnamed` those without a name, else by `name_expression`, with
    `names_casts_only` for one with `::`, or `unnamed_column`, else by the text.

    Words: with `may_quote_names`, double quotes are around strings, but can be set to be around names; around
    aliases only then, unless `has_text_aliases`. `client_command` is a line of its client. `rewrite` turns
    tokens of a statement that the library does not parse into others, `rewrite_script` those of a script.

    Scripts: `end` ends a statement. Blocks have a DECLARE in front of BEGIN if `has_declare_section`, or
    DECLARE in the block if `declares_in_block`; `has_bare_calls` as PL/SQL has, whose declarations follow IS.

    Queries: an alias of the SELECT list is visible to its right if `has_lateral_aliases`, before columns if
    `has_aliases_first`. The name of a table is its row if `has_whole_rows`. `pseudo_columns` are those of no
    table. COLUMNS selects several columns if `has_columns`, `$1` is a column of a staged file if
    `has_staged_columns`, `s.nextval` a new value if `has_sequences`. UNPIVOT has its values in front of names
    if `has_values_first`, and a PIVOT behind `a CROSS JOIN b` is of both if `pivots_joins`. Columns of VALUES
    are named by `values_column`, that of a function by its alias if `names_functions`, and that of EXPLODE in
    a SELECT list by `exploded_column`, where UNNEST gives the fields of a struct if `unnests_structs`. Fields
    of a tuple have no names but those of a cast if `numbers_fields`. `is_method` decides for two names, as in
    `a.f(...)`, whether the first is a column that is not listed.

    Statements: UPDATE and DELETE of a query in WITH change its table if `changes_queries`, which also recur
    without a word and have the tables `inserted` and `deleted`. SELECT INTO sets variables only if
    `selects_into_variables`, SET a variable of the session if `has_session_variables`, and ON DUPLICATE KEY
    sees the tables of the query if `has_open_conflicts`. EXCHANGE PARTITION moves rows into the table that is
    altered, and none back, if `moves_exchanged`.
    """

    name: str
    fold: Callable[[str], str] = str
    folds_columns: bool = False
    has_exact_quotes: bool = False
    default_schema: str = ""
    is_database_before_table: bool = False
    name_parts: int = 3
    is_lowercase_platform: bool = False
    numbered_columns: str = ""
    counts_unnamed: bool = False
    name_expression: Callable[[exp.Expr, IsTable, FunctionName], str] | None = None
    names_casts_only: bool = False
    unnamed_column: str = ""
    may_quote_names: bool = False
    has_text_aliases: bool = False
    client_command: re.Pattern[str] | None = None
    rewrite: Callable[[Tokens], Tokens] = lambda tokens: tokens
    rewrite_script: Callable[[Tokens], Tokens] = lambda tokens: tokens
    end: StatementEnd = StatementEnd.SEMICOLON
    has_declare_section: bool = False
    declares_in_block: bool = False
    has_bare_calls: bool = False
    has_lateral_aliases: bool = False
    has_aliases_first: bool = False
    has_whole_rows: bool = False
    pseudo_columns: frozenset[str] = frozenset()
    has_columns: bool = False
    has_staged_columns: bool = False
    has_sequences: bool = False
    has_values_first: bool = False
    pivots_joins: bool = False
    numbers_fields: bool = False
    unnests_structs: bool = False
    exploded_column: str = ""
    is_method: Callable[[str, str], bool] = lambda _, __: False
    values_column: str = "column{}"
    names_functions: bool = False
    changes_queries: bool = False
    selects_into_variables: bool = False
    has_session_variables: bool = False
    has_open_conflicts: bool = False
    moves_exchanged: bool = False

    @property
    def parser_name(self) -> str:
        """Name of the dialect in the SQL library: empty for `ansi`, the own dialect of the library."""
        return "" if self.name == "ansi" else self.name
