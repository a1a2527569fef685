"""What does a join do: its keys shape the rows, and some are one column afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from fll_hbase.sources.sql.expressions import Answer, gather
from fll_hbase.sources.sql.provenance import UNKNOWN, RowDependencies, ColumnProvenance, TableSource, merged, shaped
from fll_hbase.sources.sql.scope import Scope
from fll_hbase.sources.sql.script_state import ScriptState

_HIDING = {"SEMI", "ANTI"}


def join(session: ScriptState, scope: Scope, answer: Answer, node: exp.Join, number: int) -> None:
    """Join the relations of the scope from `number` on to those before."""
    hides = bool({node.kind, node.side} & _HIDING)
    keys = [name.name for name in node.args.get("using") or ()]
    if node.method == "NATURAL":
        keys = _common(session, scope, number)
    for key in keys:
        known = scope.merged.get(key.lower())
        left = known[1] if known else _key(session, scope.relations[:number], key)
        right = _key(session, scope.relations[number:], key)
        scope.found.append(RowDependencies(shaped(left, "join") | shaped(right, "join")))
        if not hides:
            scope.merged[key.lower()] = (key, _merged(node.side, left, right))
    if keys:
        scope.found.append(RowDependencies(clauses=(f"USING ({', '.join(keys)})",)))
    if node.args.get("on") is not None:
        scope.found.append(on(session, scope, answer, node.args["on"]))
    if hides:
        scope.hide(number)


def on(session: ScriptState, scope: Scope, answer: Answer, condition: exp.Expr) -> RowDependencies:
    """What a condition that joins shapes rows by, and its text."""
    found = gather(session, scope, answer, [(condition, "join")])
    text = session.texts.item("ON", (found.start, found.end)) if found.start >= 0 else ""
    return RowDependencies(frozenset(found.indirect), (f"ON {text}",) if text else ()) | found.effects


def _merged(side: str, left: ColumnProvenance, right: ColumnProvenance) -> ColumnProvenance:
    if side == "FULL":
        return merged([left, right])
    return right if side == "RIGHT" else left


def _key(session: ScriptState, relations: Sequence[TableSource], key: str) -> ColumnProvenance:
    """The column of a key on one side."""
    having = [found for one in relations if (found := one.columns.get(key)) is not None]
    open_ = [one.columns.rest for one in relations if one.columns.rest is not None]
    if not having and len(open_) == 1:
        having = [found for found in (open_[0](key),) if found is not None]
    if len(having) == 1:
        return having[0]
    session.warn(f"column {key!r} of a join: which table has it is not known; give them in `schema`")
    return UNKNOWN


def _common(session: ScriptState, scope: Scope, number: int) -> list[str]:
    """The columns that both sides of a natural join have, in the order of the left."""
    if not all(one.columns.complete for one in scope.relations):
        session.warn("NATURAL JOIN: the columns of both sides are not known; give them in `schema`")
    right = {name.lower() for one in scope.relations[number:] for name, _ in one.columns.named}
    left = [name for one in scope.relations[:number] for name, _ in one.columns.named]
    return [name for name in dict.fromkeys(left) if name.lower() in right]
