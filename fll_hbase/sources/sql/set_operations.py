"""What do UNION, INTERSECT and EXCEPT make of two queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.sql.provenance import GENERATED, ColumnSet, RowDependencies, ColumnProvenance, QueryResult, merged, shaped
from fll_hbase.sources.sql.script_state import ScriptState

Rest = Callable[[str], ColumnProvenance | None]


def combined(session: ScriptState, node: exp.SetOperation, left: QueryResult, right: QueryResult) -> QueryResult:
    """Columns by position, or by name where the node says so, under the names of the left."""
    effects = left.effects | right.effects
    if not isinstance(node, exp.Union):
        whole = frozenset[tuple[object, str]]().union(
            *(shaped(made, "filter") for _, made in right.columns.named)
        )
        return QueryResult(left.columns, effects | RowDependencies(whole))  # type: ignore[arg-type]
    if node.args.get("by_name"):
        return QueryResult(_by_name(left.columns, right.columns), effects)
    return QueryResult(_by_position(session, left.columns, right.columns), effects)


def _by_position(session: ScriptState, left: ColumnSet, right: ColumnSet) -> ColumnSet:
    if all(side.complete and side.ordered for side in (left, right)) and len(left.named) == len(right.named):
        pairs = zip(left.named, right.named, strict=True)
        return ColumnSet(tuple((name, merged([made, other])) for (name, made), (_, other) in pairs))
    session.warn("a UNION has sides whose columns cannot be matched by position; give them in `schema`")
    named = tuple((name, replace(made, unknown=True)) for name, made in left.named)
    return ColumnSet(named, rest=_half(left.rest), complete=left.complete, ordered=left.ordered)


def _half(rest: Rest | None) -> Rest | None:
    """Columns of one side of which those of the other are not known."""
    if rest is None:
        return None

    def half(name: str) -> ColumnProvenance | None:
        made = rest(name)
        return replace(made, unknown=True, origin=None) if made else None

    return half


def _by_name(left: ColumnSet, right: ColumnSet) -> ColumnSet:
    """All columns of both; what one side lacks is null there."""
    named = [(name, merged([made, right.get(name) or GENERATED])) for name, made in left.named]
    named += [(name, made) for name, made in right.named if left.get(name) is None]
    rest = _half(left.rest or right.rest)
    return ColumnSet(tuple(named), rest, left.complete and right.complete, left.ordered and right.ordered)
