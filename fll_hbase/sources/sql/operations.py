"""Which operations do the writes of a script come to: a READ for each source, a TRANSFORM for each column
written, a WRITE for each target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.sources.sql.provenance import ColumnProvenance, Shaping, cut, described, merged
from fll_hbase.sources.sql.script_state import TableWrite
from fll_hbase.sources.sql.table_schemas import TableSchemas


def operations_of(writings: Sequence[TableWrite], tables: TableSchemas) -> list[Operation]:
    """The operations of one run; names and order depend on the writes alone."""
    return _Run(tables).of(writings)


class _Run:
    """Operations in the making, and the names they have."""

    def __init__(self, tables: TableSchemas) -> None:
        self._tables = tables
        self._names = UniqueNames()
        self._reads: dict[Dataset, str] = {}
        self._read: dict[Dataset, set[str]] = {}

    def of(self, writings: Sequence[TableWrite]) -> list[Operation]:
        told = [(writing, _told(writing)) for writing in writings]
        for writing, fields in told:
            for end_point in writing.effects.reads:
                self._read.setdefault(end_point, set())
            for leaf in _leaves(writing, fields):
                self._read.setdefault(leaf.dataset, set()).add(leaf.name)
        reads = [self._make_read(end_point) for end_point in sorted(self._read)]
        transforms: list[Transform] = []
        taken: dict[Dataset, dict[InputField, None]] = {}
        said: dict[Dataset, dict[str, None]] = {}
        for writing, fields in told:
            inputs = taken.setdefault(writing.target, {})
            types = self._tables.types(writing.target)
            for name, made in fields:
                transform = self._transform(writing.target, Field(name, types.get(name, "")), made)
                transforms.append(transform)
                inputs[InputField(transform.name, name)] = None
            if fields or writing.fields == ():
                inputs.update(dict.fromkeys(self._indirect(writing.effects.whole)))
            lines = "\n".join((writing.verb, *writing.effects.clauses))
            said.setdefault(writing.target, {})[lines] = None
        writes = [
            Write(self._names.assign(f"write {to.name}"), cut("\n".join(said[to])), to, "", tuple(inputs))
            for to, inputs in taken.items()
        ]
        return [*reads, *transforms, *writes]

    def _make_read(self, end_point: Dataset) -> Read:
        name = self._reads[end_point] = self._names.assign(f"read {end_point.name}")
        types = self._tables.types(end_point)
        outputs = tuple(Field(field, types.get(field, "")) for field in sorted(self._read[end_point]))
        return Read(name, "", end_point, "", outputs)

    def _transform(self, target: Dataset, field: Field, made: ColumnProvenance) -> Transform:
        direct = (InputField(self._reads[leaf.dataset], leaf.name) for leaf in sorted(made.direct))
        inputs = (*direct, *self._indirect(made.indirect))
        said = described(made) or (made.origin.name if made.origin else "")
        return Transform(self._names.assign(f"{target.name}.{field.name}"), said, inputs, (field,))

    def _indirect(self, shaping: frozenset[Shaping]) -> Iterator[InputField]:
        for leaf, kind in sorted(shaping):
            yield InputField(self._reads[leaf.dataset], leaf.name, Influence.INDIRECT, kind)


def _told(writing: TableWrite) -> list[tuple[str, ColumnProvenance]]:
    """Each field once whose making is known; one of which nothing was resolved must not look generated."""
    by_name: dict[str, list[ColumnProvenance]] = {}
    for name, made in writing.fields or ():
        if made.direct or not made.unknown:
            by_name.setdefault(name, []).append(made)
    return [(name, merged(every)) for name, every in by_name.items()]


def _leaves(writing: TableWrite, fields: Sequence[tuple[str, ColumnProvenance]]) -> Iterator[DatasetField]:
    yield from (leaf for leaf, _ in writing.effects.whole)
    yield from writing.seen
    for _, made in fields:
        yield from made.direct
        yield from (leaf for leaf, _ in made.indirect)
