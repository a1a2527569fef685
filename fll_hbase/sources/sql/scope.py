"""Which column does a name mean: the relations of a query, then those of the queries around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from sqlglot import exp

from fll_hbase.sources.sql.provenance import GENERATED, RowDependencies, ColumnProvenance, TableSource, QueryResult, together
from fll_hbase.sources.sql.script_state import ScriptState

_ALIASES_BESIDE = {"spark", "databricks", "snowflake", "redshift"}
"""Dialects in which an expression may name the alias of one before it."""


class Rank(Enum):
    """Where the alias of a selected column stands: after those of tables, before unknown ones, or first."""

    LAST = "last"
    BEFORE_UNKNOWN = "before unknown"
    FIRST = "first"


@dataclass(slots=True, eq=False)
class Scope:
    """Where names of one query are looked up.

    `merged` are the keys of joins that name them once; `aliases` the columns selected so far, by name in
    lower case; `taken` are columns that can only be of a table whose columns are not known; `found` is what
    relations and joins do to the rows.
    """

    queries: Mapping[str, QueryResult]
    parent: Scope | None = None
    relations: list[TableSource] = field(default_factory=list)
    found: list[RowDependencies] = field(default_factory=list)
    merged: dict[str, tuple[str, ColumnProvenance]] = field(default_factory=dict)
    aliases: dict[str, ColumnProvenance] = field(default_factory=dict)
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    rank: Rank = Rank.LAST
    taken: set[str] = field(default_factory=set)
    _named: dict[str, list[TableSource]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for relation in self.relations:
            self._name(relation)

    @property
    def effects(self) -> RowDependencies:
        """What its relations and joins do to the rows."""
        return together(self.found)

    def put(self, relation: TableSource) -> None:
        """One more relation that names may mean."""
        self.relations.append(relation)
        self._name(relation)

    def hide(self, after: int) -> None:
        """Relations from that number on are seen no more."""
        for relation in self.relations[after:]:
            self._named[relation.name[-1] if relation.name else ""].remove(relation)
        del self.relations[after:]

    def _name(self, relation: TableSource) -> None:
        self._named.setdefault(relation.name[-1] if relation.name else "", []).append(relation)

    def around(self) -> Iterator[Scope]:
        """This scope and those of the queries around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def relation(self, parts: Sequence[str]) -> TableSource | None:
        """The relation of a name; a full name may be said by its last part."""
        said = tuple(part.lower() for part in parts)
        named = self._named.get(said[-1], ())
        return next((one for one in named if one.name[-len(said) :] == said), None)


def resolve(session: ScriptState, scope: Scope, parts: Sequence[str]) -> ColumnProvenance | None:
    """The column that a name, in its parts, means; None with a warning where that is not known."""
    for cut in range(len(parts) - 1, 0, -1):
        for around in scope.around():
            relation = around.relation(parts[:cut])
            if relation is not None:
                return _of_relation(session, relation, parts[cut], parts[cut + 1 :])
    for around in scope.around():
        found = _unqualified(session, around, parts[0], of_query=around is scope)
        if isinstance(found, str):
            session.warn(f"column {'.'.join(parts)!r}: {found}")
            return None
        if found is not None:
            return below(session, found, parts[1:])
    session.warn(f"column {'.'.join(parts)!r}: {_nowhere(scope)}")
    return None


def below(session: ScriptState, made: ColumnProvenance, path: Sequence[str]) -> ColumnProvenance:
    """A field inside a column: just that where it is known, else the column."""
    for number, step in enumerate(path):
        part = made.parts.get(step.lower())
        if part is None:
            if made.origin is None:
                return replace(made, parts={})
            deepest = session.tables.nested_field(made.origin, path[number:])
            direct = made.direct if deepest == made.origin else frozenset((deepest,))
            return ColumnProvenance(direct=direct, indirect=made.indirect, unknown=made.unknown)
        made = part
    return made


def _of_relation(session: ScriptState, relation: TableSource, name: str, path: Sequence[str]) -> ColumnProvenance | None:
    found = relation.columns.get(name) or (relation.columns.rest(name) if relation.columns.rest else None)
    if found is None:
        session.warn(f"column {name!r}: {'.'.join(relation.name)!r} is not known to have it")
        return None
    return below(session, found, path)


def _unqualified(session: ScriptState, scope: Scope, name: str, *, of_query: bool) -> ColumnProvenance | str | None:
    """The column, or why it cannot be told which; None where this scope has none of that name."""
    alias = scope.aliases.get(name.lower()) if of_query else None
    if alias is not None and scope.rank is Rank.FIRST:
        return alias
    if name.lower() in scope.merged:
        return scope.merged[name.lower()][1]
    having = [found for one in scope.relations if (found := one.columns.get(name)) is not None]
    if len(having) > 1:
        return f"{len(having)} relations have one"
    if having:
        return having[0]
    return _of_rest(session, scope, name, alias)


def _of_rest(session: ScriptState, scope: Scope, name: str, alias: ColumnProvenance | None) -> ColumnProvenance | str | None:
    """The column of a relation whose columns are not all known, if only one can have it."""
    open_ = [one for one in scope.relations if one.columns.rest is not None]
    if name.lower() in session.variables:
        return GENERATED
    if not open_:
        return alias
    if len(open_) > 1:
        names = ", ".join(repr(".".join(one.name)) for one in open_)
        return f"which of {names} has it is not known; name its table, or give `schema`"
    if alias is not None and name.lower() not in scope.taken:
        if scope.rank is Rank.BEFORE_UNKNOWN:
            return alias
        if session.spoken in _ALIASES_BESIDE:
            return "may be one of the table or the alias before it; give `schema`"
    around = [one for outer in scope.around() if outer is not scope for one in outer.relations]
    if any(one.columns.get(name) for one in around):
        return "a query around has one, and the table here may have; name its table, or give `schema`"
    scope.taken.add(name.lower())
    rest = open_[0].columns.rest
    return (rest(name) if rest else None) or "what it comes from is not known"


def _nowhere(scope: Scope) -> str:
    if not scope.relations:
        return "there is no table it could be of"
    return f"none of {', '.join(repr('.'.join(one.name)) for one in scope.relations)} is known to have it"
