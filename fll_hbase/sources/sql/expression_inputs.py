"""How does each part of an expression influence it: as its value, or by deciding about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from sqlglot import exp

Part: TypeAlias = tuple[exp.Expr, str]
"""A part of an expression, and the kind of its influence; empty where it is direct."""

_NO_INPUTS = (exp.Grouping, exp.GroupingId, exp.DataType, exp.Lambda)


def parts(node: exp.Expr, kind: str, windows: Mapping[str, exp.Expr]) -> Iterator[Part]:
    """The parts of an expression in the order they are written; `windows` are those that have names."""
    special = _SPECIAL.get(type(node))
    if special is not None:
        yield from special(node, kind)
    elif isinstance(node, exp.Window):
        yield from _window(node, kind, windows)
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


def _window(node: exp.Window, kind: str, windows: Mapping[str, exp.Expr]) -> Iterator[Part]:
    yield from _some(node, kind, "this")
    named: exp.Expr | None = node
    seen: set[str] = set()
    while named is not None:
        yield from _some(named, kind or "window", "partition_by", "order", "spec")
        alias = named.args.get("alias")
        name = alias.name.lower() if isinstance(alias, exp.Expr) else ""
        named = windows.get(name) if name not in seen else None
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
