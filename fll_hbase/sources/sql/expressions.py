"""What is an expression made of: its columns as values, and those that only decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from fll_hbase.model.operations import DatasetField
from fll_hbase.sources.sql.expression_inputs import Part
from fll_hbase.sources.sql.expression_inputs import parts as parts_of
from fll_hbase.sources.sql.provenance import STEPS_MAX, UNKNOWN, RowDependencies, ColumnProvenance, QueryResult, Shaping, shaped
from fll_hbase.sources.sql.scope import Scope, resolve
from fll_hbase.sources.sql.script_state import ScriptState

Answer = Callable[[ScriptState, exp.Expr, Scope], QueryResult]
"""Gives the result of a query inside an expression."""

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)


@dataclass(slots=True, eq=False)
class Gathered:
    """What was found in an expression, and where in the script it stands."""

    direct: set[DatasetField] = field(default_factory=set)
    indirect: set[Shaping] = field(default_factory=set)
    steps: dict[str, ColumnProvenance] = field(default_factory=dict)
    effects: RowDependencies = field(default_factory=RowDependencies)
    unknown: bool = False
    start: int = -1
    end: int = -1

    def made(self, text: str) -> ColumnProvenance:
        """As a column of that text."""
        steps = tuple(self.steps.items())[:STEPS_MAX]
        return ColumnProvenance(frozenset(self.direct), frozenset(self.indirect), text, steps, unknown=self.unknown)

    def add(self, made: ColumnProvenance, kind: str, name: str = "") -> None:
        """A column that the expression takes."""
        self.unknown = self.unknown or (made.unknown and not kind)
        if kind:
            self.indirect |= shaped(made, kind)
            return
        self.direct |= made.direct
        self.indirect |= made.indirect
        if name and made.text not in ("", name):
            self.steps.setdefault(name, made)

    def place(self, node: exp.Expr) -> None:
        """Widen the place by that of a node."""
        meta = node.meta
        if "start" in meta:
            self.start = meta["start"] if self.start < 0 else min(self.start, meta["start"])
            self.end = max(self.end, meta["end"])


def gather(
    session: ScriptState, scope: Scope, answer: Answer, parts: Iterable[Part], into: Gathered | None = None
) -> Gathered:
    """All that some parts are made of. Long chains of operators are as deep trees, hence no recursion."""
    found = into or Gathered()
    waiting = list(parts)[::-1]
    while waiting:
        node, kind = waiting.pop()
        if node.args.get("query") is None and not isinstance(node, QUERIES):
            found.place(node)
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            _column(session, scope, found, path_of(node), kind)
            for name in node.parts:
                found.place(name)
        elif isinstance(node, exp.Dot):
            waiting += _dot(session, scope, found, node, kind)
        elif isinstance(node, QUERIES):
            _query(answer(session, node, scope), found, kind)
        elif isinstance(node, exp.Exists) and isinstance(node.this, QUERIES):
            found.effects |= _shaping(answer(session, node.this, scope).effects, found)
        else:
            waiting += list(parts_of(node, kind, scope.windows))[::-1]
    return found


def path_of(node: exp.Expr) -> list[str]:
    """The parts of a column's name, with the steps into it where there are any."""
    steps: list[str] = []
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        steps.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column):
        return []
    return [part.name for part in node.parts] + steps[::-1]


def _column(session: ScriptState, scope: Scope, found: Gathered, path: list[str], kind: str) -> None:
    found.add(resolve(session, scope, path) or UNKNOWN, kind, path[-1])


def _dot(session: ScriptState, scope: Scope, found: Gathered, node: exp.Dot, kind: str) -> Iterator[Part]:
    """A field of a column or of a value, or a function behind a name."""
    path = path_of(node)
    if path:
        found.place(node.expression)
        for name in node.find_all(exp.Identifier):
            found.place(name)
        _column(session, scope, found, path, kind)
    elif isinstance(node.expression, exp.Identifier):
        yield node.this, kind
    else:
        yield node.expression, kind


def _query(result: QueryResult, found: Gathered, kind: str) -> None:
    """A query as a value: its columns are taken, and what shapes its rows shapes the value."""
    for _, made in result.columns.named:
        found.add(made, kind)
    found.effects |= _shaping(result.effects, found)


def _shaping(effects: RowDependencies, found: Gathered) -> RowDependencies:
    found.indirect |= effects.whole
    return RowDependencies(clauses=effects.clauses, reads=effects.reads)
