"""Which fields of a target do the columns of a query go into: by position, by list, by name, by partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from fll_hbase.model.operations import Dataset
from fll_hbase.sources.sql.provenance import ColumnSet, ColumnProvenance
from fll_hbase.sources.sql.scope import below
from fll_hbase.sources.sql.script_state import ScriptState

Named = tuple[str, ColumnProvenance]


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Where a statement writes: `listed` are the columns it names, in order, `static` the partitions with a
    value of their own, `dynamic` those that the last columns of the query go into."""

    end_point: Dataset
    listed: tuple[str, ...] = ()
    static: tuple[Named, ...] = ()
    dynamic: tuple[str, ...] = ()
    by_name: bool = False


def target_of(session: ScriptState, node: exp.Expr, *, by_name: bool = False) -> Target:
    """The target that stands behind INTO, CREATE and their like."""
    table = node.this if isinstance(node, exp.Schema) else node
    listed = tuple(one.name for one in node.expressions) if isinstance(node, exp.Schema) else ()
    partition = table.args.get("partition") or node.args.get("partition")
    static: list[Named] = []
    dynamic: list[str] = []
    for one in partition.expressions if isinstance(partition, exp.Partition) else ():
        if isinstance(one, exp.EQ):
            static.append((one.this.name, ColumnProvenance(text="?")))
        else:
            dynamic.append(one.name)
    return Target(session.end_point(table), listed, tuple(static), tuple(dynamic), by_name)


def matched(session: ScriptState, target: Target, columns: ColumnSet) -> list[Named] | None:
    """The fields written, None where that cannot be told of the columns in between."""
    name = target.end_point.name
    names = None if target.by_name else _names(session, target)
    if names is None:
        return _named_as_in_query(session, target, columns)
    if not (columns.complete and columns.ordered):
        session.warn(f"what goes into which column of {name!r} is not known; give all tables in `schema`")
        return None
    if len(names) != len(columns.named):
        session.warn(f"{name!r} has {len(names)} columns to write, the query gives {len(columns.named)}")
    pairs = zip(names, (made for _, made in columns.named), strict=False)
    return [*_deep(session, target.end_point, pairs), *target.static]


def _named_as_in_query(session: ScriptState, target: Target, columns: ColumnSet) -> list[Named] | None:
    """Fields named as in the query: BY NAME says so, and else where nothing speaks against it."""
    named = list(columns.named)
    if not target.by_name:
        name, known = target.end_point.name, session.tables.schema(target.end_point)
        named = [(column, made) for column, made in named if made.origin or column.isidentifier()]
        unlike = known is not None and not {one for one, _ in named} <= {field.name for field in known.fields}
        taken = "" if unlike else " taken to be named as in the query;"
        session.warn(
            f"the columns of {name!r}, which is written by position, are not known;{taken} "
            "give them in `schema`"
        )
        if unlike:
            return None
    return [*named, *target.static] if named or columns.complete else None


def declared(session: ScriptState, end_point: Dataset) -> list[str] | None:
    """The columns of a table in their order, where that is known."""
    known = session.tables.schema(end_point)
    if known is None or not known.declared:
        return None
    return list(dict.fromkeys(field.name.partition("/")[0] for field in known.fields))


def _names(session: ScriptState, target: Target) -> list[str] | None:
    names: Sequence[str] | None = target.listed or declared(session, target.end_point)
    if names is None:
        return None
    apart = {name.lower() for name in (*(name for name, _ in target.static), *target.dynamic)}
    spelling = {name.lower(): name for name in declared(session, target.end_point) or ()}
    inner = [name for name in names if name.lower() not in apart]
    return [spelling.get(name.lower(), name) for name in (*inner, *target.dynamic)]


def _deep(session: ScriptState, end_point: Dataset, pairs: Iterator[Named]) -> Iterator[Named]:
    """A struct goes into the nested fields where the target has no field for the whole."""
    known = session.tables.schema(end_point)
    names = [field.name for field in known.fields] if known and known.declared else []
    nested: dict[str, list[str]] = {}
    for name in names:
        head, slash, _ = name.partition("/")
        if slash:
            nested.setdefault(head, []).append(name)
    for name, made in pairs:
        if name in nested and name not in names:
            for path in nested[name]:
                yield path, below(session, made, path.split("/")[1:])
        else:
            yield name, made
