"""What is an expression made of: its columns as values, and those that only decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from fll_hbase.model.operations import EndPointField
from fll_hbase.sources.sql.scopes import Scope, resolve
from fll_hbase.sources.sql.session import Session
from fll_hbase.sources.sql.values import (
    STEPS_MAX,
    UNKNOWN,
    Effects,
    Made,
    Result,
    Shaping,
    shaped,
)

Part: TypeAlias = tuple[exp.Expr, str]
"""A part of an expression, and the kind of its influence; empty where it is direct."""

Answer = Callable[[Session, exp.Expr, Scope], Result]
"""Gives the result of a query inside an expression."""

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
_NO_INPUTS = (exp.Grouping, exp.GroupingId, exp.DataType, exp.Lambda)


@dataclass(slots=True, eq=False)
class Gathered:
    """What was found in an expression, and where in the script it stands."""

    direct: set[EndPointField] = field(default_factory=set)
    indirect: set[Shaping] = field(default_factory=set)
    steps: dict[str, Made] = field(default_factory=dict)
    effects: Effects = field(default_factory=Effects)
    unknown: bool = False
    start: int = -1
    end: int = -1

    def made(self, text: str) -> Made:
        """As a column of that text."""
        steps = tuple(self.steps.items())[:STEPS_MAX]
        return Made(frozenset(self.direct), frozenset(self.indirect), text, steps, unknown=self.unknown)

    def add(self, made: Made, kind: str, name: str = "") -> None:
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
    session: Session, scope: Scope, answer: Answer, parts: Iterable[Part], into: Gathered | None = None
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
            waiting += list(_parts(node, kind, scope))[::-1]
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


def _column(session: Session, scope: Scope, found: Gathered, path: list[str], kind: str) -> None:
    found.add(resolve(session, scope, path) or UNKNOWN, kind, path[-1])


def _dot(session: Session, scope: Scope, found: Gathered, node: exp.Dot, kind: str) -> Iterator[Part]:
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


def _query(result: Result, found: Gathered, kind: str) -> None:
    """A query as a value: its columns are taken, and what shapes its rows shapes the value."""
    for _, made in result.columns.named:
        found.add(made, kind)
    found.effects |= _shaping(result.effects, found)


def _shaping(effects: Effects, found: Gathered) -> Effects:
    found.indirect |= effects.whole
    return Effects(clauses=effects.clauses, reads=effects.reads)


def _parts(node: exp.Expr, kind: str, scope: Scope) -> Iterator[Part]:
    """The parts of an expression with their influence, in the order they are written."""
    special = _SPECIAL.get(type(node))
    if special is not None:
        yield from special(node, kind)
    elif isinstance(node, exp.Window):
        yield from _window(node, kind, scope)
    elif not isinstance(node, _NO_INPUTS):
        for part in node.iter_expressions():
            yield part, kind
    elif isinstance(node, exp.Lambda):
        yield node.this, kind


def _some(node: exp.Expr, kind: str, *names: str) -> Iterator[Part]:
    for name in names:
        said = node.args.get(name)
        for part in said if isinstance(said, list) else [said]:
            if isinstance(part, exp.Expr):
                yield part, kind


def _case(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind or "conditional", "this")
    yield from _some(node, kind, "ifs", "default")


def _if(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind or "conditional", "this")
    yield from _some(node, kind, "true", "false")


def _coalesce(node: exp.Expr, kind: str) -> Iterator[Part]:
    """Every value may be taken; whether those before it are null decides."""
    every = list(_some(node, kind, "this", "expressions"))
    yield from every
    if not kind:
        yield from ((part, "conditional") for part, _ in every[:-1])


def _nullif(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind, "this")
    yield from _some(node, kind or "conditional", "this", "expression")


def _decode(node: exp.Expr, kind: str) -> Iterator[Part]:
    """Pairs of what is looked for and what is given, and perhaps a default at the end."""
    looked_in, *rest = node.expressions
    yield looked_in, kind or "conditional"
    for number, part in enumerate(rest):
        given = number % 2 == 1 or number == len(rest) - 1
        yield part, kind if given else kind or "conditional"


def _filter(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind, "this")
    yield from _some(node, kind or "filter", "expression")


def _order(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind, "this")
    yield from _some(node, kind or "sort", "expressions")


def _within_group(node: exp.Expr, kind: str) -> Iterator[Part]:
    """A percentile is of the values it is ordered by; a list is only sorted by them."""
    yield from _some(node, kind, "this")
    value = isinstance(node.this, (exp.PercentileCont, exp.PercentileDisc, exp.Mode))
    for part in node.args["expression"].expressions:
        yield part, kind if value else kind or "sort"


def _extreme(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind, "this")
    yield from _some(node, kind or "conditional", "expression")


def _in(node: exp.Expr, kind: str) -> Iterator[Part]:
    yield from _some(node, kind, "this", "expressions", "unnest", "field")
    yield from _some(node, kind or "conditional", "query")


def _window(node: exp.Window, kind: str, scope: Scope) -> Iterator[Part]:
    yield from _some(node, kind, "this")
    named: exp.Expr | None = node
    seen: set[str] = set()
    while named is not None:
        yield from _some(named, kind or "window", "partition_by", "order", "spec")
        alias = named.args.get("alias")
        name = alias.name.lower() if isinstance(alias, exp.Expr) else ""
        named = scope.windows.get(name) if name not in seen else None
        seen.add(name)


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr, str], Iterator[Part]]] = {
    exp.Case: _case,
    exp.If: _if,
    exp.Nvl2: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.DecodeCase: _decode,
    exp.Filter: _filter,
    exp.Order: _order,
    exp.WithinGroup: _within_group,
    exp.HavingMax: _extreme,
    exp.In: _in,
}
