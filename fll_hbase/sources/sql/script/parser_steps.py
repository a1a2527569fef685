"""Steps of the parser: counted and bounded while it runs, with a look at the deadline of the request.

The compiled parser looks at neither signals nor threads while it runs, and tries several readings one after
another: each more that is nested may double its time. It asks its dialect for a fact, such as whether `||`
joins strings, at every expression, table, type and query that it begins. A dialect that is asked through
Python code counts these, and lets other threads run.
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
"""Steps that a statement may take for each of its tokens, and one of any size."""
_STEPS_PER_CHECK = 32
"""Steps, a millisecond at most, after which the deadline is looked at."""

_REPORTED = (
    "ALIAS_POST_VERSION",
    "DPIPE_IS_STRING_CONCAT",
    "INTERSECT_BINDS_TIGHTER_THAN_UNION_AND_EXCEPT",
    "SUPPORTS_COLUMN_JOIN_MARKS",
    "SUPPORTS_FIXED_SIZE_ARRAYS",
    "SUPPORTS_USER_DEFINED_TYPES",
    "VALID_INTERVAL_UNITS",
)
"""What the parser asks of a dialect: at tables, expressions, queries, columns, arrays, and names of types."""


class ParserStepsExceeded(Exception):
    """A statement that takes the parser more steps than it may."""


class ParserSteps:
    """A parser of a dialect whose steps are counted."""

    def __init__(self, dialect: Dialect) -> None:
        options = {}
        if isinstance(dialect, Athena):
            # It has a parser of each of its engines.
            options = {"hive": self._reporting(Hive), "trino": self._reporting(Trino)}
        # The first error of a statement has a position. Those that follow are mostly its consequences.
        self._parser = self._reporting(type(dialect)).parser(error_level=ErrorLevel.IMMEDIATE, **options)
        self.count = 0
        self._steps_max = STEPS_MIN

    def parse(self, tokens: Sequence[Token], sql: str) -> list[exp.Expr | None]:
        """Return the trees of a statement. Raises ParserStepsExceeded, and errors of parser and deadline."""
        self.count, self._steps_max = 0, max(STEPS_MIN, STEPS_PER_TOKEN * len(tokens))
        trees: list[exp.Expr | None] = self._parser.parse(list(tokens), sql)
        return trees

    def step(self) -> None:
        """Count a step. Raises ParserStepsExceeded, and the errors of `deadline.check`."""
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
    """Return a dialect that calls `fll_steps.step()` when it is asked for one of the facts in _REPORTED."""
    members = {name: _reported(getattr(dialect, name)) for name in _REPORTED}
    # Past the metaclass, which would register it for all users of the library.
    return type.__new__(type(dialect), dialect.__name__, (dialect,), members)


def _reported(value: object) -> property:
    """Return a property with this value that reports each access."""

    def read(dialect: Any) -> object:
        dialect.fll_steps.step()
        return value

    return property(read)
