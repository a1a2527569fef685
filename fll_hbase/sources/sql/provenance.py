"""What is a column made of: fields of end points, directly or by shaping it, through which expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fll_hbase.model.operations import Dataset, DatasetField

Shaping: TypeAlias = tuple[DatasetField, str]
"""A field that has indirect influence, and of which kind."""

CLAUSES_MAX, STEPS_MAX = 40, 40
TEXT_CHARS_MAX = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class ColumnProvenance:
    """A column; without fields it is generated.

    `text` is the expression that made it, empty for a column of a table; `steps` are the columns which that
    names and which are made themselves; `parts` are the fields of a struct, by name in lower case; `origin`
    is the field that it is a plain copy of. It is `unknown` where something in it could not be resolved.
    """

    direct: frozenset[DatasetField] = frozenset()
    indirect: frozenset[Shaping] = frozenset()
    text: str = ""
    steps: tuple[tuple[str, ColumnProvenance], ...] = ()
    parts: Mapping[str, ColumnProvenance] = field(default_factory=dict)
    origin: DatasetField | None = None
    unknown: bool = False


GENERATED = ColumnProvenance()
UNKNOWN = ColumnProvenance(unknown=True)


@dataclass(frozen=True, slots=True, eq=False)
class RowDependencies:
    """What shapes all rows of a query, the clauses that say so, and the end points it reads."""

    whole: frozenset[Shaping] = frozenset()
    clauses: tuple[str, ...] = ()
    reads: frozenset[Dataset] = frozenset()

    def __or__(self, other: RowDependencies) -> RowDependencies:
        return together([self, other])


def together(every: Iterable[RowDependencies]) -> RowDependencies:
    """The effects of several parts of a query; clauses in the order given."""
    each = [one for one in every if one.whole or one.clauses or one.reads]
    if len(each) == 1:
        return each[0]
    return RowDependencies(
        whole=frozenset().union(*(one.whole for one in each)),
        clauses=tuple(dict.fromkeys(clause for one in each for clause in one.clauses))[:CLAUSES_MAX],
        reads=frozenset().union(*(one.reads for one in each)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSet:
    """The columns of a table or query, in order where `ordered`.

    `rest` makes columns that are not among those `named`; it gives None where it cannot be told of what.
    A `SELECT *` gives them all where `complete`.
    """

    named: tuple[tuple[str, ColumnProvenance], ...]
    rest: Callable[[str], ColumnProvenance | None] | None = None
    complete: bool = True
    ordered: bool = True
    index: Mapping[str, ColumnProvenance] = field(init=False)

    def __post_init__(self) -> None:
        index: dict[str, ColumnProvenance] = {}
        for name, made in self.named:
            index.setdefault(name, made)
        for name, made in self.named:
            index.setdefault(name.lower(), made)
        object.__setattr__(self, "index", index)

    def get(self, name: str) -> ColumnProvenance | None:
        """The column of a name, else that of the name in any case."""
        return self.index.get(name) or self.index.get(name.lower())


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """What stands in a FROM: a name, in parts and in lower case, and its columns."""

    name: tuple[str, ...]
    columns: ColumnSet


@dataclass(frozen=True, slots=True, eq=False)
class QueryResult:
    """What a query gives."""

    columns: ColumnSet
    effects: RowDependencies = field(default_factory=RowDependencies)


def merged(every: Iterable[ColumnProvenance]) -> ColumnProvenance:
    """A column that takes its values from any of several."""
    each = list(every)
    if len(each) == 1:
        return each[0]
    texts = dict.fromkeys(made.text for made in each if made.text)
    steps = {id(step[1]): step for made in each for step in made.steps}
    return ColumnProvenance(
        direct=frozenset().union(*(made.direct for made in each)),
        indirect=frozenset().union(*(made.indirect for made in each)),
        text=cut(" | ".join(texts)),
        steps=tuple(steps.values())[:STEPS_MAX],
        unknown=any(made.unknown for made in each),
    )


def seen(columns: ColumnSet) -> frozenset[DatasetField]:
    """All fields behind some columns."""
    return frozenset(leaf for _, made in columns.named for leaf, _ in shaped(made, ""))


def shaped(made: ColumnProvenance, kind: str) -> frozenset[Shaping]:
    """All that is behind a column, as influence of one kind."""
    return frozenset((leaf, kind) for leaf in made.direct | {leaf for leaf, _ in made.indirect})


def cut(text: str) -> str:
    """The text, or its beginning where it is very long."""
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"


def described(made: ColumnProvenance) -> str:
    """The text of a column, and below it that of each column it is made through."""
    lines = [made.text]
    seen: set[str] = set()
    waiting = list(reversed(made.steps))
    while waiting and len(lines) <= STEPS_MAX:
        name, step = waiting.pop()
        line = f"{name}: {step.text}"
        if line not in seen:
            seen.add(line)
            lines.append(line)
            waiting += reversed(step.steps)
    return cut("\n".join(lines))
