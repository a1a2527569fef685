"""What do UNION, INTERSECT and EXCEPT make of two queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from fll_hbase.sources.sql.provenance import GENERATED, Columns, Effects, Made, Result, merged, shaped
from fll_hbase.sources.sql.script_state import Session

Rest = Callable[[str], Made | None]


def combined(session: Session, node: exp.SetOperation, left: Result, right: Result) -> Result:
    """Columns by position, or by name where the node says so, under the names of the left."""
    effects = left.effects | right.effects
    if not isinstance(node, exp.Union):
        whole = frozenset[tuple[object, str]]().union(
            *(shaped(made, "filter") for _, made in right.columns.named)
        )
        return Result(left.columns, effects | Effects(whole))  # type: ignore[arg-type]
    if node.args.get("by_name"):
        return Result(_by_name(left.columns, right.columns), effects)
    return Result(_by_position(session, left.columns, right.columns), effects)


def _by_position(session: Session, left: Columns, right: Columns) -> Columns:
    if all(side.complete and side.ordered for side in (left, right)) and len(left.named) == len(right.named):
        pairs = zip(left.named, right.named, strict=True)
        return Columns(tuple((name, merged([made, other])) for (name, made), (_, other) in pairs))
    session.warn("a UNION has sides whose columns cannot be matched by position; give them in `schema`")
    named = tuple((name, replace(made, unknown=True)) for name, made in left.named)
    return Columns(named, rest=_half(left.rest), complete=left.complete, ordered=left.ordered)


def _half(rest: Rest | None) -> Rest | None:
    """Columns of one side of which those of the other are not known."""
    if rest is None:
        return None

    def half(name: str) -> Made | None:
        made = rest(name)
        return replace(made, unknown=True, origin=None) if made else None

    return half


def _by_name(left: Columns, right: Columns) -> Columns:
    """All columns of both; what one side lacks is null there."""
    named = [(name, merged([made, right.get(name) or GENERATED])) for name, made in left.named]
    named += [(name, made) for name, made in right.named if left.get(name) is None]
    rest = _half(left.rest or right.rest)
    return Columns(tuple(named), rest, left.complete and right.complete, left.ordered and right.ordered)
