"""Column provenance: the dataset fields behind a column of a query, and influences on its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.derived_columns import derive, inputs_weight

IndirectInput: TypeAlias = tuple[DatasetField, str]
"""A field with an indirect influence, and the kind of that influence, such as `filter`."""

# Bounds of descriptions of operations, which are part of the stored lineage and its checksum.
CLAUSES_MAX, STEPS_MAX = 40, 40
TEXT_CHARS_MAX = 2_000

ELEMENT = "[]"
"""Name of the only part of a list, which represents each of its elements."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnProvenance:
    """Provenance of one column; a column without fields is generated, unless it is `unknown`.

    `text` is the expression that computes it, empty for a column of a table. `steps` are the computed columns
    to which the expression refers. `parts` are the fields of a struct, or ELEMENT of a list. `origin` is the
    field that the column plainly copies. `unknown` is set if any name in it could not be resolved.
    """

    direct: frozenset[DatasetField] = frozenset()
    indirect: frozenset[IndirectInput] = frozenset()
    text: str = ""
    steps: tuple[NamedColumn, ...] = ()
    parts: Mapping[str, ColumnProvenance] = field(default_factory=dict)
    origin: DatasetField | None = None
    unknown: bool = False

    @property
    def inputs_weight(self) -> int:
        """Return the weight of its inputs in columns (see `derived_columns`)."""
        return inputs_weight(len(self.direct) + len(self.indirect))

    def with_text(self, name: str) -> ColumnProvenance:
        """Return the column with `name` as its text, unless it already has a text."""
        return self if self.text else replace(self, text=name)

    def with_indirect(self, fields: Set[IndirectInput]) -> ColumnProvenance:
        """Return the column with further indirect inputs."""
        return replace(self, indirect=self.indirect | fields)


NamedColumn: TypeAlias = tuple[str, ColumnProvenance]
ColumnFallback: TypeAlias = Callable[[str], ColumnProvenance | None]

GENERATED = ColumnProvenance()
UNKNOWN = ColumnProvenance(unknown=True)


@dataclass(frozen=True, slots=True, eq=False)
class RowDependencies:
    """Fields that influence all rows of a query, the texts of its clauses, and the datasets it reads."""

    indirect: frozenset[IndirectInput] = frozenset()
    clauses: tuple[str, ...] = ()
    reads: frozenset[Dataset] = frozenset()

    def __or__(self, other: RowDependencies) -> RowDependencies:
        """Return the merged dependencies of both, with the clauses of this one first."""
        return merge_dependencies([self, other])


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSet:
    """Columns of a table or query. Their order is known if `is_ordered`.

    `fallback` returns the column of a name that is not in `items`, or None if it cannot be determined. If
    `is_complete`, `items` are all columns that `SELECT *` returns.
    """

    items: tuple[NamedColumn, ...]
    fallback: ColumnFallback | None = None
    is_complete: bool = True
    is_ordered: bool = True
    _by_name: Mapping[str, ColumnProvenance] = field(init=False)

    def __post_init__(self) -> None:
        """Index the columns by name, as written and in lower case; the first column of a name wins."""
        backwards = self.items[::-1]
        # An exact spelling wins over a spelling that differs in case.
        by_name = {name.lower(): column for name, column in backwards} | dict(backwards)
        object.__setattr__(self, "_by_name", by_name)

    @property
    def is_positional(self) -> bool:
        """Return whether all columns and their order are known."""
        return self.is_complete and self.is_ordered

    def values(self) -> list[ColumnProvenance]:
        """Return the columns without their names."""
        return [column for _, column in self.items]

    def get(self, name: str) -> ColumnProvenance | None:
        """Return the listed column of a name, preferably in exact case, or None if not listed."""
        return self._by_name.get(name) or self._by_name.get(name.lower())

    def lookup(self, name: str) -> ColumnProvenance | None:
        """Return the listed column with a name, else the result of `fallback`, or None without either."""
        return self.get(name) or (self.fallback(name) if self.fallback else None)


UNKNOWN_COLUMNS = ColumnSet((), lambda _: UNKNOWN, is_complete=False, is_ordered=False)


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """An item of a FROM: its columns, and its name in lower case, split at the dots."""

    name: tuple[str, ...]
    columns: ColumnSet

    @property
    def dotted_name(self) -> str:
        """Return the name with its dots."""
        return ".".join(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class QueryResult:
    """Columns that a query returns, and influences on its rows."""

    columns: ColumnSet
    dependencies: RowDependencies = field(default_factory=RowDependencies)


def merge_dependencies(dependencies: Iterable[RowDependencies]) -> RowDependencies:
    """Merge dependencies of a query's parts: all fields and datasets, and distinct clauses in order.

    The result has at most CLAUSES_MAX clauses. Raises TooManyColumns.
    """
    parts = [part for part in dependencies if part.indirect or part.clauses or part.reads]
    if len(parts) == 1:
        return parts[0]
    indirect: frozenset[IndirectInput] = frozenset().union(*(part.indirect for part in parts))
    derive(inputs_weight(len(indirect)))
    return RowDependencies(
        indirect=indirect,
        clauses=tuple(dict.fromkeys(clause for part in parts for clause in part.clauses))[:CLAUSES_MAX],
        reads=frozenset().union(*(part.reads for part in parts)),
    )


def merge_columns(columns: Iterable[ColumnProvenance]) -> ColumnProvenance:
    """Merge alternatives into one column whose value comes from any of them, as in a UNION.

    The result has all their fields, the distinct texts joined by ` | `, and their steps, at most STEPS_MAX.
    It is `unknown` if any of them is, has `parts` only if all have the same parts, and has no `origin`. A
    single column is returned unchanged, and a generated column without any. Raises TooManyColumns.
    """
    alternatives = list(columns)
    if len(alternatives) == 1:
        return alternatives[0]
    texts = dict.fromkeys(column.text for column in alternatives if column.text)
    # Columns share steps, so identity compares them without walking their graphs.
    steps = {id(step[1]): step for column in alternatives for step in column.steps}
    merged = ColumnProvenance(
        direct=frozenset().union(*(column.direct for column in alternatives)),
        indirect=frozenset().union(*(column.indirect for column in alternatives)),
        text=truncate(" | ".join(texts)),
        steps=tuple(steps.values())[:STEPS_MAX],
        parts=merge_parts([column.parts for column in alternatives]),
        unknown=any(column.unknown for column in alternatives),
    )
    derive(merged.inputs_weight)
    return merged


def merge_parts(parts: Sequence[Mapping[str, ColumnProvenance]]) -> Mapping[str, ColumnProvenance]:
    """Merge the parts of structs or lists by name, if all have the same names in the same order, else {}."""
    first = parts[0] if parts else {}
    if not first or any(tuple(others) != tuple(first) for others in parts):
        return {}
    return {name: merge_columns(others[name] for others in parts) for name in first}


def all_fields(columns: ColumnSet) -> frozenset[DatasetField]:
    """Return all fields behind the listed columns, direct and indirect, each once."""
    # Copies of a column share its sets, which may have thousands of fields each.
    direct = {id(column.direct): column.direct for column in columns.values()}
    indirect = {id(column.indirect): column.indirect for column in columns.values()}
    others = ({field for field, _ in fields} for fields in indirect.values())
    return frozenset[DatasetField]().union(*direct.values(), *others)


def as_indirect(column: ColumnProvenance, kind: str) -> frozenset[IndirectInput]:
    """Return all fields behind a column, direct and indirect, as indirect inputs of the given kind."""
    return frozenset((field, kind) for field in column.direct | {field for field, _ in column.indirect})


def rows_of(columns: Iterable[ColumnProvenance], kind: str) -> RowDependencies:
    """Return the dependencies of rows influenced by columns in the way that `kind` names."""
    return RowDependencies(
        frozenset[IndirectInput]().union(*(as_indirect(column, kind) for column in columns))
    )


def truncate(text: str) -> str:
    """Return a text, cut to TEXT_CHARS_MAX characters with an ellipsis if it is longer."""
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"


def describe(column: ColumnProvenance) -> str:
    """Return the expression of a column, with `name: expression` lines for the columns that it uses.

    There are at most STEPS_MAX such lines, and at most TEXT_CHARS_MAX characters in all.
    """
    lines = [column.text]
    seen: set[str] = set()
    stack = list(reversed(column.steps))
    # Chained queries can reach a column on exponentially many paths, so show each line once.
    while stack and len(lines) <= STEPS_MAX:
        name, step = stack.pop()
        line = f"{name}: {step.text}"
        if line not in seen:
            seen.add(line)
            lines.append(line)
            stack += reversed(step.steps)
    return truncate("\n".join(lines))
