"""Operations of a script: a READ per source, a TRANSFORM per written column, a WRITE per target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import limit_unknown
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.sources.sql.names.table_schemas import TableSchemas
from fll_hbase.sources.sql.queries.column_provenance import (
    ColumnProvenance,
    IndirectInput,
    NamedColumn,
    describe,
    merge_columns,
    truncate,
)
from fll_hbase.sources.sql.script.script_state import TableWrite


def build_operations(writes: Sequence[TableWrite], tables: TableSchemas) -> list[Operation]:
    """Build READs, then TRANSFORMs, then one WRITE per target; names and order depend only on the writes."""
    resolved = [(write, _resolved_fields(write)) for write in writes]
    builder = _OperationBuilder(tables)
    reads = builder.build_reads(_fields_read(resolved))
    transforms: list[Transform] = []
    inputs: dict[Dataset, dict[InputField, None]] = {}
    descriptions: dict[Dataset, dict[str, None]] = {}
    sources: dict[Dataset, set[Dataset]] = {}
    for write, fields in resolved:
        transformed = [builder.build_transform(write.target, item) for item in fields]
        transforms += transformed
        target_inputs = inputs.setdefault(write.target, {})
        target_inputs |= {InputField(item.name, item.outputs[0].name): None for item in transformed}
        # A write with unknown fields has no inputs, so that the lineage lists its target as unwritten. A
        # statement known to write no field, such as DELETE, has ().
        if fields or write.fields == ():
            target_inputs |= dict.fromkeys(builder.indirect_inputs(write.dependencies.indirect))
        sources.setdefault(write.target, set()).update(
            write.dependencies.reads, (field.dataset for field in _inputs(write, fields))
        )
        description = "\n".join((write.verb, *write.dependencies.clauses))
        descriptions.setdefault(write.target, {})[description] = None
    targets = [
        builder.build_write(target, "\n".join(descriptions[target]), tuple(fields))
        for target, fields in inputs.items()
    ]
    # A statement with unknown lineage does not affect the lineage of others.
    connected = {
        write.name: [builder.read_names[dataset] for dataset in sources[write.destination]]
        for write in targets
    }
    return limit_unknown([*reads, *transforms, *targets], connected)


class _OperationBuilder:
    """Builds operations with unique names; READs come first, since the others refer to them."""

    def __init__(self, tables: TableSchemas) -> None:
        self._tables = tables
        self._names = UniqueNames()
        self.read_names: dict[Dataset, str] = {}
        # Looked up once per dataset: a lookup for each field would be quadratic for a wide table.
        self._types: dict[Dataset, dict[str, str]] = {}

    def build_reads(self, fields: dict[Dataset, set[str]]) -> list[Read]:
        """Return a READ for each dataset with the names of its fields, both sorted. Call this first."""
        reads: list[Read] = []
        # Sorted, since the checksum must not depend on the order of sets.
        for dataset in sorted(fields):
            read_name = self.read_names[dataset] = self._names.assign(f"read {dataset.name}")
            types = self._types_of(dataset)
            outputs = tuple(Field(name, types.get(name, "")) for name in sorted(fields[dataset]))
            reads.append(Read(read_name, "", dataset, "", outputs))
        return reads

    def _types_of(self, dataset: Dataset) -> dict[str, str]:
        """Return the types of a dataset's fields by name, looked up once."""
        if dataset not in self._types:
            self._types[dataset] = self._tables.types(dataset)
        return self._types[dataset]

    def build_transform(self, target: Dataset, item: NamedColumn) -> Transform:
        """Return a new TRANSFORM of a target's column, described by its expression or by what it copies."""
        name, column = item
        direct = (InputField(self.read_names[field.dataset], field.name) for field in sorted(column.direct))
        inputs = (*direct, *self.indirect_inputs(column.indirect))
        description = describe(column) or (column.origin.name if column.origin else "")
        output = Field(name, self._types_of(target).get(name, ""))
        return Transform(self._names.assign(f"{target.name}.{name}"), description, inputs, (output,))

    def build_write(self, target: Dataset, description: str, inputs: tuple[InputField, ...]) -> Write:
        """Return a new WRITE into the target, with its description cut to the maximum length."""
        name = self._names.assign(f"write {target.name}")
        return Write(name, truncate(description), target, "", inputs)

    def indirect_inputs(self, fields: frozenset[IndirectInput]) -> Iterator[InputField]:
        """Yield fields as indirect inputs, sorted, each from the READ of its dataset."""
        for field, kind in sorted(fields):
            yield InputField(self.read_names[field.dataset], field.name, Influence.INDIRECT, kind)


def _resolved_fields(write: TableWrite) -> list[NamedColumn]:
    """Return each written field once; leave out unknown ones without direct inputs, which look generated."""
    by_name: dict[str, list[ColumnProvenance]] = {}
    for name, column in write.fields or ():
        if column.direct or not column.unknown:
            by_name.setdefault(name, []).append(column)
    return [(name, merge_columns(columns)) for name, columns in by_name.items()]


def _fields_read(resolved: Sequence[tuple[TableWrite, list[NamedColumn]]]) -> dict[Dataset, set[str]]:
    """Return the fields read from each dataset; a dataset may be read without any known field."""
    names: dict[Dataset, set[str]] = {}
    for write, fields in resolved:
        for dataset in write.dependencies.reads:
            names.setdefault(dataset, set())
        for field in _inputs(write, fields):
            names.setdefault(field.dataset, set()).add(field.name)
    return names


def _inputs(write: TableWrite, fields: Sequence[NamedColumn]) -> Iterator[DatasetField]:
    """Yield all fields that a write reads, including indirect and unmapped ones."""
    yield from (field for field, _ in write.dependencies.indirect)
    yield from write.unmapped
    for _, column in fields:
        yield from column.direct
        yield from (field for field, _ in column.indirect)
