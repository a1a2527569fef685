"""Which field made which, one by one: the pairs of a field map as they come, never all of them at once.

They are those of `summary.relations`, whose sets are for answers of a bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Dataset, Influence


class FieldEdge(NamedTuple):
    """A field of the source leads into one of the destination, directly or not.

    Without a source the field was generated, without a destination it was dropped. Without a field at an end
    the whole of it is meant: a source field shapes all of a destination, or, where both fields are missing
    and there is no influence, the two ends are related and nobody knows how.
    """

    source: Dataset | None
    source_field: str | None
    destination: Dataset | None
    destination_field: str | None
    influence: Influence | None


def iter_edges(field_map: FieldMap) -> Iterator[FieldEdge]:
    """All edges, each once."""
    for destination in field_map.destinations:
        yield from edges_into(field_map, destination)
    for source in field_map.sources:
        yield from dropped_edges(field_map, source)


def edges_into(field_map: FieldMap, destination: Dataset) -> Iterator[FieldEdge]:
    """The edges that end at a destination."""
    for field in field_map.generated:
        if field.dataset == destination:
            yield FieldEdge(None, None, destination, field.name, Influence.DIRECT)
    if destination in field_map.destinations:
        yield from _between(field_map, field_map.sources, destination)


def edges_out_of(field_map: FieldMap, source: Dataset) -> Iterator[FieldEdge]:
    """The edges that begin at a source, also of what was dropped."""
    if source in field_map.sources:
        for destination in field_map.destinations:
            yield from _between(field_map, (source,), destination)
    yield from dropped_edges(field_map, source)


def dropped_edges(field_map: FieldMap, source: Dataset) -> Iterator[FieldEdge]:
    """The edges of a source that end nowhere."""
    mask = _bits(field_map, source)
    yield from _fields(field_map, field_map.dropped_direct & mask, None, None, Influence.DIRECT)
    yield from _fields(field_map, field_map.dropped_indirect & mask, None, None, Influence.INDIRECT)


def _between(field_map: FieldMap, sources: tuple[Dataset, ...], destination: Dataset) -> Iterator[FieldEdge]:
    masks = {source: _bits(field_map, source) for source in sources}
    mask = sum(masks.values())
    whole = sum(bits for shaped, bits in field_map.dataset_wide if shaped == destination) & mask
    touched = whole
    for name, (direct, indirect) in sorted(_reached(field_map, destination, mask).items()):
        touched |= direct | indirect
        yield from _fields(field_map, direct, destination, name, Influence.DIRECT)
        yield from _fields(field_map, indirect, destination, name, Influence.INDIRECT)
    yield from _fields(field_map, whole, destination, None, Influence.INDIRECT)
    for source, bits in masks.items():
        unknown = source in field_map.read_without_fields or destination in field_map.written_without_fields
        if unknown and not touched & bits:
            yield FieldEdge(source, None, destination, None, None)


def _reached(field_map: FieldMap, destination: Dataset, mask: int) -> dict[str, tuple[int, int]]:
    """Per field of a destination the source fields, of those in the mask, that lead into it."""
    reached: dict[str, tuple[int, int]] = {}
    for flow in field_map.entries:
        direct, indirect = flow.direct & mask, flow.indirect & mask
        if flow.destination == destination and direct | indirect:
            for name in flow.fields:
                known = reached.get(name)
                reached[name] = (known[0] | direct, known[1] | indirect) if known else (direct, indirect)
    return reached


def _fields(
    field_map: FieldMap, bits: int, destination: Dataset | None, name: str | None, influence: Influence
) -> Iterator[FieldEdge]:
    """One edge for each source field in the set."""
    while bits:
        field = field_map.fields[(bits & -bits).bit_length() - 1]
        yield FieldEdge(field.dataset, field.name, destination, name, influence)
        bits &= bits - 1


def _bits(field_map: FieldMap, source: Dataset) -> int:
    """The fields of a source; they stand side by side."""
    return sum(1 << number for number, field in enumerate(field_map.fields) if field.dataset == source)
