"""Facts of a dialect that the SQL library lacks: how its engine names, ends and resolves things."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from fll_hbase.sources.sql.script.statement_tokens import Tokens

IsTable: TypeAlias = Callable[[str], bool]
"""Returns whether a name is a table of the query; a column is printed without its table."""
FunctionName: TypeAlias = Callable[[exp.Expr], str]
"""Returns the lower-case name of a function as the query has it."""


class StatementEnd(Enum):
    """Ends of statements in addition to `;`: none, `/` on its own line, or GO and the next first word."""

    SEMICOLON = ""
    SLASH = "/"
    NEXT_WORD = "GO"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectFacts:
    """One dialect under its name in documents. Each default holds for most engines.

    Names of tables:

    - `fold` returns the stored form of a table name, with `folds_columns` also of a column.
    - `has_exact_quotes`: quoted names are not folded, and tables may differ only in case.
    - `default_schema`: the schema of `db..table` if no other is current.
    - `is_database_before_table`: USE sets the part before the table, elsewhere the catalog.
    - `name_parts`: number of parts of a full name.
    - `is_lowercase_platform`: full names are in lower case in DataHub.

    Names of columns without an alias, the first that applies, else the text of the expression:

    - `numbered_columns`: a pattern that counts all columns, with `counts_unnamed` only those without a name.
    - `name_expression`, with `names_casts_only` only for an expression with `::`.
    - `unnamed_column`.

    Words:

    - `may_quote_names`: double quotes enclose strings, but a setting can make them enclose names.
    - `has_text_aliases`: aliases may be in double quotes without that setting.
    - `client_command` matches a line that its client executes.
    - `rewrite` replaces tokens of a statement that the library does not parse.
    - `rewrite_script` replaces tokens of a whole script.

    Scripts:

    - `end`: how a statement ends.
    - `has_declare_section`: blocks have a DECLARE before BEGIN.
    - `declares_in_block`: blocks have a DECLARE inside.
    - `has_bare_calls`: calls need no CALL, as in PL/SQL, where declarations follow IS.

    Queries:

    - `has_lateral_aliases`: an alias of the SELECT list is visible to its right.
    - `has_aliases_first`: an alias anywhere in a SELECT hides columns of its name.
    - `has_whole_rows`: the name of a table is its row.
    - `pseudo_columns` do not belong to any table; their names are in lower case.
    - `has_columns`: COLUMNS selects several columns.
    - `has_staged_columns`: `$1` is a column of a staged file.
    - `has_sequences`: `s.nextval` is a new value.
    - `has_values_first`: UNPIVOT puts its values before the names.
    - `pivots_joins`: a PIVOT after `a CROSS JOIN b` applies to both.
    - `values_column`: pattern for the column names of VALUES.
    - `names_functions`: a function's alias is the name of its column.
    - `exploded_column`: name of the column of EXPLODE in a SELECT list.
    - `unnests_structs`: UNNEST in a SELECT list returns the fields of a struct.
    - `numbers_fields`: fields of a tuple have only the names given by a cast.
    - `is_method` decides for two names, as in `a.f(...)`, whether the first is a column that is not listed.

    Statements:

    - `changes_queries`: UPDATE and DELETE of a query in WITH change its table. Such queries may be recursive
      without a keyword, and statements have the tables `inserted` and `deleted`.
    - `selects_into_variables`: SELECT INTO only sets variables.
    - `has_session_variables`: SET sets a variable of the session.
    - `has_open_conflicts`: ON DUPLICATE KEY sees the tables of the query.
    - `moves_exchanged`: EXCHANGE PARTITION moves rows into the altered table, and none back.
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
        """Return the dialect's name in the SQL library, or "" for `ansi`, the library's own dialect."""
        return "" if self.name == "ansi" else self.name
