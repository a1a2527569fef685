"""Fields of one dataset in a content, the fields related to one of them, and its operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_map import CopiedFields, DerivedFields, FieldMap, fields_of
from fll_hbase.model.field_relations import edges_into, edges_out_of
from fll_hbase.model.operations import Influence, Operation
from fll_hbase.model.simple_view import Steps


def written_fields(field_map: FieldMap, dataset: Dataset) -> set[str]:
    """Return the names of the fields that are written to a dataset, including generated ones."""
    entries: Iterable[CopiedFields | DerivedFields] = chain(field_map.copied, field_map.derived)
    names = {name for entry in entries if entry.destination == dataset for name in entry.fields}
    return names.union(field.name for field in fields_of(field_map.generated, dataset))


def read_fields(field_map: FieldMap, dataset: Dataset) -> set[str]:
    """Return the names of the fields that are read from a dataset."""
    return {field.name for field in fields_of(field_map.fields, dataset)}


def related_fields(field_map: FieldMap, field: DatasetField, *, backward: bool) -> Iterator[DatasetField]:
    """Yield the source fields that lead to a field, or, unless `backward`, the fields that it leads to.

    Includes direct and indirect relations, but no relations with whole datasets. A field may be yielded
    twice: if it is related both directly and indirectly.
    """
    edges_of = edges_into if backward else edges_out_of
    for edge in edges_of(field_map, field.dataset, names={field.name}):
        near, far = edge.destination_field, edge.source_field
        dataset = edge.source
        if not backward:
            near, far, dataset = far, near, edge.destination
        if near == field.name and far is not None and dataset is not None:
            yield DatasetField(dataset, far)


def operations_into(operations: Sequence[Operation], target: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that lead into a destination field, Writes included, each after its origins.

    Indirect inputs of transforms are followed, but not indirect inputs of Writes. The result is empty if
    no Write writes the field.
    """
    steps = Steps(operations, indirect=True)
    writes = [(write.name, origin) for write, origin in steps.writes_of(target)]
    starts = {origin: Influence.DIRECT for _, origin in writes}
    return _in_order(
        steps, [*(name for name, _ in writes), *steps.reachable_operations(starts, steps.origins)]
    )


def operations_from(operations: Sequence[Operation], source: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that a source field leads to, Reads included, each after its origins.

    Indirect inputs are followed, too. The result is empty if no Read reads the field.
    """
    steps = Steps(operations, indirect=True)
    names: list[str] = []
    for read in steps.reads_of(source):
        # A Read also has other fields, so start from the consumers of this field only.
        start = read.name, source.name
        reachable = steps.reachable_operations(steps.consumers_of(start), steps.consumers)
        names += [read.name, *reachable]
        names += (name for _, writes in steps.writes_reached(start, reachable) for name in writes)
    return _in_order(steps, names)


def _in_order(steps: Steps, names: Iterable[str]) -> tuple[Operation, ...]:
    """Return the named operations, each once and after its origins."""
    return topology.sort_operations([steps.operations[name] for name in set(names)])
