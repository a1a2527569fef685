"""Column provenance: the dataset fields behind a column of a query, and what shapes its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.derived_columns import derive, inputs_weight

IndirectInput: TypeAlias = tuple[DatasetField, str]
"""A field with an indirect influence, and the kind of that influence, e.g. `filter`."""

# Bounds on descriptions of operations, which are part of the stored lineage and its checksum.
CLAUSES_MAX, STEPS_MAX = 40, 40
TEXT_CHARS_MAX = 2_000

ELEMENT = "[]"
"""Name of the only part of a list, which is each of its elements."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnProvenance:
    """Provenance of one column; a column without fields is generated.

    `text` is the expression that computes it, empty for a column of a table; `steps` are the computed columns
    that the expression refers to; `parts` are the fields of a struct, or ELEMENT of a list; `origin` is the
    field that the column is a plain copy of; `unknown` is set if any name in it could not be resolved.
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
        """How many columns its inputs count as, see `derived_columns`."""
        return inputs_weight(len(self.direct) + len(self.indirect))

    def with_text(self, name: str) -> ColumnProvenance:
        """Return the column with a name as its text, unless it has one."""
        return self if self.text else replace(self, text=name)


NamedColumn: TypeAlias = tuple[str, ColumnProvenance]
ColumnFallback: TypeAlias = Callable[[str], ColumnProvenance | None]

GENERATED = ColumnProvenance()
UNKNOWN = ColumnProvenance(unknown=True)


@dataclass(frozen=True, slots=True, eq=False)
class RowDependencies:
    """Fields that decide about all rows of a query, the texts of the clauses, and the datasets it reads."""

    indirect: frozenset[IndirectInput] = frozenset()
    clauses: tuple[str, ...] = ()
    reads: frozenset[Dataset] = frozenset()

    def __or__(self, other: RowDependencies) -> RowDependencies:
        """Return the merged dependencies of both, the clauses of this one first."""
        return merge_dependencies([self, other])


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSet:
    """Columns of a table or query. They are in their order if `is_ordered`.

    `fallback` gives the column of a name that is not in `items`, or None if it cannot be determined.
    `items` are all columns that `SELECT *` returns if `is_complete`.
    """

    items: tuple[NamedColumn, ...]
    fallback: ColumnFallback | None = None
    is_complete: bool = True
    is_ordered: bool = True
    _by_name: Mapping[str, ColumnProvenance] = field(init=False)

    def __post_init__(self) -> None:
        """Index the columns by name, as written and in lower case; the first of a name wins."""
        by_name: dict[str, ColumnProvenance] = {}
        for name, column in self.items:
            by_name.setdefault(name, column)
        # An exact spelling wins over one that differs in case.
        for name, column in self.items:
            by_name.setdefault(name.lower(), column)
        object.__setattr__(self, "_by_name", by_name)

    @property
    def is_positional(self) -> bool:
        """Whether all columns are known, and in their order."""
        return self.is_complete and self.is_ordered

    def values(self) -> list[ColumnProvenance]:
        """Return the columns without their names."""
        return [column for _, column in self.items]

    def get(self, name: str) -> ColumnProvenance | None:
        """Return the listed column of a name, exact case first, else in any case, or None if not listed."""
        return self._by_name.get(name) or self._by_name.get(name.lower())

    def lookup(self, name: str) -> ColumnProvenance | None:
        """Return the listed column of a name, else what `fallback` gives for it, or None without either."""
        return self.get(name) or (self.fallback(name) if self.fallback else None)


UNKNOWN_COLUMNS = ColumnSet((), lambda _: UNKNOWN, is_complete=False, is_ordered=False)


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """An item of a FROM: its name, split at the dots and in lower case, and its columns."""

    name: tuple[str, ...]
    columns: ColumnSet

    @property
    def dotted_name(self) -> str:
        """The name with its dots."""
        return ".".join(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class QueryResult:
    """Columns that a query returns, and what decides about its rows."""

    columns: ColumnSet
    dependencies: RowDependencies = field(default_factory=RowDependencies)


def merge_dependencies(dependencies: Iterable[RowDependencies]) -> RowDependencies:
    """Merge dependencies of parts of a query: all fields and datasets, and distinct clauses in their order.

    At most CLAUSES_MAX clauses.
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
    It is `unknown` if any is, has the `parts` if all have the same, and no `origin`. A single column is
    returned as it is, and without any column the result is a generated one.
    """
    alternatives = list(columns)
    if len(alternatives) == 1:
        return alternatives[0]
    texts = dict.fromkeys(column.text for column in alternatives if column.text)
    # Columns share steps: identity compares them without walking their graphs.
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
    """Return the parts of structs or lists that have the same ones, else {}."""
    first = parts[0] if parts else {}
    if not first or any(tuple(others) != tuple(first) for others in parts):
        return {}
    return {name: merge_columns(others[name] for others in parts) for name in first}


def all_fields(columns: ColumnSet) -> frozenset[DatasetField]:
    """Return all fields behind the listed columns, direct and indirect, each once."""
    # Copies of a column share its sets, and each set may have thousands of fields.
    direct = {id(column.direct): column.direct for column in columns.values()}
    indirect = {id(column.indirect): column.indirect for column in columns.values()}
    others = ({field for field, _ in fields} for fields in indirect.values())
    return frozenset[DatasetField]().union(*direct.values(), *others)


def as_indirect(column: ColumnProvenance, kind: str) -> frozenset[IndirectInput]:
    """Return all fields behind a column, direct and indirect, as indirect inputs of the one kind given."""
    return frozenset((field, kind) for field in column.direct | {field for field, _ in column.indirect})


def rows_of(columns: Iterable[ColumnProvenance], kind: str) -> RowDependencies:
    """Return what decides about rows if columns do, in the way that `kind` names."""
    return RowDependencies(
        frozenset[IndirectInput]().union(*(as_indirect(column, kind) for column in columns))
    )


def truncate(text: str) -> str:
    """Return a text of at most TEXT_CHARS_MAX characters as it is, a longer one cut, with an ellipsis."""
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"


def describe(column: ColumnProvenance) -> str:
    """Return the expression of a column, with `name: expression` lines for the columns it is computed from.

    There are at most STEPS_MAX such lines, and TEXT_CHARS_MAX characters in all.
    """
    lines = [column.text]
    seen: set[str] = set()
    stack = list(reversed(column.steps))
    # Chained queries can reach one column on exponentially many paths. Each line is shown once.
    while stack and len(lines) <= STEPS_MAX:
        name, step = stack.pop()
        line = f"{name}: {step.text}"
        if line not in seen:
            seen.add(line)
            lines.append(line)
            stack += reversed(step.steps)
    return truncate("\n".join(lines))
