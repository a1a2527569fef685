"""Fields of one dataset in a field map, and the fields of other datasets that one of them is related to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_map import CopiedFields, DerivedFields, FieldMap, fields_of
from fll_hbase.model.source_fields import SourceFields


def written_fields(field_map: FieldMap, dataset: Dataset) -> set[str]:
    """Return the names of the fields that are written to a dataset, generated ones included."""
    entries: Iterable[CopiedFields | DerivedFields] = chain(field_map.copied, field_map.derived)
    names = {name for entry in entries if entry.destination == dataset for name in entry.fields}
    return names.union(field.name for field in fields_of(field_map.generated, dataset))


def read_fields(field_map: FieldMap, dataset: Dataset) -> set[str]:
    """Return the names of the fields that are read from a dataset."""
    return {field.name for field in fields_of(field_map.fields, dataset)}


def related_fields(field_map: FieldMap, field: DatasetField, *, backward: bool) -> Iterator[DatasetField]:
    """Yield the source fields that lead to a field, or if not `backward` the fields that it leads to.

    Direct and indirect ones alike; datasets that it influences as a whole have no field here.
    """
    if not backward:
        yield from _destination_fields(field_map, field)
    elif field_map.has_destination(field.dataset):
        members = SourceFields(field_map, range(len(field_map.fields))).members_of(field)
        for position in chain(members.direct, members.indirect):
            yield field_map.fields[position]


def _destination_fields(field_map: FieldMap, field: DatasetField) -> Iterator[DatasetField]:
    """Yield the fields that a source field leads to, directly or indirectly."""
    positions = field_map.positions_of(field.dataset)
    names = [item.name for item in fields_of(field_map.fields, field.dataset)]
    if field.name not in names:
        return
    position = positions[names.index(field.name)]
    sources = SourceFields(field_map, range(position, position + 1))
    for destination in field_map.destinations:
        for name, members in sources.by_field(destination):
            if name is not None and (members.direct or members.indirect):
                yield DatasetField(destination, name)
