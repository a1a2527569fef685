"""Steps of the parser, counted and bounded while it runs, with checks of the request's deadline.

The compiled parser does not react to signals or threads while it runs. It tries several readings in turn, so
that each further level of nesting may double its time. The parser asks its dialect for a fact, such as
whether `||` joins strings, at the beginning of every expression, table, type and query. A dialect that
answers with Python code counts these steps, and lets other threads run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.athena import Athena
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.hive import Hive
from sqlglot.dialects.trino import Trino
from sqlglot.errors import ErrorLevel
from sqlglot.tokenizer_core import Token

from fll_hbase.runtime import deadline

STEPS_PER_TOKEN, STEPS_MIN = 2, 2_000
"""Steps that a statement may take per token, and the minimum for a statement of any size."""
_STEPS_PER_CHECK = 32
"""Steps, taking a millisecond at most, between two checks of the deadline."""

_REPORTED = (
    "ALIAS_POST_VERSION",
    "DPIPE_IS_STRING_CONCAT",
    "INTERSECT_BINDS_TIGHTER_THAN_UNION_AND_EXCEPT",
    "SUPPORTS_COLUMN_JOIN_MARKS",
    "SUPPORTS_FIXED_SIZE_ARRAYS",
    "SUPPORTS_USER_DEFINED_TYPES",
    "VALID_INTERVAL_UNITS",
)
"""Facts that the parser asks for at tables, expressions, queries, columns, arrays and type names."""


class ParserStepsExceeded(Exception):
    """A statement that takes the parser more steps than allowed."""


class ParserSteps:
    """A parser of a dialect, with its steps counted."""

    def __init__(self, dialect: Dialect) -> None:
        options = {}
        if isinstance(dialect, Athena):
            # Athena has a parser for each of its engines.
            options = {"hive": self._reporting(Hive), "trino": self._reporting(Trino)}
        # The first error of a statement has a position; later errors mostly follow from it.
        self._parser = self._reporting(type(dialect)).parser(error_level=ErrorLevel.IMMEDIATE, **options)
        self.count = 0
        self._steps_max = STEPS_MIN

    def parse(self, tokens: Sequence[Token], sql: str) -> list[exp.Expr | None]:
        """Return the trees of a statement. Raises ParserStepsExceeded, and errors of parser and deadline."""
        self.count, self._steps_max = 0, max(STEPS_MIN, STEPS_PER_TOKEN * len(tokens))
        trees: list[exp.Expr | None] = self._parser.parse(list(tokens), sql)
        return trees

    def step(self) -> None:
        """Count a step. Raises ParserStepsExceeded and the errors of `deadline.check`."""
        self.count += 1
        if self.count > self._steps_max:
            raise ParserStepsExceeded
        if self.count % _STEPS_PER_CHECK == 0:
            deadline.check()

    def _reporting(self, dialect: type[Dialect]) -> Any:
        """Return a dialect that reports to this counter."""
        reporting: Any = _reporting_class(dialect)()
        reporting.fll_steps = self
        return reporting


@cache
def _reporting_class(dialect: type[Dialect]) -> type[Dialect]:
    """Return a dialect that calls `fll_steps.step()` whenever it is asked for a fact in _REPORTED."""
    members = {name: _reported(getattr(dialect, name)) for name in _REPORTED}
    # Bypass the metaclass, which would register the class for all users of the library.
    return type.__new__(type(dialect), dialect.__name__, (dialect,), members)


def _reported(value: object) -> property:
    """Return a property with this value that reports each access."""

    def read(dialect: Any) -> object:
        dialect.fll_steps.step()
        return value

    return property(read)
